"""Runs the programs of this folder, which check MPI-IO's semantics by themselves.

A program is one C file. It gets a folder to write in, and ends with 0 if everything holds. Its
first lines may contain "// ranks: 1 2", if it makes no sense on 1, 2 and 4 ranks, and "// not
under: NAME ..." with configurations that do not guarantee what it checks. Every program also runs
without Forebay, so that the MPI library confirms its checks (except for installations in "// plain
fails with: NAME ..."), and with Forebay in every other configuration.
"""

import re
from pathlib import Path

import pytest

from harness import forebay, mpi

FOLDER = Path(__file__).parent
FULLY_TESTED = (mpi.WHEELS[0], mpi.WHEELS[2])
# MPICH with the standard ABI: what depends on the ABI. The others run the default configuration.
SAMPLED = (mpi.WHEELS[1],)
SAMPLE = ("owners", "mpi-storage")
# What pages keep, when a cache steps aside, which chunks nodes claim, and how agents reach each
# other does not depend on the MPI library.
OF_ONE_WHEEL = ("tree", "delta", "small-pages", "automatic", "first-touch", "fabric")

# None: without Forebay. With "automatic" Forebay may step aside, as for users; with all others the
# cache serves the file from the first byte. The ranks of "nodes" are on different nodes, as far as
# Forebay can tell, and those of ON_TWO_NODES on two; on one node consistency=mpi changes nothing.
# With "guests" caches soon have no room for what other nodes own.
CACHED = {"FOREBAY_STEP_ASIDE": "never"}
OWNERS = CACHED | {"FOREBAY_DOMAIN_SIZE": "64KiB"}
GUESTS = {"FOREBAY_CONSISTENCY": "mpi", "FOREBAY_PAGE_SIZE": "4KiB", "FOREBAY_CACHE_SIZE": "64KiB"}
ON_TWO_NODES = ("job", "guests", "owners", "fabric", "first-touch")
CONFIGURATIONS: dict[str, dict[str, str] | None] = {
    "plain": None,
    "automatic": {},
    "default": CACHED,
    "process": CACHED | {"FOREBAY_SCOPE": "process"},
    "nodes": CACHED | {"FOREBAY_CONSISTENCY": "mpi", "FOREBAY_SCOPE": "node"},
    "job": CACHED | {"FOREBAY_CONSISTENCY": "mpi"},
    "guests": OWNERS | GUESTS,
    "owners": OWNERS,
    "fabric": OWNERS | {"FOREBAY_TRANSPORT": "libfabric"},
    "first-touch": OWNERS | {"FOREBAY_DOMAIN": "first-touch"},
    "tree": CACHED | {"FOREBAY_PAGE_KIND": "tree"},
    "delta": CACHED | {"FOREBAY_PAGE_KIND": "delta"},
    "mpi-storage": CACHED | {"FOREBAY_STORAGE": "mpi"},
    "aggregated": CACHED | {"FOREBAY_AWARENESS": "aggregated", "FOREBAY_CACHE_SIZE": "1MiB"},
    "small-pages": CACHED | {"FOREBAY_PAGE_SIZE": "512", "FOREBAY_CACHE_SIZE": "64KiB"},
}


def directive(source: Path, name: str) -> list[str]:
    """The words of a line "// NAME: WORD ..." near the program's beginning."""
    found = re.search(rf"^// {name}: (.+)$", source.read_text()[:1500], re.MULTILINE)
    return found[1].split() if found else []


def ranks_of(source: Path, installation: mpi.Mpi, configuration: str) -> list[int]:
    """The numbers of ranks to run on: all in the default configuration of a wheel, otherwise two,
    if listed."""
    usual = configuration in ("plain", "default")
    if configuration in directive(source, "not under") or not (
        usual
        or (installation in FULLY_TESTED and configuration not in OF_ONE_WHEEL)
        or (installation in SAMPLED and configuration in SAMPLE)
        or installation is mpi.WHEELS[0]
    ):
        return []
    if configuration == "plain" and installation.name in directive(source, "plain fails with"):
        return []
    listed = [int(number) for number in directive(source, "ranks")] or [1, 2, 4]
    wanted = 4 if configuration in ON_TWO_NODES else 2
    if configuration == "default" and installation in mpi.WHEELS:
        return listed
    return [min(listed, key=lambda n: abs(n - wanted))]


def cases() -> list[object]:
    """All cases. The quick ones are the default configuration of one MPI on two ranks."""
    listed = []
    for source in sorted(FOLDER.glob("*.c")):
        for installation in mpi.ALL:
            for configuration in CONFIGURATIONS:
                for ranks in ranks_of(source, installation, configuration):
                    quick = (installation.name, configuration, ranks) == ("mpich", "default", 2)
                    name = f"{source.stem}-{installation.name}-{configuration}-{ranks}"
                    marks = [pytest.mark.quick] if quick else []
                    arguments = (source, installation, configuration, ranks)
                    listed.append(pytest.param(*arguments, id=name, marks=marks))
    return listed


@pytest.mark.parametrize(("source", "installation", "configuration", "ranks"), cases())
def test_program(
    source: Path, installation: mpi.Mpi, configuration: str, ranks: int, tmp_path: Path
) -> None:
    executable = mpi.compile_program(installation, source)
    settings = CONFIGURATIONS[configuration]
    program = [str(executable), "."]
    if configuration in ("nodes", *ON_TWO_NODES):
        program = forebay.on_nodes(program, ranks if configuration == "nodes" else 2)
    run = forebay.launch(installation, ranks, program, tmp_path / "run", settings)
    assert run.outcome.code == 0, str(run.outcome)
    if configuration == "automatic":
        assert run.statistics is not None and run.statistics["total"]["cached"], str(run.outcome)
    elif settings is not None:
        forebay.assert_served(run.statistics, run.outcome)
