#include "agent/rank_server.h"

namespace forebay::agent {
namespace {

constexpr std::size_t most_files = 64 << 10;

}  // namespace

bool RankServer::answer() {
  Frame asked;
  if (!connection_.receive_frame(&asked).ok()) return false;
  FileServer* file = nullptr;
  const Status had_memory = within_memory([&] {
    std::unique_ptr<FileServer>& known = files_[asked.file];
    if (known == nullptr) known = std::make_unique<FileServer>(connection_, agent_);
    file = known.get();
  });
  if (!had_memory.ok() || files_.size() > most_files) return false;
  const bool goes_on = file->answer(asked);
  if (!file->is_open()) files_.erase(asked.file);
  return goes_on;
}

}  // namespace forebay::agent
