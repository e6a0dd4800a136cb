#include "earlier/earlier_reads.h"

#include <filesystem>
#include <memory>
#include <system_error>

#include "pattern/folder.h"
#include "runtime/trace/trace_reader.h"

namespace forebay::earlier {

namespace {

namespace fs = std::filesystem;

// The latest of the rank's traces in the folder; "": none.
std::string trace_of_rank(const std::string& folder, int64_t rank, std::error_code& error) {
  const std::string begin = std::to_string(rank) + "-";
  std::string found;
  fs::file_time_type when{};
  for (auto at = fs::directory_iterator(folder, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with(begin) || !name.ends_with(".trace")) continue;
    std::error_code unknown;
    const fs::file_time_type time = at->last_write_time(unknown);
    if (!found.empty() && time <= when) continue;
    found = at->path().string();
    when = time;
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
  std::error_code error;
  const std::string path = trace_of_rank(folder, rank, error);
  if (path.empty()) {
    *problem = error ? error.message() : "it has no trace of rank " + std::to_string(rank);
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
