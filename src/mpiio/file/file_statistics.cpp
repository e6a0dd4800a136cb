#include "mpiio/file/file_statistics.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <string_view>

#include "domain/file_domains.h"
#include "mpiio/file/visibility.h"
#include "mpiio/job/job.h"
#include "mpiio/job/run_folder.h"

namespace forebay::mpiio {
namespace {

std::mutex recorded_mutex;
std::vector<FileStatistics>& recorded() {
  static std::vector<FileStatistics> files;
  return files;
}

BoundedCache latest_bounded;  // under recorded_mutex

void note_bounded(const runtime::CachedFile& file) {
  const int64_t limit = file.bounding_limit();
  if (limit != 0) latest_bounded = {limit, file.options().cache_size_bytes};
}

// The assignment of bytes to owners, as it is.
std::string_view assignment_of(const Handle& handle) {
  if (handle.region_parts != nullptr) return handle.region_parts->name();
  const std::string& asked = handle.cached->options().domain;
  return asked == "region" || asked == "dynamic" ? "cyclic" : std::string_view(asked);
}

// The statistics of a handle since its open.
FileStatistics statistics_of(Handle& handle) {
  FileStatistics statistics;
  statistics.name = handle.name;
  statistics.cached = handle.through_caches([](auto& file) { return file.statistics(); });
  if (handle.job_file != nullptr) {
    statistics.owner_bytes = handle.job_file->bytes_by_owner();
    statistics.domain = find_assignment(assignment_of(handle)) - assignments().data();
    statistics.chunk_bytes = handle.job_file->domains().chunk_bytes();
  }
  statistics.opens = statistics.cached_opens = 1;
  statistics.add_calls(handle.uncached);
  return statistics;
}

// Tells `forebay run` why the file was not cached; only of the first file for each reason.
void tell_uncached(Uncached why, const std::string& file) {
  static UncachedCounts told;
  const UncachedReason& reason = reason_of(why);
  if (reason.known || told[why] > 0) return;
  told.add(why);
  mark_uncached(reason.name, file + ": " + reason.sentence);
}

}  // namespace

FileStatistics& entry_of(std::vector<FileStatistics>& files, const std::string& name) {
  const auto found = std::find_if(files.begin(), files.end(), [&name](const FileStatistics& known) {
    return known.name == name;
  });
  if (found != files.end()) return *found;
  files.push_back({});
  files.back().name = name;
  return files.back();
}

void FileStatistics::add(const FileStatistics& other) {
  cached.add(other.cached);
  opens += other.opens;
  cached_opens += other.cached_opens;
  owner_bytes.resize(std::max(owner_bytes.size(), other.owner_bytes.size()));
  for (std::size_t owner = 0; owner < other.owner_bytes.size(); ++owner)
    owner_bytes[owner] += other.owner_bytes[owner];
  domain = std::max(domain, other.domain);
  chunk_bytes = std::max(chunk_bytes, other.chunk_bytes);
  for (std::size_t r = 0; r < uncached_count; ++r) {
    uncached_opens[r] += other.uncached_opens[r];
    uncached_calls[r] += other.uncached_calls[r];
  }
}

void FileStatistics::add_calls(const UncachedCounts& calls) {
  for (std::size_t r = 0; r < uncached_count; ++r)
    uncached_calls[r] += calls[static_cast<Uncached>(r)];
}

void record_statistics(Handle& handle) {
  note_visibility(handle);
  const std::lock_guard guard(recorded_mutex);
  note_bounded(*handle.cached);
  entry_of(recorded(), handle.name).add(statistics_of(handle));
}

void record_uncached(MPI_File file, const std::string& name, Uncached why) {
  if (!process_options().stats) tell_uncached(why, name);
  {
    const std::lock_guard guard(recorded_mutex);
    FileStatistics& entry = entry_of(recorded(), name);
    ++entry.opens;
    ++entry.uncached_opens[static_cast<std::size_t>(why)];
  }
  auto known = std::make_unique<UncachedHandle>();
  known->name = name;
  known->why = why;
  (void)uncached_handles.insert(file, known);
}

void forget_uncached(MPI_File file) {
  const std::unique_ptr<UncachedHandle> known = uncached_handles.remove(file);
  if (known == nullptr) return;
  const std::lock_guard guard(recorded_mutex);
  const Status ignored = within_memory([&] {
    entry_of(recorded(), known->name).uncached_calls[static_cast<std::size_t>(known->why)] +=
        known->calls;
  });
  (void)ignored;
}

BoundedCache bounded_cache() {
  const std::lock_guard guard(recorded_mutex);
  return latest_bounded;
}

std::vector<FileStatistics> statistics_by_file() {
  std::vector<FileStatistics> files;
  {
    const std::lock_guard guard(recorded_mutex);
    files = recorded();
  }
  open_handles.for_each([&files](Handle& handle) {
    const HandleLock lock(handle);
    entry_of(files, handle.name).add(statistics_of(handle));
  });
  uncached_handles.for_each([&files](UncachedHandle& file) {
    entry_of(files, file.name).uncached_calls[static_cast<std::size_t>(file.why)] += file.calls;
  });
  return files;
}

}  // namespace forebay::mpiio
