#include "mpiio/file/file_view.h"

#include <cstring>
#include <optional>
#include <utility>

#include "mpiio/file/commit_together.h"
#include "mpiio/file/errors.h"
#include "mpiio/file/hand_over.h"
#include "mpiio/file/hints.h"
#include "mpiio/job/mistakes.h"
#include "mpiio/library/agreement.h"

namespace forebay::mpiio {
namespace {

// Makes the new view the handle's: file pointers begin at 0. Waits for all ranks, so that no rank
// uses the shared pointer before it is reset.
void adopt(Handle& handle, View&& view, const std::optional<Options>& options, bool foreign) {
  {
    const HandleLock lock(handle);
    if (options) handle.cached->change_options(*options);
    handle.view = std::move(view);
    handle.position = 0;
    if (foreign)
      handle.pass_through |= foreign_view;
    else
      handle.pass_through &= ~static_cast<uint32_t>(foreign_view);
  }
  if (handle.shared.position != nullptr && handle.rank == 0)
    handle.shared.position->store(0, std::memory_order_release);
  mpi().Barrier(handle.own.comm);
}

// Sets a view that Forebay cannot walk on some rank: the library accepts it, or says what is wrong.
int set_foreign_view(Handle& handle, MPI_Offset displacement, MPI_Datatype etype,
                     MPI_Datatype filetype, const char* datarep, MPI_Info info,
                     const std::optional<Options>& options) {
  const Status status = agree_status(handle.own.comm, make_coherent(handle));
  if (!status.ok()) return raise(handle, status, "committing");  // the view stays as it was
  const int code = true_code(handle, [&] {
    return mpi().File_set_view(handle.file, displacement, etype, filetype, datarep, info);
  });
  View view;
  bool accepted = false;
  const Status kept = within_memory([&] {
    accepted = code == MPI_SUCCESS && View::foreign(displacement, etype, filetype, datarep, view);
  });
  (void)kept;
  if (any_rank(handle.own.comm, !accepted)) {
    if (code != MPI_SUCCESS) return code;
    return raise(handle, MPI_ERR_ARG,
                 "Forebay: the view of \"" + handle.name +
                     "\" was refused on another rank or has an empty etype");
  }
  adopt(handle, std::move(view), options, true);
  return MPI_SUCCESS;
}

std::optional<Options> options_with(Handle& handle, MPI_Info info) {
  const HandleLock lock(handle);
  return changed_options(handle, info, handle.mistakes);
}

// What the ranks tell each other before they set a view; 1: true on some rank.
struct ViewTerms {
  int64_t foreign;   // Forebay cannot walk it
  int64_t mistaken;  // there are mistakes in hints to tell
};

bool library_needs_whole_view(const Handle& handle) {
  return handle.pass_through & atomic_library || handle.shared.position == nullptr;
}

}  // namespace

namespace {

int set_view_alone(Handle& handle, MPI_Offset displacement, MPI_Datatype etype,
                   MPI_Datatype filetype, const char* datarep, MPI_Info info) {
  View view;
  bool walked = false;
  std::optional<Options> options;
  const Status decoded = within_memory([&] {
    options = options_with(handle, info);
    walked = View::decode(handle.own.comm, displacement, etype, filetype, datarep, view);
  });
  (void)decoded;  // if one rank has no memory to walk the view, no rank walks it
  const ViewTerms agreed =
      agree_max(handle.own.comm, ViewTerms{int64_t{!walked}, int64_t{!handle.mistakes.empty()}});
  if (agreed.mistaken != 0) tell_together(handle.own.comm, handle.mistakes);
  if (agreed.foreign != 0)
    return set_foreign_view(handle, displacement, etype, filetype, datarep, info, options);
  const MPI_Datatype shown = library_needs_whole_view(handle) ? filetype : etype;
  const int code = true_code(handle, [&] {
    return mpi().File_set_view(handle.file, displacement, etype, shown, datarep, info);
  });
  if (any_rank(handle.own.comm, code != MPI_SUCCESS)) return code;
  adopt(handle, std::move(view), options, false);
  return MPI_SUCCESS;
}

}  // namespace

int set_view(Handle& handle, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
             const char* datarep, MPI_Info info) {
  const Status settled = hand_over(handle);
  const int code = set_view_alone(handle, displacement, etype, filetype, datarep, info);
  if (code == MPI_SUCCESS && !settled.ok()) return raise(handle, settled, "committing");
  return code;
}

int get_view(Handle& handle, MPI_Offset* displacement, MPI_Datatype* etype, MPI_Datatype* filetype,
             char* datarep) {
  if (displacement == nullptr || etype == nullptr || filetype == nullptr || datarep == nullptr)
    return mpi().File_get_view(handle.file, displacement, etype, filetype, datarep);
  *displacement = handle.view.displacement();
  *etype = duplicate_type(handle.view.etype());
  *filetype = duplicate_type(handle.view.filetype());
  std::strcpy(datarep, handle.view.datarep().c_str());
  return MPI_SUCCESS;
}

int show_view_to_library(Handle& handle) {
  const View& view = handle.view;
  return true_code(handle, [&] {
    return mpi().File_set_view(handle.file, view.displacement(), view.etype(), view.filetype(),
                               view.datarep().c_str(), mpi().info_null);
  });
}

}  // namespace forebay::mpiio
