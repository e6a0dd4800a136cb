"""The same as hinting.F90, by mpi4py."""

from mpi4py import MPI

comm = MPI.COMM_WORLD
info = MPI.Info.Create({"forebay_polcy": "lru"})
file = MPI.File.Open(comm, "data.bin", MPI.MODE_CREATE | MPI.MODE_RDWR, info)
info.Free()
info = MPI.Info.Create({"forebay_page_size": "3000", "forebay_read_ahead": "0"})
file.Set_info(info)
info.Free()
info = file.Get_info()
if comm.rank == 0:
    print(f"forebay_read_ahead={info.Get('forebay_read_ahead')}")
info.Free()
file.Close()
