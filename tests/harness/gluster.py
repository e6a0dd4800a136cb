"""A GlusterFS volume on this machine (bench/gluster.sh), which nodes in a box mount."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from types import TracebackType

from harness import mpi

SCRIPT = mpi.ROOT / "bench" / "gluster.sh"
# Every request of these clients goes to the servers, also one for the size of a file.
_KEEPS_NOTHING = "direct-io-mode=enable,attribute-timeout=0,entry-timeout=0"
_KEEPS_BYTES = "entry-timeout=0"  # and sizes for a second, but no names


def why_not() -> str:
    """The reason why there can be no volume here; "": there can."""
    if os.geteuid() != 0:
        return "needs root"
    for command in ("glusterd", "mount.glusterfs", "ip", "nsenter"):
        if shutil.which(command) is None:
            return f"{command} is missing"
    return "" if Path("/dev/fuse").exists() else "/dev/fuse is missing"


class Volume:
    """A volume that stores whole files, from `with` to its end.

    folder: does not exist; the volume's state and this machine's mount (`mnt`) are made in it.
    close_to_open: its clients keep what they have read and what was written to them, as those of
        NFS do: others see it only after a close here and an open there. False: they keep nothing.
    """

    def __init__(self, folder: Path, close_to_open: bool) -> None:
        self.folder = folder
        self.mount_options = _KEEPS_BYTES if close_to_open else _KEEPS_NOTHING
        self._keeps = "write-behind" if close_to_open else ""

    @property
    def mount(self) -> Path:
        return self.folder / "mnt"

    def __enter__(self) -> Volume:
        variables = {"GLUSTER_WHOLE_FILES": "1", "GLUSTER_KEEPS": self._keeps}
        self._script("up", variables)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._script("down")

    def network(self) -> str:
        """The name of the servers' network namespace."""
        return self._script("netns").strip()

    def _script(self, command: str, variables: dict[str, str] | None = None) -> str:
        done = subprocess.run(
            [str(SCRIPT), command, str(self.folder)],
            env={**os.environ, **(variables or {})},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"gluster.sh {command}: {done.stderr}{done.stdout}")
        return done.stdout
