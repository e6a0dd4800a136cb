#include "mpiio/file/earlier_run.h"

#include <dlfcn.h>

#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "earlier/interface.h"
#include "mpiio/job/job.h"
#include "mpiio/job/told_lines.h"
#include "options/options.h"
#include "pattern/signature_code.h"
#include "runtime/node/committer.h"

namespace forebay::mpiio {
namespace {

std::mutex earlier_mutex;

std::map<std::string, std::size_t>& opens_by_name() {
  static std::map<std::string, std::size_t> opens;
  return opens;
}

// What this process's rank read in the earlier run: of each file, through each of its opens.
struct EarlierReads {
  std::map<std::string, std::vector<std::shared_ptr<const pattern::Signature>>> files;
  bool complete = true;

  void take(const char* file, std::span<const std::byte> code) {
    std::shared_ptr<const pattern::Signature>& place = files[file].emplace_back();
    if (code.empty()) return;
    auto signature = std::make_shared<pattern::Signature>();
    trace::ByteReader reader(code);
    if (pattern::read(reader, *signature)) place = std::move(signature);
  }
};

// Called by a library that knows no exceptions of this one.
void take_reads(void* taker, const char* file, const std::byte* code, std::size_t bytes) {
  auto& reads = *static_cast<EarlierReads*>(taker);
  const Status had_memory = within_memory([&] { reads.take(file, {code, bytes}); });
  reads.complete = reads.complete && had_memory.ok();
}

// Empty: this process has nothing to follow.
EarlierReads read_trace(const std::string& folder, std::string* problem) {
  int initialized = 0, rank = 0;
  mpi().Initialized(&initialized);
  if (!initialized) {
    *problem = "a program with sessions has no ranks in MPI_COMM_WORLD";
    return {};
  }
  mpi().Comm_rank(mpi().comm_world, &rank);
  const std::string library = runtime::beside_this_library(earlier::library_name);
  void* const loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  auto* const entry = loaded == nullptr
                          ? nullptr
                          : reinterpret_cast<earlier::Entry*>(dlsym(loaded, earlier::entry_name));
  if (entry == nullptr) {
    *problem = library + " cannot be loaded";
    return {};
  }
  EarlierReads reads;
  char text[256] = "";
  (void)entry(folder.c_str(), rank, take_reads, &reads, text, sizeof text);
  *problem = reads.complete ? text : "there is no memory for it";
  return reads;
}

// The trace is read once.
const EarlierReads& reads_in(const std::string& folder) {
  static std::map<std::string, EarlierReads> known;
  const auto [place, fresh] = known.try_emplace(folder);
  if (!fresh) return place->second;
  std::string problem;
  place->second = read_trace(folder, &problem);
  if (problem.empty()) return place->second;
  const std::string line =
      "forebay: predict_from=" + printable(folder) +
      (place->second.files.empty() ? " foretells nothing: " : " lacks reads: ") + problem;
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
    const EarlierReads& reads = reads_in(options.predict_from);
    const auto file = reads.files.find(handle.name);
    const std::size_t opens = opens_by_name()[handle.name];
    if (file == reads.files.end() || opens == 0 || opens > file->second.size()) return;
    if (auto mine = file->second[opens - 1]) handle.cached->predict_from(std::move(mine));
  });
}

}  // namespace forebay::mpiio
