// Operations on files and handles other than data accesses: opens, closes, views, sizes, syncs, and
// changes past the MPI library.
#pragma once

#include <cstdint>

#include "rank.h"

namespace random_io {

// The library's constants for the numbers in schedules.
int mpi_mode(int64_t mode);
int mpi_whence(int64_t whence);

void open_file(Rank& rank, const Planned& planned);
void close_file(Rank& rank, const Planned& planned);
void delete_file(Rank& rank, const Planned& planned);
void set_view(Rank& rank, const Planned& planned);
void set_atomicity(Rank& rank, const Planned& planned);
void set_hints(Rank& rank, const Planned& planned);
void change_size(Rank& rank, const Planned& planned);  // set_size, preallocate
void seek(Rank& rank, const Planned& planned);
void seek_shared(Rank& rank, const Planned& planned);
void sync_file(Rank& rank, const Planned& planned);
// Sync-barrier-sync by every handle that has the file open.
void sync_everywhere(Rank& rank, const Planned& planned, int file);
// Rank 0 writes past the MPI library.
void write_externally(Rank& rank, const Planned& planned);

}  // namespace random_io
