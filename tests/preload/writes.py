"""Opens a file, writes eight bytes and closes it, with mpi4py."""

from array import array

from mpi4py import MPI

file = MPI.File.Open(MPI.COMM_WORLD, "written", MPI.MODE_CREATE | MPI.MODE_RDWR)
file.Write_at(0, array("i", [17, 4]))
file.Close()
