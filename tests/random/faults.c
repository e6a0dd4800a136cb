// Faults on purpose, for the test of the tester: interposes on MPI-IO (preloaded, through the
// PMPI names) and spoils one call in RANDOM_IO_FAULT_EVERY (40) as RANDOM_IO_FAULT says:
//
//   drop      a write leaves out its last byte
//   swap      the two halves of a write (two writes, to the library) exchange their places
//   stale     a read returns what the same call returned before for its first byte
//   pointer   the individual pointer moves by one etype too many
//   count     the status says one byte less
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int due(const char* fault) {
  static int calls = 0;
  const char* chosen = getenv("RANDOM_IO_FAULT");
  const char* every = getenv("RANDOM_IO_FAULT_EVERY");
  if (chosen == NULL || strcmp(chosen, fault) != 0) return 0;
  return ++calls % (every != NULL ? atoi(every) : 40) == 0;
}

static int bytes_of(int count, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  return count * size;
}

int MPI_File_write_at(MPI_File file, MPI_Offset offset, const void* buffer, int count,
                      MPI_Datatype type, MPI_Status* status) {
  if (type == MPI_BYTE && count > 1) {
    if (due("drop")) {
      if (PMPI_File_write_at(file, offset, buffer, count - 1, type, status) == MPI_SUCCESS) {
        PMPI_Status_set_elements(status, type, count);
        return MPI_SUCCESS;
      }  // not whole etypes: spare this one
    }
    if (due("swap")) {
      const int half = count / 2;
      const char* bytes = buffer;
      if (PMPI_File_write_at(file, offset, bytes + half, count - half, type, status) ==
              MPI_SUCCESS &&
          PMPI_File_write_at(file, offset + (count - half), bytes, half, type, status) ==
              MPI_SUCCESS) {
        PMPI_Status_set_elements(status, type, count);
        return MPI_SUCCESS;
      }
    }
  }
  return PMPI_File_write_at(file, offset, buffer, count, type, status);
}

int MPI_File_read_at(MPI_File file, MPI_Offset offset, void* buffer, int count, MPI_Datatype type,
                     MPI_Status* status) {
  static unsigned char before = 1;
  const int code = PMPI_File_read_at(file, offset, buffer, count, type, status);
  int got = 0;
  PMPI_Get_count(status, MPI_BYTE, &got);
  if (code != MPI_SUCCESS || type != MPI_BYTE || got < 1) return code;
  unsigned char* bytes = buffer;
  const unsigned char now = bytes[0];
  if (due("stale")) bytes[0] = before == now ? (unsigned char)(now ^ 1) : before;
  before = now;
  if (due("count")) PMPI_Status_set_elements(status, type, got - 1);
  return code;
}

int MPI_File_write(MPI_File file, const void* buffer, int count, MPI_Datatype type,
                   MPI_Status* status) {
  const int code = PMPI_File_write(file, buffer, count, type, status);
  if (bytes_of(count, type) > 0 && due("pointer")) PMPI_File_seek(file, 1, MPI_SEEK_CUR);
  return code;
}
