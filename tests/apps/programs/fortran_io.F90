! The MPI-IO calls of Fortran programs, through the binding named at compile time:
! -DBINDING=1 mpif.h, -DBINDING=2 use mpi, -DBINDING=3 use mpi_f08.
!
! Columns of a two-dimensional array are written and read through a subarray view, collectively, at
! explicit offsets, by the shared pointer, nonblocking, and from MPI_BOTTOM by absolute addresses.
!
! usage: fortran_io FOLDER
#if BINDING == 3
#define HANDLE(kind) type(kind)
#define STATUS_VARIABLE type(MPI_Status) :: status
#else
#define HANDLE(kind) integer
#define STATUS_VARIABLE integer :: status(MPI_STATUS_SIZE)
#endif

program fortran_io
#if BINDING == 2
  use mpi
#elif BINDING == 3
  use mpi_f08
#endif
  implicit none
#if BINDING == 1
  include 'mpif.h'
#endif
  integer, parameter :: rows = 7, columns = 5
  integer :: rank, ranks, code
  character(len=1024) :: folder

  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  call get_command_argument(1, folder)
  call subarray_view(trim(folder) // '/subarray')
  call explicit_offsets(trim(folder) // '/offsets')
  call shared_pointer(trim(folder) // '/shared')
  call nonblocking(trim(folder) // '/nonblocking')
  call absolute_addresses(trim(folder) // '/bottom')
  call MPI_Barrier(MPI_COMM_WORLD, code)
  if (rank == 0) print '(a)', 'verified'
  call MPI_Finalize(code)

contains

  subroutine check(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    if (good) return
    print '(a,i0,2a)', 'rank ', rank, ': failed: ', what
    call MPI_Abort(MPI_COMM_WORLD, 1, code)
  end subroutine check

  ! The element that belongs at position i of the file that rank r's part begins at.
  pure integer function element(r, i)
    integer, intent(in) :: r, i
    element = 100000 * (r + 1) + i
  end function element

  subroutine open_file(path, file)
    character(len=*), intent(in) :: path
    HANDLE(MPI_File), intent(out) :: file
    call MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, &
                       file, code)
    call check(code == MPI_SUCCESS, 'open')
  end subroutine open_file

  subroutine check_count(status_in, expected, what)
#if BINDING == 3
    type(MPI_Status), intent(in) :: status_in
#else
    integer, intent(in) :: status_in(MPI_STATUS_SIZE)
#endif
    integer, intent(in) :: expected
    character(len=*), intent(in) :: what
    integer :: transferred
    call MPI_Get_count(status_in, MPI_INTEGER, transferred, code)
    call check(transferred == expected, what // ': count in status')
  end subroutine check_count

  ! Rank r owns the rows r * rows + 1 to (r + 1) * rows of every column.
  subroutine subarray_view(path)
    character(len=*), intent(in) :: path
    HANDLE(MPI_File) :: file
    HANDLE(MPI_Datatype) :: view
    STATUS_VARIABLE
    integer :: written(rows, columns), seen(rows, columns), i
    integer(kind=MPI_OFFSET_KIND) :: bytes, start
    written = reshape([(element(rank, i), i = 1, rows * columns)], [rows, columns])
    call MPI_Type_create_subarray(2, [rows * ranks, columns], [rows, columns], [rows * rank, 0], &
                                  MPI_ORDER_FORTRAN, MPI_INTEGER, view, code)
    call MPI_Type_commit(view, code)
    call open_file(path, file)
    start = 0
    call MPI_File_set_view(file, start, MPI_INTEGER, view, 'native', MPI_INFO_NULL, code)
    call check(code == MPI_SUCCESS, 'set_view')
    call MPI_Type_free(view, code)
    call MPI_File_write_all(file, written, rows * columns, MPI_INTEGER, status, code)
    call check(code == MPI_SUCCESS, 'write_all')
    call check_count(status, rows * columns, 'write_all')
    seen = 0
    call MPI_File_seek(file, start, MPI_SEEK_SET, code)
    call MPI_File_read_all(file, seen, rows * columns, MPI_INTEGER, status, code)
    call check(code == MPI_SUCCESS .and. all(seen == written), 'read_all')
    call check_count(status, rows * columns, 'read_all')
    call MPI_File_sync(file, code)
    call MPI_File_get_size(file, bytes, code)
    call check(bytes == 4 * rows * columns * ranks, 'get_size')
    call MPI_File_close(file, code)
    call check(code == MPI_SUCCESS, 'close')
  end subroutine subarray_view

  subroutine explicit_offsets(path)
    character(len=*), intent(in) :: path
    HANDLE(MPI_File) :: file
    STATUS_VARIABLE
    integer :: written(rows), seen(rows), step, i, other
    integer(kind=MPI_OFFSET_KIND) :: at
    call open_file(path, file)
    do step = 0, columns - 1
      written = [(element(rank, step * rows + i), i = 1, rows)]
      at = int(step * ranks + rank, MPI_OFFSET_KIND) * 4 * rows
      call MPI_File_write_at(file, at, written, rows, MPI_INTEGER, status, code)
      call check(code == MPI_SUCCESS, 'write_at')
      call check_count(status, rows, 'write_at')
    end do
    call MPI_File_sync(file, code)
    call MPI_Barrier(MPI_COMM_WORLD, code)
    call MPI_File_sync(file, code)
    other = mod(rank + 1, ranks)
    do step = 0, columns - 1
      at = int(step * ranks + other, MPI_OFFSET_KIND) * 4 * rows
      call MPI_File_read_at_all(file, at, seen, rows, MPI_INTEGER, status, code)
      call check(all(seen == [(element(other, step * rows + i), i = 1, rows)]), 'read_at_all')
    end do
    at = int(columns * ranks, MPI_OFFSET_KIND) * 4 * rows
    call MPI_File_read_at(file, at, seen, rows, MPI_INTEGER, status, code)
    call check_count(status, 0, 'read_at past the end')
    call MPI_File_close(file, code)
  end subroutine explicit_offsets

  ! Ordered, so that the place of every rank's part is known.
  subroutine shared_pointer(path)
    character(len=*), intent(in) :: path
    HANDLE(MPI_File) :: file
    STATUS_VARIABLE
    integer :: written(rows), seen(rows), i
    integer(kind=MPI_OFFSET_KIND) :: at
    written = [(element(rank, i), i = 1, rows)]
    call open_file(path, file)
    call MPI_File_write_ordered(file, written, rows, MPI_INTEGER, status, code)
    call check(code == MPI_SUCCESS, 'write_ordered')
    call check_count(status, rows, 'write_ordered')
    call MPI_Barrier(MPI_COMM_WORLD, code)
    if (rank == 0) then
      call MPI_File_write_shared(file, [(-i, i = 1, rows)], rows, MPI_INTEGER, status, code)
      call check(code == MPI_SUCCESS, 'write_shared')
    end if
    call MPI_Barrier(MPI_COMM_WORLD, code)
    call MPI_File_get_position_shared(file, at, code)
    call check(at == (ranks + 1) * rows * 4, 'get_position_shared')
    call MPI_Barrier(MPI_COMM_WORLD, code)
    at = 0
    call MPI_File_seek_shared(file, at, MPI_SEEK_SET, code)
    call MPI_File_read_ordered(file, seen, rows, MPI_INTEGER, status, code)
    call check(all(seen == written), 'read_ordered')
    call MPI_File_close(file, code)
  end subroutine shared_pointer

  subroutine nonblocking(path)
    character(len=*), intent(in) :: path
    integer, parameter :: pending = 4
    HANDLE(MPI_File) :: file
    HANDLE(MPI_Request) :: requests(pending)
    STATUS_VARIABLE
    integer, asynchronous :: written(rows, pending), seen(rows, pending)
    integer :: k, i
    integer(kind=MPI_OFFSET_KIND) :: at
    call open_file(path, file)
    do k = 1, pending
      written(:, k) = [(element(rank, k * rows + i), i = 1, rows)]
      at = int((k - 1) * ranks + rank, MPI_OFFSET_KIND) * 4 * rows
      call MPI_File_iwrite_at(file, at, written(:, k), rows, MPI_INTEGER, requests(k), code)
      call check(code == MPI_SUCCESS, 'iwrite_at')
    end do
    do k = pending, 1, -1
      call MPI_Wait(requests(k), status, code)
      call check(code == MPI_SUCCESS, 'wait')
      call check_count(status, rows, 'iwrite_at')
    end do
    do k = 1, pending
      at = int((k - 1) * ranks + rank, MPI_OFFSET_KIND) * 4 * rows
      call MPI_File_iread_at(file, at, seen(:, k), rows, MPI_INTEGER, requests(k), code)
      call MPI_Wait(requests(k), status, code)
      call check_count(status, rows, 'iread_at')
    end do
    call check(all(seen == written), 'iread_at')
    call MPI_File_close(file, code)
  end subroutine nonblocking

  subroutine absolute_addresses(path)
    character(len=*), intent(in) :: path
    HANDLE(MPI_File) :: file
    HANDLE(MPI_Datatype) :: places
    STATUS_VARIABLE
    integer, target, save :: first(rows), second(rows)
    integer(kind=MPI_ADDRESS_KIND) :: addresses(2)
    integer(kind=MPI_OFFSET_KIND) :: at
    integer :: seen(2 * rows), i
    first = [(element(rank, i), i = 1, rows)]
    second = [(element(rank, rows + i), i = 1, rows)]
    call MPI_Get_address(second, addresses(1), code)
    call MPI_Get_address(first, addresses(2), code)
    call MPI_Type_create_hindexed(2, [rows, rows], addresses, MPI_INTEGER, places, code)
    call MPI_Type_commit(places, code)
    call open_file(path, file)
    at = int(rank, MPI_OFFSET_KIND) * 8 * rows
    call MPI_File_write_at(file, at, MPI_BOTTOM, 1, places, status, code)
    call check(code == MPI_SUCCESS, 'write_at of MPI_BOTTOM')
    call check_count(status, 2 * rows, 'write_at of MPI_BOTTOM')
    call MPI_File_read_at(file, at, seen, 2 * rows, MPI_INTEGER, status, code)
    call check(all(seen(:rows) == second) .and. all(seen(rows + 1:) == first), 'MPI_BOTTOM')
    first = 0
    second = 0
    call MPI_File_read_at_all(file, at, MPI_BOTTOM, 1, places, status, code)
    call check(all(seen(:rows) == second) .and. all(seen(rows + 1:) == first), 'into MPI_BOTTOM')
    call MPI_Type_free(places, code)
    call MPI_File_close(file, code)
  end subroutine absolute_addresses

end program fortran_io
