"""A cluster in a box: nodes on this machine, joined by a network of their own.

A node is a process that holds namespaces: network, host name, mounts, System V and POSIX
communication. So each node has its own address, its own name and its own /dev/shm, and all nodes
share the file system. Of a GlusterFS volume each node has a mount, and so a client, of its own. A
bridge in a namespace of its own joins their networks; nothing of it is seen outside. The launchers
of MPICH and Open MPI start their daemons on a node by a script in the place of ssh.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from harness import mpi
from harness.gluster import Volume

NETWORK = "10.77.0"  # the first three numbers of the nodes' addresses
VOLUME_NUMBER = 200  # the last number of the address of a GlusterFS volume's servers
_LIFE_SECONDS = 7200  # of a node that nobody stops
_ENTER = ("--net", "--uts", "--mount", "--ipc")

_LAUNCHER = """\
#!/bin/sh
# In the place of ssh: [OPTION ...] HOST COMMAND ...
while [ "${{1#-}}" != "$1" ]; do shift; done
node=$(cat "{folder}/$1") || exit 255
shift
exec nsenter --target "$node" {enter} sh -c "$*"
"""


def why_not() -> str:
    """The reason why there can be no such cluster here; "": there can."""
    for command in ("ip", "nsenter", "unshare"):
        if shutil.which(command) is None:
            return f"{command} is missing"
    made = subprocess.run(
        ["unshare", *_ENTER, "ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1"],
        capture_output=True,
        text=True,
        check=False,
    )
    return made.stderr.strip().splitlines()[-1] if made.returncode != 0 else ""


class Box:
    """So many nodes, named node0, node1 and so on, from `with` to its end.

    folder: an empty folder for the launcher's script and the tables of names.
    volume: a GlusterFS volume, which each node mounts for itself, where this machine has its mount.
        None: the nodes have this machine's file systems.
    """

    def __init__(self, nodes: int, folder: Path, volume: Volume | None = None) -> None:
        self.names = [f"node{number}" for number in range(nodes)]
        self._folder = folder
        self._volume = volume
        self._holders: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Box:
        try:
            self._make()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def launch_command(
        self, installation: mpi.Mpi, ranks: int, program: Sequence[str]
    ) -> list[str]:
        """The command line that starts `program`, from node0, on `ranks` ranks. The first ranks are
        on node0, the next on node1, as evenly as possible."""
        where = self.where(installation, ranks)
        command = [*installation.launcher, *where, "-n", str(ranks), *program]
        return self.on(self.names[0], command)

    def where(self, installation: mpi.Mpi, ranks: int) -> list[str]:
        """The launcher's arguments that say so."""
        each = -(-ranks // len(self.names))
        hosts = ",".join(f"{name}:{each}" for name in self.names)
        launcher = str(self._folder / "launcher")
        if installation.abi == "openmpi":
            agent = "plm_rsh_agent" if installation.name.endswith("debian") else "plm_ssh_agent"
            option = "--mca" if installation.name.endswith("debian") else "--prtemca"
            return [option, agent, launcher, "--host", hosts]
        return ["-launcher", "ssh", "-launcher-exec", launcher, "-hosts", hosts]

    def on(self, name: str, command: Sequence[str]) -> list[str]:
        """The command line that runs `command` on this node, in the folder where it is called."""
        enter = f"exec nsenter --target {self._holders[name].pid} {' '.join(_ENTER)}"
        return ["sh", "-c", f'{enter} --wdns="$(pwd -P)" "$@"', "sh", *command]

    def shared_memory(self, name: str) -> list[str]:
        """The names in the node's /dev/shm, of all folders."""
        listed = self._run(self.on(name, ["find", "/dev/shm", "-type", "f"]))
        return sorted(listed.split())

    def cut_off(self, name: str) -> None:
        """Pulls the plug of the node's network: from now on nothing comes or goes, and nobody is
        told."""
        port = f"port{self.names.index(name) + 1}"
        self._enter("switch", "ip", "link", "set", port, "down")

    def power_off(self, name: str) -> None:
        """Kills all processes of the node; its memory is gone. Its network tells nobody."""
        self.cut_off(name)
        network = Path(f"/proc/{self._holders[name].pid}/ns/net").readlink()
        for process in _processes_in({network}):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def _make(self) -> None:
        for name in ("switch", *self.names):
            self._hold(name)
        self._enter("switch", "ip", "link", "add", "bridge", "type", "bridge")
        self._enter("switch", "ip", "link", "set", "bridge", "up")
        table = "127.0.0.1 localhost\n" + "".join(
            f"{NETWORK}.{number} {name}\n" for number, name in enumerate(self.names, 1)
        )
        if self._volume is not None:
            table += f"{NETWORK}.{VOLUME_NUMBER} {socket.gethostname()}\n"
            self._join_volume(self._volume)
        hosts = self._folder / "hosts"
        hosts.write_text(table)
        for number, name in enumerate(self.names, 1):
            (self._folder / name).write_text(str(self._holders[name].pid))
            port = f"port{number}"
            self._plug_in(port, "eth0", str(self._holders[name].pid))
            self._enter(name, "ip", "address", "add", f"{NETWORK}.{number}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                self._enter(name, "ip", "link", "set", device, "up")
            self._enter(name, "hostname", name)
            self._enter(name, "mount", "--make-rprivate", "/")
            self._enter(name, "mount", "-t", "tmpfs", "none", "/dev/shm")
            self._enter(name, "mount", "--bind", str(hosts), "/etc/hosts")
            if self._volume is not None:
                self._mount(name, self._volume)
        launcher = self._folder / "launcher"
        launcher.write_text(_LAUNCHER.format(folder=self._folder, enter=" ".join(_ENTER)))
        launcher.chmod(0o755)

    def _plug_in(self, port: str, device: str, network: str) -> None:
        """Joins a network, named or given as a process in it, to the bridge."""
        peer = ["peer", "name", device, "netns", network]
        self._enter("switch", "ip", "link", "add", port, "type", "veth", *peer)
        self._enter("switch", "ip", "link", "set", port, "master", "bridge", "up")

    def _join_volume(self, volume: Volume) -> None:
        """Gives the volume's servers an address in the nodes' network."""
        network = volume.network()
        self._plug_in("storage", "box", network)
        address = f"{NETWORK}.{VOLUME_NUMBER}/24"
        self._run(["ip", "-n", network, "address", "add", address, "dev", "box"])
        self._run(["ip", "-n", network, "link", "set", "box", "up"])

    def _mount(self, name: str, volume: Volume) -> None:
        """Mounts the volume on the node, in the place of the mount that all nodes share."""
        self._enter(name, "umount", str(volume.mount))
        log = self._folder / f"{name}-mount.log"
        source = f"{socket.gethostname()}:/forebay"
        options = f"{volume.mount_options},log-file={log}"
        self._enter(name, "mount", "-t", "glusterfs", "-o", options, source, str(volume.mount))

    def _hold(self, name: str) -> None:
        """Starts the process that holds a node's namespaces, and waits until it has them."""
        outside = Path("/proc/self/ns/net").readlink()
        holder = subprocess.Popen(
            ["unshare", *_ENTER, "sleep", str(_LIFE_SECONDS)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        self._holders[name] = holder
        for _ in range(1000):
            command = Path(f"/proc/{holder.pid}/comm").read_text().strip()
            if command == "sleep" and Path(f"/proc/{holder.pid}/ns/net").readlink() != outside:
                return
            if holder.poll() is not None:
                break
            time.sleep(0.005)
        raise RuntimeError(f"{name} could not be made")

    def _enter(self, name: str, *command: str) -> None:
        self._run(self.on(name, command))

    @staticmethod
    def _run(command: Sequence[str]) -> str:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {result.stderr}")
        return result.stdout

    def _end(self) -> None:
        """Ends all processes of the nodes, however they were started."""
        if self._volume is not None:
            # A namespace goes some time after its last process, and its links with it: the next
            # box may need the name before.
            unplug = ["ip", "-n", self._volume.network(), "link", "delete", "box"]
            subprocess.run(unplug, capture_output=True, check=False)
        networks = set()
        for holder in self._holders.values():
            if holder.poll() is None:
                networks.add(Path(f"/proc/{holder.pid}/ns/net").readlink())
        for process in _processes_in(networks):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        for holder in self._holders.values():
            holder.wait()


def _processes_in(networks: set[Path]) -> list[int]:
    return [
        int(process.name)
        for process in Path("/proc").iterdir()
        if process.name.isdigit() and _network_of(process) in networks
    ]


def _network_of(process: Path) -> Path | None:
    try:
        return (process / "ns" / "net").readlink()
    except OSError:
        return None  # it has ended
