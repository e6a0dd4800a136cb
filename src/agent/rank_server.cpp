#include "agent/rank_server.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

namespace forebay::agent {
namespace {

constexpr std::size_t most_files = 64 << 10;
constexpr int64_t most_enrolment_bytes = 16 << 20;

bool is_of_directory(const Frame& asked) {
  const auto ask = static_cast<Ask>(asked.kind);
  return ask >= Ask::enrol && ask <= Ask::change_owners;
}

// The value that is all of these bytes; empty: it is not.
template <typename Value>
std::optional<Value> only(std::span<const std::byte> bytes) {
  if (bytes.size() != sizeof(Value)) return std::nullopt;
  Value value{};
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

}  // namespace

void RankServer::end() {
  files_.clear();
  agent_.keeper.release_all(this);
  for (const EnrolledOpen& open : enrolled_) agent_.directory.withdraw(open);
  enrolled_.clear();
}

bool RankServer::is_enrolled(const FileKey& file) const {
  return std::ranges::find(enrolled_, file, &EnrolledOpen::file) != enrolled_.end();
}

// Replaces the bytes of the question by those of the answer. False: it makes no sense.
bool RankServer::ask_directory(Ask ask, std::vector<std::byte>& bytes, int64_t* value) {
  if (ask == Ask::enrol) {
    const std::optional<Enrolment> enrolment = Enrolment::decoded(bytes);
    if (!enrolment || enrolled_.size() >= most_files) return false;
    const Enrolled answer = agent_.directory.enrol(*enrolment);
    bytes = answer.encoded();
    if (!answer.changing) enrolled_.push_back(enrolment->open());
    return true;
  }
  if (ask == Ask::note_told || ask == Ask::end_copies || ask == Ask::begin_change) {
    const std::optional<FileKey> file = only<FileKey>(bytes);
    bytes.clear();
    if (!file) return false;
    if (ask == Ask::note_told)
      agent_.directory.note_told(*file);
    else if (ask == Ask::end_copies)
      agent_.directory.end_copies(*file);
    else
      *value = int64_t{is_enrolled(*file) && agent_.directory.begin_change(*file)};
    return true;
  }
  if (ask == Ask::change_owners) {
    const std::optional<NewOwners> changed = NewOwners::decoded(bytes);
    bytes.clear();
    if (!changed || !is_enrolled(changed->file)) return false;
    agent_.directory.change_owners(*changed);
    return true;
  }
  const std::optional<EnrolledOpen> open = only<EnrolledOpen>(bytes);
  if (!open) return false;
  const auto known = std::ranges::find(enrolled_, *open);
  if (known == enrolled_.end()) return false;
  enrolled_.erase(known);
  agent_.directory.withdraw(*open);
  bytes.clear();
  return true;
}

bool RankServer::answer_of_directory(const Frame& asked) {
  std::vector<std::byte> bytes;
  if (asked.bytes > most_enrolment_bytes || !connection_.receive_bytes(asked, &bytes).ok())
    return false;
  bool sensible = true;
  Frame answer;
  const Status status = within_memory(
      [&] { sensible = ask_directory(static_cast<Ask>(asked.kind), bytes, &answer.value); });
  if (!status.ok()) bytes.clear();
  answer.kind = static_cast<uint32_t>(Ask::answer);
  answer.code = static_cast<uint32_t>(status.code);
  answer.bytes = std::ssize(bytes);
  const std::span<const std::byte> part(bytes);
  return sensible && connection_.send(answer, std::span(&part, 1)).ok();
}

bool RankServer::answer_of_keeper(const Frame& asked) {
  std::vector<std::byte> bytes;
  if (asked.bytes != sizeof(KeeperQuestion) || !connection_.receive_bytes(asked, &bytes).ok())
    return false;
  const std::optional<KeeperQuestion> question = only<KeeperQuestion>(bytes);
  std::optional<int64_t> answered;
  Frame answer;
  answer.kind = static_cast<uint32_t>(Ask::answer);
  const Status status = within_memory([&] { answered = agent_.keeper.answer(*question, this); });
  answer.code = static_cast<uint32_t>(status.code);
  answer.value = answered.value_or(0);
  return (!status.ok() || answered) && connection_.send(answer).ok();
}

// Where there is a tunnel, its end answers.
bool RankServer::answer_of_tunnel(const Frame& asked) {
  std::vector<std::byte> bytes;
  if (asked.bytes != sizeof(FabricName) || !connection_.receive_bytes(asked, &bytes).ok())
    return false;
  const FabricName name = *only<FabricName>(bytes);
  if (!name.is_sensible()) return false;
  if (agent_.has_tunnels) {
    tunnel_ = name;
    return false;
  }
  Frame answer;
  answer.kind = static_cast<uint32_t>(Ask::answer);
  answer.code = static_cast<uint32_t>(Code::network);
  return connection_.send(answer).ok();
}

bool RankServer::answer() {
  Frame asked;
  if (!connection_.receive_frame(&asked).ok()) return false;
  if (static_cast<Ask>(asked.kind) == Ask::tunnel) return answer_of_tunnel(asked);
  if (static_cast<Ask>(asked.kind) == Ask::keeper) return answer_of_keeper(asked);
  if (is_of_directory(asked)) return answer_of_directory(asked);
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
