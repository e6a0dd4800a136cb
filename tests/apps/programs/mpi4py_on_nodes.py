"""Ranks write records in turn, collectively through a view, and read those of the next rank.

mpiexec -n N python mpi4py_on_nodes.py FILE
"""

from __future__ import annotations

import sys

from mpi4py import MPI

RECORD, RECORDS = 1000, 100

comm = MPI.COMM_WORLD
ranks = comm.Get_size()
file = MPI.File.Open(comm, sys.argv[1], MPI.MODE_CREATE | MPI.MODE_RDWR)
record = MPI.BYTE.Create_contiguous(RECORD).Commit()
view = record.Create_resized(0, ranks * RECORD).Commit()
file.Set_view(comm.Get_rank() * RECORD, MPI.BYTE, view)
file.Write_all(bytearray([comm.Get_rank()]) * (RECORD * RECORDS))
following = (comm.Get_rank() + 1) % ranks
file.Set_view(following * RECORD, MPI.BYTE, view)
found = bytearray(RECORD * RECORDS)
file.Read_at_all(0, found)
assert found == bytearray([following]) * (RECORD * RECORDS), "bytes of another rank are wrong"
file.Close()
