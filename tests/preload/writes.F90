! Opens a file, writes eight bytes and closes it by one of the three Fortran bindings.
program writes
#if BINDING == 3
  use mpi_f08
#elif BINDING == 2
  use mpi
#endif
  implicit none
#if BINDING == 1
  include 'mpif.h'
#endif
#if BINDING == 3
  type(MPI_File) :: file
  type(MPI_Status) :: status
#else
  integer :: file, status(MPI_STATUS_SIZE)
#endif
  integer :: values(2), ierror
  integer(kind=MPI_OFFSET_KIND) :: offset
  values = [17, 4]
  offset = 0
  call MPI_Init(ierror)
  call MPI_File_open(MPI_COMM_WORLD, 'written', MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, &
                     file, ierror)
  call MPI_File_write_at(file, offset, values, 2, MPI_INTEGER, status, ierror)
  call MPI_File_close(file, ierror)
  call MPI_Finalize(ierror)
end program writes
