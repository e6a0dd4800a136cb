"""Parallel HDF5 through h5py: interleaved rows, a chunked dataset, attributes, and reading back.

usage: h5py_datasets.py FOLDER
"""

import sys
from pathlib import Path

import h5py
import numpy
from mpi4py import MPI

ROWS, COLUMNS = 13, 27


def share(rank: int, ranks: int) -> numpy.ndarray:
    """The values that a rank writes; each names its place in the whole array."""
    rows = numpy.arange(rank, ROWS * ranks, ranks)
    return rows[:, None] * 1000.0 + numpy.arange(COLUMNS)[None, :]


def main() -> None:
    comm = MPI.COMM_WORLD
    path = Path(sys.argv[1]) / "h5py.h5"
    with h5py.File(path, "w", driver="mpio", comm=comm) as file:
        shape = (ROWS * comm.size, COLUMNS)
        plain = file.create_dataset("plain", shape, "f8", track_times=False)
        chunked = file.create_dataset("chunked", shape, "f8", chunks=(5, 9), track_times=False)
        file.attrs["ranks"] = comm.size
        plain[comm.rank :: comm.size] = share(comm.rank, comm.size)
        with chunked.collective:
            chunked[comm.rank :: comm.size] = share(comm.rank, comm.size)
    comm.Barrier()
    with h5py.File(path, "r", driver="mpio", comm=comm) as file:
        other = (comm.rank + 1) % comm.size
        assert file.attrs["ranks"] == comm.size
        for name in ("plain", "chunked"):
            assert (file[name][other :: comm.size] == share(other, comm.size)).all()
    if comm.rank == 0:
        print("verified")


if __name__ == "__main__":
    main()
