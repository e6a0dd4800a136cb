"""Mount namespaces, in which a test may put small file systems where it likes."""

import shutil
import subprocess

# A shell whose script and arguments follow.
SHELL = ("unshare", "--map-root-user", "--mount", "sh", "-c")


def can_mount() -> bool:
    """Whether this user gets a mount namespace with a tmpfs in it."""
    if shutil.which("unshare") is None:
        return False
    command = [*SHELL, "mount -t tmpfs none /mnt"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
