#include "mpiio/file/earlier_run.h"

#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "mpiio/job/job.h"
#include "mpiio/job/told_lines.h"
#include "options/options.h"
#include "runtime/trace/earlier_reads.h"

namespace forebay::mpiio {
namespace {

std::mutex earlier_mutex;

std::map<std::string, std::size_t>& opens_by_name() {
  static std::map<std::string, std::size_t> opens;
  return opens;
}

// The reads of this process in the trace, which is read once; null: there are none.
std::shared_ptr<const runtime::EarlierReads> reads_in(const std::string& folder) {
  static std::map<std::string, std::shared_ptr<const runtime::EarlierReads>> known;
  const auto [place, fresh] = known.try_emplace(folder);
  if (!fresh) return place->second;
  int initialized = 0, rank = 0;
  mpi().Initialized(&initialized);
  std::string problem = "a program with sessions has no ranks in MPI_COMM_WORLD";
  if (initialized) {
    mpi().Comm_rank(mpi().comm_world, &rank);
    place->second = runtime::EarlierReads::load(folder, rank, &problem);
  }
  if (problem.empty()) return place->second;
  const std::string line = "forebay: predict_from=" + printable(folder) +
                           (place->second == nullptr ? " foretells nothing: " : " lacks reads: ") +
                           problem;
  if (is_new_on_node(line)) std::fprintf(stderr, "%s\n", line.c_str());
  return place->second;
}

bool is_wanted(const Options& options) {
  return !options.predict_from.empty() && options.read_ahead_bytes > 0 && !options.deterministic;
}

}  // namespace

void count_open(const char* name) {
  if (!is_wanted(process_options())) return;
  const std::lock_guard<std::mutex> guard(earlier_mutex);
  (void)within_memory([&] { ++opens_by_name()[name]; });
}

void follow_earlier_run(Handle& handle) {
  const Options& options = handle.cached->options();
  if (!handle.readable || !is_wanted(options)) return;
  const std::lock_guard<std::mutex> guard(earlier_mutex);
  (void)within_memory([&] {
    const std::shared_ptr<const runtime::EarlierReads> reads = reads_in(options.predict_from);
    if (reads == nullptr) return;
    const std::size_t opens = opens_by_name()[handle.name];
    if (auto mine = reads->of(handle.name, opens > 0 ? opens - 1 : 0))
      handle.cached->predict_from(std::move(mine));
  });
}

}  // namespace forebay::mpiio
