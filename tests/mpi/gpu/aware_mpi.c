// Makes an MPI library aware of the stand-in's memory: a layer in front of the real library, with a
// name by which Forebay takes it for the program's MPI library.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>

#include "device.h"

// Calls the real library's routine, which is later in the order of loading.
#define REAL(name) ((__typeof__(&PMPI_##name))real("PMPI_" #name))
static void* real(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  if (found == NULL) abort();
  return found;
}

#define BOTH_NAMES(name) __typeof__(PMPI_##name) MPI_##name __attribute__((alias("PMPI_" #name)))

// A routine without a buffer.
#define PLAIN(name, parameters, arguments)                    \
  int PMPI_##name parameters { return REAL(name) arguments; } \
  BOTH_NAMES(name)

PLAIN(Init, (int* argc, char*** argv), (argc, argv));
PLAIN(Finalize, (void), ());
PLAIN(File_open, (MPI_Comm comm, const char* name, int amode, MPI_Info info, MPI_File* file),
      (comm, name, amode, info, file));
PLAIN(File_close, (MPI_File * file), (file));
PLAIN(File_set_view,
      (MPI_File file, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
       const char* datarep, MPI_Info info),
      (file, displacement, etype, filetype, datarep, info));
PLAIN(File_set_atomicity, (MPI_File file, int flag), (file, flag));
PLAIN(File_seek_shared, (MPI_File file, MPI_Offset offset, int whence), (file, offset, whence));

#define AT(name, qualifier, last)                                                      \
  int PMPI_##name(MPI_File file, MPI_Offset offset, qualifier void* buffer, int count, \
                  MPI_Datatype type, last) {                                           \
    return REAL(name)(file, offset, device_bytes(buffer), count, type, result);        \
  }                                                                                    \
  BOTH_NAMES(name)
#define HERE(name, qualifier, last)                                                            \
  int PMPI_##name(MPI_File file, qualifier void* buffer, int count, MPI_Datatype type, last) { \
    return REAL(name)(file, device_bytes(buffer), count, type, result);                        \
  }                                                                                            \
  BOTH_NAMES(name)

AT(File_write_at, const, MPI_Status* result);
AT(File_read_at, , MPI_Status* result);
AT(File_write_at_all, const, MPI_Status* result);
AT(File_read_at_all, , MPI_Status* result);
AT(File_iwrite_at, const, MPI_Request* result);
AT(File_iread_at, , MPI_Request* result);
HERE(File_write, const, MPI_Status* result);
HERE(File_read, , MPI_Status* result);
HERE(File_write_all, const, MPI_Status* result);
HERE(File_read_all, , MPI_Status* result);
HERE(File_write_shared, const, MPI_Status* result);
HERE(File_write_ordered, const, MPI_Status* result);

int PMPI_File_write_ordered_begin(MPI_File file, const void* buffer, int count, MPI_Datatype type) {
  return REAL(File_write_ordered_begin)(file, device_bytes(buffer), count, type);
}
BOTH_NAMES(File_write_ordered_begin);
int PMPI_File_write_ordered_end(MPI_File file, const void* buffer, MPI_Status* status) {
  return REAL(File_write_ordered_end)(file, device_bytes(buffer), status);
}
BOTH_NAMES(File_write_ordered_end);

int PMPI_Sendrecv(const void* sent, int sent_count, MPI_Datatype sent_type, int destination,
                  int sent_tag, void* received, int count, MPI_Datatype type, int source, int tag,
                  MPI_Comm comm, MPI_Status* status) {
  // Memory that the host may touch needs no copy.
  if (device_kind(sent) == device_managed || device_kind(received) == device_managed) abort();
  return REAL(Sendrecv)(device_bytes(sent), sent_count, sent_type, destination, sent_tag,
                        device_bytes(received), count, type, source, tag, comm, status);
}
BOTH_NAMES(Sendrecv);
