! Gives wrong hints at the open and in MPI_FILE_SET_INFO, and a right one that changes an open file.
program hinting
  use mpi
  implicit none
  integer :: code, file, info, rank
  character(len=64) :: value
  logical :: found

  call MPI_INIT(code)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, code)
  call MPI_INFO_CREATE(info, code)
  call MPI_INFO_SET(info, 'forebay_polcy', 'lru', code)
  call MPI_FILE_OPEN(MPI_COMM_WORLD, 'data.bin', MPI_MODE_CREATE + MPI_MODE_RDWR, info, file, code)
  call MPI_INFO_FREE(info, code)
  call MPI_INFO_CREATE(info, code)
  call MPI_INFO_SET(info, 'forebay_page_size', '3000', code)
  call MPI_INFO_SET(info, 'forebay_read_ahead', '0', code)
  call MPI_FILE_SET_INFO(file, info, code)
  call MPI_INFO_FREE(info, code)
  call MPI_FILE_GET_INFO(file, info, code)
  call MPI_INFO_GET(info, 'forebay_read_ahead', 60, value, found, code)
  if (rank == 0 .and. found) print '(2a)', 'forebay_read_ahead=', trim(value)
  call MPI_INFO_FREE(info, code)
  call MPI_FILE_CLOSE(file, code)
  call MPI_FINALIZE(code)
end program hinting
