"""Mount namespaces, in which a test may put small file systems where it likes."""

import ctypes
import shutil
import subprocess

CLONE_NEWNS = 0x20000
MS_REC_PRIVATE = 0x4000 | 0x40000

# A shell whose script and arguments follow.
SHELL = ("unshare", "--map-root-user", "--mount", "sh", "-c")


def can_mount() -> bool:
    """Whether this user gets a mount namespace with a tmpfs in it."""
    if shutil.which("unshare") is None:
        return False
    command = [*SHELL, "mount -t tmpfs none /mnt"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def own_shared_memory() -> bool:
    """Gives this thread and what it starts from now on a /dev/shm of their own, so that nothing
    beside them meets their caches; False where the user may not."""
    libc = ctypes.CDLL(None)
    return bool(
        libc.unshare(CLONE_NEWNS) == 0
        and libc.mount(None, b"/", None, MS_REC_PRIVATE, None) == 0
        and libc.mount(b"tmpfs", b"/dev/shm", b"tmpfs", 0, None) == 0
    )
