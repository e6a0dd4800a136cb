#include "pattern/streams.h"

#include "trace/routine.h"
#include "trace/table.h"

namespace forebay::pattern {

uint64_t Streams::add(const StreamColumns& columns) {
  uint64_t unplaced = 0;
  for (std::size_t i = 0; i < columns.process.size(); ++i) {
    const auto what = static_cast<trace::Operation>(columns.operation[i]);
    if (what != trace::Operation::read && what != trace::Operation::write) continue;
    if (columns.size[i] == 0) continue;
    if (columns.offset[i] < 0) {
      ++unplaced;
      continue;
    }
    const auto known = [&](int64_t ns) {
      return ns == trace::no_time || columns.folded[i] != 0 ? unknown_time : ns;
    };
    of(columns.process[i], columns.thread[i], columns.file[i])
        .add({columns.offset[i], columns.size[i], static_cast<uint8_t>(columns.routine[i])},
             known(columns.start_ns[i]), known(columns.end_ns[i]));
  }
  return unplaced;
}

std::vector<Stream> Streams::finish() {
  std::vector<Stream> streams;
  streams.reserve(folders_.size());
  for (auto& [key, folder] : folders_) {
    const auto [process, thread, file] = key;
    streams.push_back({process, thread, file, folder.finish()});
  }
  folders_.clear();
  latest_ = nullptr;
  return streams;
}

}  // namespace forebay::pattern
