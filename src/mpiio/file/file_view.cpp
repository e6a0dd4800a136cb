#include "mpiio/file/file_view.h"

#include <cstring>
#include <optional>
#include <utility>

#include "mpiio/file/arrivals.h"
#include "mpiio/file/commit_together.h"
#include "mpiio/file/errors.h"
#include "mpiio/file/hand_over.h"
#include "mpiio/file/hints.h"
#include "mpiio/job/mistakes.h"
#include "mpiio/library/agreement.h"

namespace forebay::mpiio {
namespace {

// Makes the new view the handle's; the rank's own file pointer begins at 0.
void adopt(Handle& handle, View&& view, const std::optional<Options>& options, bool foreign) {
  const HandleLock lock(handle);
  if (options) handle.cached->change_options(*options);
  handle.view = std::move(view);
  handle.position = 0;
  if (handle.kept != nullptr) handle.kept->begin_view();
  if (handle.region_parts != nullptr) handle.region_parts->note_view();
  if (handle.nodes != nullptr) handle.nodes->note_view(handle.cached->options());
  if (foreign)
    handle.pass_through |= foreign_view;
  else
    handle.pass_through &= ~static_cast<uint32_t>(foreign_view);
}

// Sets the shared file pointer, in words that the ranks share, to 0 before they agree on a new
// view, but not before all have come: the last one sets it. The pointer gets its value back unless
// the view is kept.
class SharedPointerReset {
 public:
  explicit SharedPointerReset(Handle& handle) {
    if (handle.shared.position == nullptr || arrive(handle) % handle.ranks != 0) return;
    pointer_ = handle.shared.position;
    before_ = pointer_->exchange(0);
  }
  ~SharedPointerReset() { undo(); }
  SharedPointerReset(const SharedPointerReset&) = delete;
  SharedPointerReset& operator=(const SharedPointerReset&) = delete;

  void keep() { pointer_ = nullptr; }
  void undo() {
    if (pointer_ != nullptr) pointer_->store(before_);
    pointer_ = nullptr;
  }

 private:
  std::atomic<int64_t>* pointer_ = nullptr;
  int64_t before_ = 0;
};

// The arguments of MPI_File_set_view.
struct NewView {
  MPI_Offset displacement;
  MPI_Datatype etype;
  MPI_Datatype filetype;
  const char* datarep;
  MPI_Info info;
};

// Sets the library's view; its errors are not raised.
int set_view_of_library(Handle& handle, const NewView& view) {
  const QuietErrors quiet(handle);
  return mpi().File_set_view(handle.file, view.displacement, view.etype, view.filetype,
                             view.datarep, view.info);
}

// The library's shared file pointer, in etypes; -1: it tells none.
MPI_Offset pointer_of_library(Handle& handle) {
  const QuietErrors quiet(handle);
  MPI_Offset pointer = -1;
  const int code = mpi().File_get_position_shared(handle.file, &pointer);
  return code == MPI_SUCCESS ? pointer : -1;
}

// What the ranks tell each other about a new view; 1: true on some rank.
struct ViewTerms {
  int64_t foreign;   // Forebay cannot walk it
  int64_t refused;   // the library does not take it
  int64_t mistaken;  // there are mistakes in hints to tell
  // The library's shared file pointer before, plus 1; 0: it has none that matters, or the rank
  // showed the library the view that was asked for.
  int64_t pointer;
};

bool library_needs_whole_view(const Handle& handle) {
  return handle.pass_through & atomic_library || !handle.keeps_pointer();
}

// Has the library take a view that Forebay cannot walk on some rank, and what is cached go to
// storage before. False on all ranks: some rank has no such view.
bool take_foreign_view(Handle& handle, const NewView& asked, View& view, Status* committed,
                       int* code) {
  *committed = agree_status(handle.own.comm, make_coherent(handle));
  if (!committed->ok()) return false;
  *code = set_view_of_library(handle, asked);
  bool accepted = false;
  const Status kept = within_memory([&] {
    accepted = *code == MPI_SUCCESS &&
               View::foreign(asked.displacement, asked.etype, asked.filetype, asked.datarep, view);
  });
  (void)kept;
  return !any_rank(handle.own.comm, !accepted);
}

// The library takes the view before the ranks agree, so that one agreement does. A rank that cannot
// walk its view shows the library plain bytes meanwhile.
int set_view_alone(Handle& handle, const NewView& asked) {
  View view;
  bool walked = false;
  std::optional<Options> options;
  const Status decoded = within_memory([&] {
    {
      const HandleLock lock(handle);
      options = changed_options(handle, asked.info, handle.mistakes);
    }
    walked = View::decode(handle.own.comm, asked.displacement, asked.etype, asked.filetype,
                          asked.datarep, view);
  });
  (void)decoded;  // if one rank has no memory to walk the view, no rank walks it
  NewView shown = asked;
  if (!library_needs_whole_view(handle)) shown.filetype = asked.etype;
  if (!walked) shown = {0, mpi().byte, mpi().byte, "native", mpi().info_null};
  // A view that is refused may leave the library's own shared pointer where the plain bytes begin.
  MPI_Offset pointer = -1;
  if (!walked && !handle.keeps_pointer()) pointer = pointer_of_library(handle);
  int code = set_view_of_library(handle, shown);
  SharedPointerReset reset(handle);
  const ViewTerms agreed =
      agree_max(handle.own.comm, ViewTerms{int64_t{!walked}, int64_t{walked && code != MPI_SUCCESS},
                                           int64_t{!handle.mistakes.empty()}, pointer + 1});
  if (agreed.mistaken != 0) tell_together(handle.own.comm, handle.mistakes);
  const bool foreign = agreed.foreign != 0;
  Status committed;
  const bool taken =
      foreign ? take_foreign_view(handle, asked, view, &committed, &code) : agreed.refused == 0;
  if (taken) {
    reset.keep();
    adopt(handle, std::move(view), options, foreign);
    return MPI_SUCCESS;
  }
  reset.undo();  // before an error is raised: its handler may not return
  const View& earlier = handle.view;
  (void)set_view_of_library(handle, {earlier.displacement(), earlier.etype(), earlier.filetype(),
                                     earlier.datarep().c_str(), mpi().info_null});
  if (agreed.pointer > 0) {
    const QuietErrors quiet(handle);
    (void)mpi().File_seek_shared(handle.file, agreed.pointer - 1, MPI_SEEK_SET);
  }
  if (!committed.ok()) return raise(handle, committed, "committing");
  if (code == MPI_SUCCESS)
    return raise(handle, MPI_ERR_ARG,
                 "Forebay: the view of \"" + handle.name +
                     "\" was refused on another rank or has an empty etype");
  mpi().File_call_errhandler(handle.file, code);
  return code;
}

}  // namespace

int set_view(Handle& handle, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
             const char* datarep, MPI_Info info) {
  const Status settled = hand_over(handle);
  const int code = set_view_alone(handle, {displacement, etype, filetype, datarep, info});
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
  if (library_needs_whole_view(handle)) return MPI_SUCCESS;  // and has it
  const View& view = handle.view;
  return true_code(handle, [&] {
    return mpi().File_set_view(handle.file, view.displacement(), view.etype(), view.filetype(),
                               view.datarep().c_str(), mpi().info_null);
  });
}

}  // namespace forebay::mpiio
