"""Metadata workloads beside published values.

    python bench/metadata_times.py      prints the section of docs/validation.md

Settlemyer (2009), section 3.3: a client that asks all servers of a file, beside servers that ask
each other along a binary tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from forebay.simulation import (
    METADATA_TASKS,
    MetadataResult,
    Pvfs,
    machine,
    simulate_metadata,
)

TITLE = "## Metadata by the client and by servers"
WAYS = ("client", "servers")
WAY = "file_system.metadata.driven_by"
GROWTH, TREE = "jazz-fast-ethernet", "adenine-fast-ethernet"
SERVERS = (1, 2, 4, 8, 16, 32, 64, 128)
OPERATIONS = (
    ("extract", "create_file", "create"),
    ("list", "get_attributes", "stat"),
    ("remove", "remove_file", "remove"),
)
PUBLISHED = {"extract": 0.49, "list": 0.75, "remove": 0.83}
DELAY = "network.host_delay_s"
CLOCKS = 2.4 / 1.0
"""Gigahertz of a processor of Jazz and of Adenine (sections 3.3.1.1 and 3.3.6)."""
PREAMBLE = f"""\
`python3 bench/metadata_times.py` prints this section: `forebay simulate metadata` with
`--compare {WAY}=client,servers`. The published values are those of
Settlemyer's section 3.3. No parameter was fitted to them.

Milliseconds for a file on `{GROWTH}`, by the number of servers. Published are curves
without numbers: linear growth if the client asks, logarithmic if servers do.
"""
GATHERED = """\
A stat by servers gathers the attributes of all, whose bytes grow with the servers.
"""
TREE_TEXT = f"""\
A tree of 16,000 files in 1,000 directories on `{TREE}` with 74 servers: by how much
less time a task takes if servers ask each other. A deviation is in percentage points; 10 were aimed
at. In the last rows a host takes as much longer for a frame than one of Jazz as its clock is
slower; the profile has Jazz's value, since Adenine's is not published.
"""


@dataclass(frozen=True)
class Comparison:
    """A tree by both ways."""

    hosts: str
    client: MetadataResult
    servers: MetadataResult

    def saved(self, task: str) -> float:
        """The fraction of the client's time that servers save."""
        client, servers = (getattr(one, f"{task}_s") for one in (self.client, self.servers))
        return float(1 - servers / client)


def growth() -> list[Comparison]:
    """Operations by the number of servers."""
    changes = [{WAY: way, "machine.servers": str(n)} for n in SERVERS for way in WAYS]
    results = simulate_metadata(GROWTH, changes, files=400, directories=25)
    pairs = zip(results[::2], results[1::2], strict=True)
    return [Comparison(str(client.servers), client, servers) for client, servers in pairs]


def trees() -> list[Comparison]:
    """The tree, with the machine's hosts and with slower ones."""
    delay = machine(TREE).network.host_delay_s
    slower = {DELAY: f"{delay * CLOCKS:.3g}"}
    changes = [{**of, WAY: way} for of in ({}, slower) for way in WAYS]
    own, own_tree, slow, slow_tree = simulate_metadata(TREE, changes)
    return [
        Comparison("as Jazz's", own, own_tree),
        Comparison(f"slower ({DELAY}={slower[DELAY]})", slow, slow_tree),
    ]


def _growth_rows(of: list[Comparison]) -> Iterator[str]:
    words = [f"{word}, {way}" for *_, word in OPERATIONS for way in WAYS]
    yield f"| servers | {' | '.join(words)} |"
    yield f"| ---: |{' ---: |' * len(words)}"
    for one in of:
        times = [
            f"{1e3 * result.seconds_each(task, operation):.2f}"
            for task, operation, _ in OPERATIONS
            for result in (one.client, one.servers)
        ]
        yield f"| {one.hosts} | {' | '.join(times)} |"


def _steps(of: list[Comparison]) -> Iterator[str]:
    """How much each doubling adds, at the end."""
    for task, operation, word in OPERATIONS:
        added = [
            [
                1e3 * (now.seconds_each(task, operation) - before.seconds_each(task, operation))
                for before, now in zip(results[-4:], results[-3:], strict=False)
            ]
            for results in ([one.client for one in of], [one.servers for one in of])
        ]
        shown = [", ".join(f"{step:.2f}" for step in steps) for steps in added]
        yield f"- {word}: {shown[0]} ms by the client, {shown[1]} ms by servers."


def _tree_rows(of: list[Comparison]) -> Iterator[str]:
    yield "| hosts | task | by the client s | by servers s | published | simulated | deviation |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: |"
    for one in of:
        for task in METADATA_TASKS:
            published, own = PUBLISHED[task], one.saved(task)
            client, servers = (getattr(each, f"{task}_s") for each in (one.client, one.servers))
            yield (
                f"| {one.hosts} | {task} | {client:.0f} | {servers:.0f} | {published:.0%} |"
                f" {own:.0%} | {100 * (own - published):+.0f} |"
            )


def _in_turn(of: Comparison) -> float:
    """What servers would save of the removal, if a client removed one object after the other."""
    on = machine(TREE)
    network, servers, files = on.network, on.servers, on.file_system
    assert isinstance(files, Pvfs)
    frame_s = 8 * 186 / network.bits_per_second  # 128 bytes and headers
    way_s = 2 * network.host_delay_s + 2 * frame_s + network.switch_delay_s
    in_turn_s = servers * (files.metadata.remove_object_s + 2 * way_s)
    at_once_s = servers * 4 * network.host_delay_s
    client_s = of.client.remove_s + of.client.files * (in_turn_s - at_once_s)
    return 1 - of.servers.remove_s / client_s


def _needed_us(of: Comparison, task: str) -> float:
    """What each server of a file would cost the client in a task, for the published saving."""
    client, servers = (getattr(one, f"{task}_s") for one in (of.client, of.servers))
    more_s = float(servers / (1 - PUBLISHED[task]) - client)
    on = machine(TREE)
    return 1e6 * (4 * on.network.host_delay_s + more_s / (of.client.files * on.servers))


def section() -> str:
    """For docs/validation.md."""
    grown, compared = growth(), trees()
    own = compared[0]
    delay_us = 1e6 * machine(TREE).network.host_delay_s
    extract_us, list_us = (_needed_us(own, task) for task in ("extract", "list"))
    conclusion = f"""\
What is known of the reasons:

- **What a server more costs the client.** Here {4 * delay_us:.0f} us: its host processes a request,
  an answer and an acknowledgement of each, one after the other (`serial_hosts`). The published
  extraction and listing would need {extract_us:.0f} and {list_us:.0f} us. A host of Adenine may
  well take that, with its slower processor; the last rows show it.
- **Removal.** His text says of creation alone that the client asks all servers at the same time;
  here it does so for removal, too. If it removed one object after the other, servers would save
  {_in_turn(own):.0%} of the removal. Nothing else was found that explains why his removal gains
  more than his listing, which asks as many servers.
- **The programs.** The calls of tar, ls and rm are ours ([cluster](cluster.md)); his traces of them
  are not available. The text does not say whether its percentages are of the simulated or of the
  measured times in the figure. Measured servers also paid for `poll` of many connections, which
  neither simulator has.
"""
    lines = [TITLE, "", PREAMBLE, *_growth_rows(grown), ""]
    lines += ["What each of the last three doublings adds:", "", *_steps(grown), "", GATHERED]
    lines += [TREE_TEXT, *_tree_rows(compared), "", conclusion]
    return "\n".join(lines)


if __name__ == "__main__":
    print(section(), end="")
