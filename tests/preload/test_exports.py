"""The symbols that the preloaded libraries define and need: MPI's names and Forebay's, the C
library, nothing else."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

INTERPOSERS = ("mpich", "mpiabi", "openmpi")

# The C interface: functions that the preload looks up, and include/forebay.
FOREBAY_NAMES = {
    "forebay_entry_points",
    "forebay_attach",
    "forebay_objects_loaded",
    "forebay_abi",
    "forebay_describe_hint",
    "forebay_get_statistics",
}

DATA = [
    "read_at",
    "write_at",
    "read_at_all",
    "write_at_all",
    "read",
    "write",
    "read_all",
    "write_all",
    "read_shared",
    "write_shared",
    "read_ordered",
    "write_ordered",
    "iread_at",
    "iwrite_at",
    "iread_at_all",
    "iwrite_at_all",
    "iread",
    "iwrite",
    "iread_all",
    "iwrite_all",
    "iread_shared",
    "iwrite_shared",
    "read_at_all_begin",
    "write_at_all_begin",
    "read_all_begin",
    "write_all_begin",
    "read_ordered_begin",
    "write_ordered_begin",
]
OTHERS = [
    "open",
    "close",
    "delete",
    "set_size",
    "preallocate",
    "get_size",
    "get_group",
    "get_amode",
    "set_info",
    "get_info",
    "set_view",
    "get_view",
    "read_at_all_end",
    "write_at_all_end",
    "read_all_end",
    "write_all_end",
    "read_ordered_end",
    "write_ordered_end",
    "seek",
    "get_position",
    "get_byte_offset",
    "seek_shared",
    "get_position_shared",
    "get_type_extent",
    "set_atomicity",
    "get_atomicity",
    "sync",
    "set_errhandler",
    "get_errhandler",
    "call_errhandler",
    "create_errhandler",
]
COMPLETION = [
    "Wait",
    "Test",
    "Waitany",
    "Testany",
    "Waitall",
    "Testall",
    "Waitsome",
    "Testsome",
    "Request_get_status",
    "Request_free",
]
# Each of these has a nonblocking variant.
COLLECTIVES = [
    *("Allgather", "Allgatherv", "Allreduce", "Alltoall", "Alltoallv", "Alltoallw", "Bcast"),
    *("Gather", "Gatherv", "Reduce", "Reduce_scatter", "Reduce_scatter_block", "Scatter"),
    "Scatterv",
]
COMM_MAKERS = [
    *("Comm_dup", "Comm_dup_with_info", "Comm_create", "Comm_split", "Comm_split_type"),
    *("Cart_create", "Cart_sub", "Graph_create", "Dist_graph_create"),
    "Dist_graph_create_adjacent",
]
STATUS_OF_MANY = [f"Request_get_status_{which}" for which in ("any", "some", "all")]
SETUP = {"MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Abort", "MPI_Register_datarep"}


def mpi_names(abi: str) -> set[str]:
    """The entry points: all file routines of MPI 4.1 except conversions of handles, routines that
    complete requests, collectives that order ranks, and routines that make communicators."""
    names = SETUP | {f"MPI_File_{name}" for name in (*DATA, *OTHERS)}
    names |= {f"MPI_{name}" for name in (*COMPLETION, *COMM_MAKERS)}
    collectives = {*COLLECTIVES, *(f"I{name.lower()}" for name in COLLECTIVES)}
    names |= {f"MPI_{name}" for name in (*collectives, "Barrier", "Ibarrier")}
    if abi == "openmpi":
        return names
    large = {f"MPI_File_{name}_c" for name in (*DATA, "get_type_extent")}
    names |= {f"MPI_{name}" for name in STATUS_OF_MANY}
    large |= {f"MPI_{name}_c" for name in collectives}
    return names | large | {"MPI_Register_datarep_c"}


def defined(library: Path) -> set[str]:
    listing = subprocess.run(
        ["nm", "--dynamic", "--defined-only", "--format=posix", library],
        capture_output=True,
        text=True,
        check=True,
    )
    return {line.split()[0].partition("@")[0] for line in listing.stdout.splitlines()}


def needed(library: Path) -> set[str]:
    listing = subprocess.run(
        ["readelf", "--dynamic", library], capture_output=True, text=True, check=True
    )
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", listing.stdout))


def test_the_preload_defines_nothing_of_mpi(library_directory):
    assert defined(library_directory / "libforebay_preload.so") == {"forebay_preload_locked"}
    assert needed(library_directory / "libforebay_preload.so") <= {"libc.so.6", "libdl.so.2"}


@pytest.mark.parametrize("abi", INTERPOSERS)
def test_an_interposer_defines_the_entry_points_and_ours(library_directory, abi):
    names = defined(library_directory / f"libforebay_{abi}.so")
    assert names == mpi_names(abi) | FOREBAY_NAMES


@pytest.mark.parametrize("abi", INTERPOSERS)
def test_an_interposer_needs_only_the_system(library_directory, abi):
    libraries = needed(library_directory / f"libforebay_{abi}.so")
    system = r"(libc|libgcc_s|libdl|libm|librt|libpthread|ld-linux-.*)\.so\.\d+"
    assert all(re.fullmatch(system, name) for name in libraries), libraries


@pytest.mark.parametrize("abi", INTERPOSERS)
def test_an_interposer_imports_nothing_of_mpi(library_directory, abi):
    listing = subprocess.run(
        ["nm", "--dynamic", "--undefined-only", library_directory / f"libforebay_{abi}.so"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert not re.search(r"\bP?MPI|ompi_", listing.stdout)
