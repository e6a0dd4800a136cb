"""Where files lie on the servers of a parallel file system, beside published statements.

    python bench/layouts.py      prints the section of docs/validation.md

Yin et al. (2012): layouts (II.B), the stripe size for one pattern (II.C, figure 2), and stripe
sizes for each data set (V.B, figures 9 and 10).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from forebay.simulation import simulate_cluster
from forebay.simulation.made_traces import READ_AT, WRITE_AT, Call, Use, write_trace
from forebay.sizes import shown_size

TITLE = "## Where files lie on the servers"
ETHERNET, FAST = "palmetto-gige", "palmetto-myri10g"
OPERATIONS = {"write": WRITE_AT, "read": READ_AT}
KIB, MIB = 1 << 10, 1 << 20
SERVERS, STRIP, GROUP, UNIT = (
    "machine.servers",
    "file_system.strip_bytes",
    "file_system.group_servers",
    "file_system.unit_bytes",
)

PREAMBLE = """\
`python3 bench/layouts.py` prints this section: `forebay simulate cluster` on made-up traces. The
published statements are those of Yin et al. (2012), whose machine is described too little for more
than signs and orders. Nothing was fitted to them. Seconds are run times.
"""


def _seconds(
    processes: int,
    uses: Sequence[tuple[str, list[list[Call]]]],
    machine: str,
    changes: Sequence[dict[str, str]],
) -> list[float]:
    """Run times of a job in which each process carries out its list of calls on each file."""
    with tempfile.TemporaryDirectory(prefix="forebay-") as folder:
        trace = Path(folder) / "trace"
        write_trace(
            trace,
            processes,
            lambda rank: [Use(name, [None], [calls[rank]]) for name, calls in uses],
        )
        results = simulate_cluster(trace, machine, changes, processes_per_node=1)
        return [one.run_s for one in results]


# II.C -----------------------------------------------------------------------------------------

STRIPES = (MIB, 4 * MIB, 8 * MIB, 16 * MIB)


def one_pattern() -> Iterator[str]:
    """The first 4 MiB of each 16 MiB, by four processes in turn, on four servers."""
    yield "The first 4 MiB of each 16 MiB of a file, by four processes in turn, on four servers"
    yield "(II.C). Published: 16 MB is best, 4 MB leaves all servers but one idle, 8 MB is better"
    yield "than that; with 1 MB all work, with too many messages."
    yield ""
    yield "| machine | operation | 1 MiB | 4 MiB | 8 MiB | 16 MiB | 16 best, 4 worst |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | --- |"
    changes = [{SERVERS: "4", STRIP: str(stripe)} for stripe in STRIPES]
    for machine in (ETHERNET, FAST):
        for name, routine in OPERATIONS.items():
            calls = [
                [Call(routine, (4 * turn + rank) * 16 * MIB, 4 * MIB) for turn in range(6)]
                for rank in range(4)
            ]
            found = _seconds(4, [("segments", calls)], machine, changes)
            shown = " | ".join(f"{seconds:.2f}" for seconds in found)
            same = found[3] == min(found) and found[1] == max(found)
            yield f"| {machine} | {name} | {shown} | {'yes' if same else 'no'} |"


# II.B -----------------------------------------------------------------------------------------

PART = 16 * MIB


def layouts() -> Iterator[str]:
    """Each process's part of a file on all servers, on one, or on two."""
    yield ""
    yield "Each process accesses 16 MiB of its own, on 8 servers (II.B): in strips of 64 KiB over"
    yield "all servers (1-DH), on one server (1-DV), or over two of them (2-D). Published: which is"
    yield "best depends on the processes and the size of requests; the best is set in bold."
    yield ""
    yield "| machine | operation | processes | request | 1-DH | 1-DV | 2-D |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: |"
    common = {SERVERS: "8", UNIT: str(PART)}
    changes = [common, common | {GROUP: "1"}, common | {GROUP: "2"}]
    for machine in (ETHERNET, FAST):
        for name, routine in OPERATIONS.items():
            for processes in (2, 8, 32):
                for request in (16 * KIB, MIB):
                    calls = [
                        [Call(routine, rank * PART + at, request) for at in range(0, PART, request)]
                        for rank in range(processes)
                    ]
                    found = _seconds(processes, [("parts", calls)], machine, changes)
                    shown = " | ".join(
                        f"**{seconds:.2f}**" if seconds == min(found) else f"{seconds:.2f}"
                        for seconds in found
                    )
                    yield (
                        f"| {machine} | {name} | {processes} | {shown_size(request)} | {shown} |"
                    )


# V.B ------------------------------------------------------------------------------------------

REQUESTS = {KIB: 4096, 4 * KIB: 2048, 64 * KIB: 512, MIB: 64}
"""The size of a data set's requests, and how many each process makes."""
ADAPTED = (4 * KIB, 16 * KIB, 64 * KIB, MIB)
"""The published stripe size for each data set."""
PUBLISHED = {"write": "25 to 101 %", "read": "9 to 71 %"}


def data_sets() -> Iterator[str]:
    """Four runs of IOR, each with data of its own: one stripe size, or one for each."""
    yield ""
    yield "Four runs of IOR by 8 processes, one after the other, each on data of its own and with"
    yield "requests of 1, 4, 64 KiB and 1 MiB, on 8 servers (V.B): strips of one size, or those of"
    yield "4, 16, 64 KiB and 1 MiB that were published as the best for each. By how much more"
    yield "bandwidth the latter have:"
    yield ""
    yield "| machine | operation | published | 4 KiB | 16 KiB | 64 KiB | 1 MiB |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: |"
    names = [f"requests-{request}" for request in REQUESTS]
    adapted = "+".join(f"{name}:{strip}" for name, strip in zip(names, ADAPTED, strict=True))
    changes = [{SERVERS: "8", STRIP: str(strip)} for strip in ADAPTED]
    changes.append({SERVERS: "8", "strips": adapted})
    for machine in (ETHERNET, FAST):
        for operation, routine in OPERATIONS.items():
            uses = [
                (
                    name,
                    [
                        [
                            Call(routine, (rank * count + number) * request, request)
                            for number in range(count)
                        ]
                        for rank in range(8)
                    ],
                )
                for name, (request, count) in zip(names, REQUESTS.items(), strict=True)
            ]
            *uniform, adaptive = _seconds(8, uses, machine, changes)
            gains = " | ".join(f"{seconds / adaptive - 1:+.0%}" for seconds in uniform)
            yield f"| {machine} | {operation} | {PUBLISHED[operation]} | {gains} |"


CONCLUSION = """\
- **One pattern.** The order is as published, but for writes on Myrinet: servers take them into
  memory, so that only messages cost, and 1 MiB makes most of them.
- **Layouts.** A server for each process is best almost everywhere. Two servers are better where a
  disk is slower than the process's link. All servers are best nowhere: where many answer one
  process at once, the switch drops frames, and the process waits for time-outs (reads by two
  processes: 3.4 s). Reads of 16 KiB by more processes than servers are seeks.
- **Data sets.** The published sizes are better than each single one, in all 16 comparisons. By how
  much is within the published ranges in 7 of them.
"""


def section() -> str:
    """The section of docs/validation.md, which ends with an empty line."""
    lines = [TITLE, "", PREAMBLE, *one_pattern(), *layouts(), *data_sets(), "", CONCLUSION]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(section(), end="")
