// The table of exclusions: library, feature, and the observed error.
#include "exclusions.h"

namespace random_io {
namespace {

struct Exclusion {
  const char* library;  // text at the beginning of, or within, MPI_Get_library_version
  const char* feature;
  const char* seen;
  bool always = false;  // a cache in front of the library does not avoid the error
};

constexpr Exclusion kExclusions[] = {
    {"MPICH", "exact_counts",
     "MPICH 5.0.2: ROMIO's noncontiguous and collective reads that meet the end of the file report "
     "the bytes asked for"},
    {"MPICH", "early_type_free",
     "MPICH 5.0.2: iread_all and others use their memory type after the program has freed it, and "
     "abort by an assertion of yaksa"},
    {"MPICH", "iread_all",
     "MPICH 5.0.2: the individual pointer moves when the request completes, not when it starts, "
     "and undoes what was done to it in between"},
    {"MPICH", "iwrite_all", "MPICH 5.0.2: as iread_all"},
    {"MPICH", "iread_at_all", "MPICH 5.0.2: its completion undoes a seek made meanwhile"},
    {"MPICH", "iwrite_at_all", "MPICH 5.0.2: as iread_at_all"},
    {"MPICH", "shared_pointer_per_handle",
     "MPICH 5.0.2: two handles of one file in one process have one shared pointer"},
    {"MPICH", "hints",
     "MPICH 5.0.2: set_info changes cb_buffer_size but not the buffer, which then overflows"},
    {"MPICH", "status",
     "MPICH 5.0.2: Request_get_status aborts with an internal error on requests of files"},
    {"MPICH", "get_elements",
     "MPICH 5.0.2: Get_elements aborts by an assertion on some nested types", true},
    {"MPICH", "ordered_moves_pointer_at_once",
     "MPICH 5.0.2: an ordered call returns before the shared pointer is beyond what higher ranks "
     "access, so that the next access takes their place"},
    {"MPICH", "refused_access", "MPICH 5.0.2: read_ordered on a write-only file succeeds"},
    {"MPICH", "data_sieving_writes",
     "MPICH 5.0.2: noncontiguous and two-phase writes fill holes beyond the end of the file with "
     "garbage, and undo what other ranks write there meanwhile"},
    {"MPICH", "data_outside_bounds",
     "MPICH 5.0.2: two-phase writes lose the tail where a file type's data lie beyond its upper "
     "bound"},
    {"MPICH", "displaced_memory",
     "MPICH 5.0.2: iwrite takes contiguous memory types with a displacement from displacement 0"},
    {"MPICH", "gapless_structs_within",
     "MPICH 5.0.2: set_view aborts by an assertion of ROMIO's flattening on some types made of "
     "structures (or distributed arrays, which are made of those) whose blocks touch"},
    {"MPICH", "seek_end", "MPICH 5.0.2: SEEK_END calls the offset negative on some sparse views"},
    {"Open MPI", "sync_while_pending",
     "Open MPI 5.0.11: sync fails while a request is pending on any other file"},
    {"Open MPI", "read_past_end",
     "Open MPI 5.0.11: iread_at, read_at_all_begin and others do not return when the end of the "
     "file is before their end"},
    {"Open MPI", "shared_pointer_per_handle",
     "Open MPI 5.0.11: two handles of one file in one process have one shared pointer"},
    {"Open MPI", "refused_delete_on_close",
     "Open MPI 5.0.11: an open with EXCL and DELETE_ON_CLOSE that is refused deletes the file",
     true},
    {"Open MPI", "seek_end", "Open MPI 5.0.11: SEEK_END counts the holes of the view as data"},
    {"Open MPI", "preallocate",
     "Open MPI 5.0.11: preallocate copies bytes of the file into its holes", true},
    {"Open MPI", "byte_offset", "Open MPI 5.0.11: get_byte_offset crashes on views of zero length"},
};

}  // namespace

void exclude_known_bugs(std::string_view library_version, bool plain, Features& features) {
  for (const Exclusion& exclusion : kExclusions) {
    if ((plain || exclusion.always) &&
        library_version.find(exclusion.library) != std::string_view::npos) {
      features.disable(exclusion.feature);
    }
  }
}

}  // namespace random_io
