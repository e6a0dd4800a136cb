"""Mount namespaces, in which a test may mount small file systems anywhere."""

import ctypes
import shutil
import subprocess

CLONE_NEWNS = 0x20000
MS_REC_PRIVATE = 0x4000 | 0x40000

# A shell; its script and arguments follow.
SHELL = ("unshare", "--map-root-user", "--mount", "sh", "-c")


def can_mount() -> bool:
    """Whether this user may make a mount namespace with a tmpfs."""
    if shutil.which("unshare") is None:
        return False
    command = [*SHELL, "mount -t tmpfs none /mnt"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def own_shared_memory() -> bool:
    """Gives this thread, and everything that it starts from now on, a /dev/shm of their own, so
    that other processes do not find their caches. False: the user may not."""
    libc = ctypes.CDLL(None)
    return bool(
        libc.unshare(CLONE_NEWNS) == 0
        and libc.mount(None, b"/", None, MS_REC_PRIVATE, None) == 0
        and libc.mount(b"tmpfs", b"/dev/shm", b"tmpfs", 0, None) == 0
    )
