"""Network times of the cluster simulator beside SimGrid's, on platforms with the same values.

    python bench/simgrid_network.py      prints the section of docs/validation.md

`simgrid_network.cpp` makes the transfers in both; it says how SimGrid is configured. No value of a
machine was fitted to SimGrid.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from forebay.simulation import Machine, machine

ROOT = Path(__file__).resolve().parent.parent
SOURCES = (
    ROOT / "bench" / "simgrid_network.cpp",
    *(ROOT / f"src/sim/cluster/{name}.cpp" for name in ("kernel", "network", "tcp_stream")),
)
PREAMBLE = """\
`python3 bench/simgrid_network.py` makes the same transfers in the simulator's network and in
SimGrid {version}, and prints this section. A deviation is that of the time until the last transfer
has arrived. No value here was fitted to SimGrid, and Forebay does not contain it.

In SimGrid each host has a link in each direction, with the rate of the machine, to a switch without
limits. A way has the machine's latency: the delays of both hosts and of the switch. The network
model is `CM02`, a fluid that shares links fairly, with `network/TCP-gamma` as the machine's window,
`network/weight-S` 0, `network/latency-factor` and `network/bandwidth-factor` 1, and
`network/crosstraffic` off.

SimGrid's hosts do not process frames; so hosts process them side by side here, too
(`network.serial_hosts=false`), but for the last rows, `serial`. `far`: a frame takes 1 ms in each
host (`network.host_delay_s=1e-3`). `by frames` is with buffers that lose nothing, the last column
with those of the machine.
"""
CONCLUSION = """\
Why ours deviates:

- **Headers.** A frame has 58 bytes besides its segment: 0.7 % of 8,192 bytes, 4.0 % of 1,460. Of
  large transfers nothing else remains, at both levels, while no host sends and receives at once.
- **Store and forward.** The switch sends a frame on once it has come as a whole, so that the first
  frame's time on a link counts twice. This matters to messages of a few frames.
- **Both directions.** By frames, acknowledgements take their part of the link (3.8 % over Ethernet
  here, where each segment has one), and wait in a host's card behind the host's own data: a window
  needs longer to come round, which shows where a host has one stream (rings).
- **Losses.** SimGrid has none. With the machine's buffers, the windows of several streams overflow
  the switch, or the card's queue, and senders wait for timeouts of 200 ms and more.
- **Far.** A single stream is as fast as its window allows, and agrees. With seven streams a host,
  acknowledgements wait behind the data of all; and by messages, the last message of a host has the
  link after all others, and only then begins to wait for its window.
- **Serial hosts.** A host of Palmetto takes 47 us for a segment and its acknowledgement, four times
  as long as the link. Hosts that send and receive have twice as much to process; by messages they
  do not, and such jobs seem twice as fast as they are by frames.
"""
KIB, MIB = 1 << 10, 1 << 20
TITLE = "## Network times beside SimGrid's"
SIDE_BY_SIDE = {"network.serial_hosts": "false"}
AMPLE = {
    "network.least_switch_buffer": str(1 << 40),
    "network.most_switch_buffer": "0",
    "network.nic_queue_frames": str(1 << 16),
}


class SimgridMissing(Exception):  # noqa: N818
    """SimGrid is not installed. The text is one line."""


@dataclass(frozen=True)
class Case:
    """Transfers that begin together: from, to and bytes of each."""

    name: str
    transfers: Sequence[tuple[int, int, int]]
    rounds: int = 1
    """How often they are made, each time after the last has ended."""

    @property
    def bytes(self) -> int:
        """Of the largest transfer."""
        return max(size for _, _, size in self.transfers)

    def __str__(self) -> str:
        return " ".join([str(self.rounds), *(f"{a}:{b}:{size}" for a, b, size in self.transfers)])


def shown(size: int) -> str:
    return f"{size // MIB} MiB" if size >= MIB else f"{size // KIB} KiB"


def one_message(size: int, rounds: int = 1) -> Case:
    return Case(f"one message of {shown(size)}", [(0, 1, size)], rounds)


def to_one(senders: int, size: int, rounds: int = 1) -> Case:
    transfers = [(sender, 0, size) for sender in range(1, senders + 1)]
    return Case(f"{senders} senders to one host, {shown(size)} each", transfers, rounds)


def all_to_all(hosts: int, size: int, rounds: int = 1) -> Case:
    transfers = [(a, (a + turn) % hosts, size) for turn in range(1, hosts) for a in range(hosts)]
    return Case(f"{hosts} all to all, {shown(size)} each", transfers, rounds)


PAIRS = Case("8 pairs, 16 MiB each", [(pair, 8 + pair, 16 * MIB) for pair in range(8)])
RING = Case("ring of 8, 16 MiB each", [(host, (host + 1) % 8, 16 * MIB) for host in range(8)])
ONE_WAY = (
    *(one_message(size) for size in (KIB, 16 * KIB, 256 * KIB, 4 * MIB, 64 * MIB)),
    *(to_one(senders, 16 * MIB) for senders in (2, 4, 8)),
    PAIRS,
)
"""No host both sends and receives."""
CASES = (*ONE_WAY, RING, all_to_all(8, 4 * MIB))
FEW = (one_message(64 * MIB), to_one(8, 16 * MIB), RING, all_to_all(8, 4 * MIB))
PLATFORMS: tuple[tuple[str, str, dict[str, str], Sequence[Case]], ...] = (
    ("perlmutter", "", SIDE_BY_SIDE, CASES),
    ("nfs-25gbe", "", SIDE_BY_SIDE, CASES),
    ("palmetto-myri10g", "", SIDE_BY_SIDE, CASES),
    ("palmetto-gige", "", SIDE_BY_SIDE, CASES),
    ("palmetto-gige", ", far", {**SIDE_BY_SIDE, "network.host_delay_s": "1e-3"}, FEW),
    ("palmetto-gige", ", serial", {}, FEW),
)
"""Machine, what the table adds to its name, changes, cases."""


@dataclass(frozen=True)
class Comparison:
    """A case in SimGrid and by messages and frames here."""

    case: Case
    simgrid_s: float
    messages_s: float
    frames_s: float
    dropped: int
    """Frames."""
    simgrid_us: float
    """Processor time of a transfer, as the next two."""
    messages_us: float
    frames_us: float

    @property
    def by_messages(self) -> float:
        """The deviation."""
        return self.messages_s / self.simgrid_s - 1

    @property
    def by_frames(self) -> float:
        return self.frames_s / self.simgrid_s - 1


def _pkg_config(*what: str) -> str:
    missing = SimgridMissing("SimGrid cannot be had (Debian: libsimgrid-dev, pkg-config)")
    if shutil.which("pkg-config") is None:
        raise missing
    found = subprocess.run(
        ["pkg-config", *what, "simgrid"], capture_output=True, text=True, check=False
    )
    if found.returncode != 0:
        raise missing
    return found.stdout.strip()


def build(folder: Path) -> Path:
    """Compiles the program into a folder. Raises SimgridMissing."""
    libraries = _pkg_config("--cflags", "--libs").split()
    program = folder / "simgrid_network"
    compiler = [os.environ.get("CXX", "c++"), "-std=c++20", "-O2", f"-I{ROOT / 'src'}"]
    subprocess.run([*compiler, *map(str, SOURCES), *libraries, "-o", str(program)], check=True)
    return program


def words(on: Machine) -> list[str]:
    """The arguments of the program for the network of a machine."""
    values = [f"{name}={float(value)}" for name, value in asdict(on.network).items()]
    return ["--log=root.threshold:warning", *values]


def compared(
    program: Path, on: Machine, cases: Sequence[Case], repetitions: int = 1
) -> list[Comparison]:
    """The cases on the network of a machine; processor times are medians of so many repetitions."""
    ran = subprocess.run(
        [program, str(repetitions), *words(on)],
        input="".join(f"{case}\n" for case in cases),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [
        _comparison(case, line.split())
        for case, line in zip(cases, ran.stdout.splitlines(), strict=True)
    ]


def _comparison(case: Case, printed: Sequence[str]) -> Comparison:
    simgrid_s, messages_s, frames_s = map(float, printed[:3])
    dropped = int(printed[3])
    return Comparison(case, simgrid_s, messages_s, frames_s, dropped, *map(float, printed[4:]))


def section() -> str:
    """For docs/validation.md. Raises SimgridMissing."""
    lines = [TITLE, "", PREAMBLE.format(version=_pkg_config("--modversion"))]
    lines += ["| machine | transfers | SimGrid ms | by messages | by frames | with its buffers |"]
    lines += ["| --- | --- | ---: | ---: | ---: | ---: |"]
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        for name, addition, changes, cases in PLATFORMS:
            on = machine(name).with_changes(changes)
            lines += _rows(program, on, name + addition, cases)
    return "\n".join([*lines, "", CONCLUSION])


def _rows(program: Path, on: Machine, name: str, cases: Sequence[Case]) -> Iterator[str]:
    ample = compared(program, on.with_changes(AMPLE), cases)
    own = compared(program, on, cases)
    for one, limited in zip(ample, own, strict=True):
        lost = f", {limited.dropped:,} lost" if limited.dropped else ""
        yield (
            f"| {name} | {one.case.name} | {1e3 * one.simgrid_s:.4g} | {one.by_messages:+.1%} |"
            f" {one.by_frames:+.1%} | {limited.by_frames:+.1%}{lost} |"
        )


if __name__ == "__main__":
    try:
        print(section(), end="")
    except SimgridMissing as missing:
        sys.exit(str(missing))
