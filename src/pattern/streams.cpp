#include "pattern/streams.h"

namespace forebay::pattern {

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
