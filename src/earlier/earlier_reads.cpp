#include "earlier/earlier_reads.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "pattern/folder.h"
#include "runtime/node/file_identity.h"
#include "runtime/trace/trace_reader.h"
#include "storage/small_files.h"

namespace forebay::earlier {

namespace {

// The latest of the rank's traces in the folder; "": none.
std::string trace_of_rank(const std::string& folder, const std::vector<std::string>& names,
                          int64_t rank) {
  const std::string begin = std::to_string(rank) + "-";
  std::string found;
  int64_t found_ns = 0;
  for (const std::string& name : names) {
    if (!name.starts_with(begin) || !name.ends_with(".trace")) continue;
    const std::string path = folder + "/" + name;
    struct stat info {};
    (void)stat(path.c_str(), &info);  // one that cannot be asked counts as the oldest
    const int64_t time_ns = runtime::modified_ns(info);
    if (!found.empty() && time_ns <= found_ns) continue;
    found = path;
    found_ns = time_ns;
  }
  return found;
}

void add_runs(pattern::Folder& folder, const trace::Job& job, const trace::Table& table,
              std::size_t row) {
  const int64_t bytes = table.requested[row];
  if (table.offset[row] < 0 || bytes <= 0) return;
  const int32_t view = table.view[row];
  if (table.contiguous[row] != 0 || view < 0) return folder.add({table.offset[row], bytes, 0});
  const Tiling& tiling = job.views()[static_cast<std::size_t>(view)].tiling;
  Cursor cursor(tiling, table.position[row]);
  for (int64_t left = bytes; left > 0;) {
    const Extent run = cursor.next(left);
    folder.add({run.offset, run.length, 0});
    left -= run.length;
  }
}

}  // namespace

std::vector<OpenReads> reads_of_rank(const std::string& folder, int64_t rank,
                                     std::string* problem) {
  constexpr std::size_t batch = 64 << 10;  // accesses
  problem->clear();
  const std::vector<std::string> names = names_in(folder);
  if (names.empty()) {
    *problem = std::strerror(errno);
    return {};
  }
  const std::string path = trace_of_rank(folder, names, rank);
  if (path.empty()) {
    *problem = "it has no trace of rank " + std::to_string(rank);
    return {};
  }
  const auto reader = std::make_shared<const runtime::TraceReader>(std::vector{path});
  if (!reader->problems().empty()) *problem = reader->problems().front().text;
  const trace::Job& job = reader->job();
  std::vector<std::unique_ptr<pattern::Folder>> folders(job.opens().size());
  runtime::AccessStream stream(reader);
  std::vector<runtime::BadBlock> bad;
  trace::Table table;
  while (stream.next(batch, table, bad)) {
    for (std::size_t row = 0; row < table.size(); ++row) {
      const bool reads = table.operation[row] == static_cast<uint8_t>(trace::Operation::read);
      if (!reads || table.open[row] < 0) continue;
      auto& of_open = folders[static_cast<std::size_t>(table.open[row])];
      if (of_open == nullptr) of_open = std::make_unique<pattern::Folder>();
      add_runs(*of_open, job, table, row);
    }
    table = {};
  }
  if (problem->empty() && !bad.empty()) *problem = bad.front().problem;
  std::vector<OpenReads> opens;
  for (std::size_t open = 0; open < folders.size(); ++open) {
    OpenReads& reads = opens.emplace_back();
    reads.file = job.files()[job.opens()[open].file];
    if (folders[open] != nullptr) reads.reads = folders[open]->finish();
  }
  return opens;
}

}  // namespace forebay::earlier
