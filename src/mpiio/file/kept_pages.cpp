#include "mpiio/file/kept_pages.h"

#include "mpiio/library/agreement.h"

namespace forebay::mpiio {
namespace {

using runtime::CachedFile;

// What the ranks tell each other before they leave the file.
struct Leaving {
  static constexpr int64_t unsaid = INT64_MIN;  // rank 0 says it
  int64_t refused = 0;                          // 1: the rank's pages must not stay
  int64_t last_write_ns = 0;
  int64_t modified_before = unsaid;
  int64_t size = unsaid;
  int64_t modified = unsaid;
  int64_t changed = unsaid;
};

}  // namespace

bool may_rest_on_nodes(const Handle& handle) {
  const Options& options = handle.cached->options();
  return options.openers == Openers::all && handle.job_file != nullptr &&
         options.keep != Keep::never;
}

std::optional<CachedFile::Rest> agree_to_rest(Handle& handle, Status& status) {
  Leaving mine;
  {
    const HandleLock lock(handle);
    const Status left = handle.job_file->leave(false);
    if (status.ok()) status = left;
    mine.refused = int64_t{!status.ok() || !handle.job_file->may_rest()};
    mine.last_write_ns = handle.cached->last_write_ns();
    if (handle.rank == 0) {
      const CachedFile::RestStamps stamps = handle.cached->stamps_to_rest();
      if (!stamps.after.known()) mine.refused = 1;
      mine.modified_before = stamps.before.modified_ns;
      mine.size = stamps.after.size;
      mine.modified = stamps.after.modified_ns;
      mine.changed = stamps.after.changed_ns;
    }
  }
  const Leaving agreed = agree_max(handle.own.comm, mine);
  const FileStamp stamp{agreed.size, agreed.modified, agreed.changed};
  FileStamp before = stamp;
  before.modified_ns = agreed.modified_before;
  const CachedFile::RestStamps stamps{before, stamp};
  if (agreed.refused != 0 || !stamps.explained_by(agreed.last_write_ns)) return std::nullopt;
  return handle.job_file->rest_as(stamp);
}

bool uses_kept_pages(const Handle& handle, bool sessions_agree) {
  const Options& options = handle.cached->options();
  return options.keep == Keep::stat ||
         (options.keep == Keep::job && options.openers == Openers::all && sessions_agree);
}

}  // namespace forebay::mpiio
