#include "agent/enrolled_file.h"

#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "agent/file_terms.h"
#include "agent/remote_file.h"

namespace forebay::agent {
namespace {

// While a file's owners change, an open asks again and again.
constexpr std::chrono::microseconds pause{500};
constexpr int attempts = 60'000;  // half a minute: a commit may be under way

template <typename Value>
std::span<const std::byte> bytes_of_one(const Value& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

Status EnrolledFile::enrol(std::shared_ptr<Line> directory, const Enrolment& enrolment,
                           Enrolled* answer, std::unique_ptr<EnrolledFile>* file) {
  std::unique_ptr<EnrolledFile> enrolled(new EnrolledFile(std::move(directory), enrolment.open()));
  std::vector<std::byte> bytes;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const Status status = enrolled->ask(Ask::enrol, enrolment.encoded(), &bytes);
    if (!status.ok()) return status;
    std::optional<Enrolled> understood = Enrolled::decoded(bytes);
    if (!understood) break;
    if (understood->changing) {
      enrolled->number_ = 0;  // it is not enrolled
      std::this_thread::sleep_for(pause);
      continue;
    }
    *answer = std::move(*understood);
    *file = std::move(enrolled);
    return {};
  }
  return {Code::network, 0, -1};
}

// The directory forgets the opens of a connection that has ended.
EnrolledFile::~EnrolledFile() {
  if (number_ == 0) return;
  std::vector<std::byte> answer;
  (void)ask(Ask::withdraw, bytes_of_one(open_), &answer);
}

Status EnrolledFile::ask(Ask ask, std::span<const std::byte> question,
                         std::vector<std::byte>* answer, int64_t* value) {
  const std::unique_lock turn = directory_->take();
  const bool enrols = ask == Ask::enrol;
  const bool known = directory_->connection().is_open() && directory_->number() == number_;
  if (!enrols && !known) return {Code::network, 0, -1};
  Status status = directory_->connect();
  Frame frame;
  frame.kind = static_cast<uint32_t>(ask);
  frame.bytes = std::ssize(question);
  if (status.ok()) status = directory_->connection().send(frame, std::span(&question, 1));
  if (status.ok()) status = directory_->connection().receive(&frame, answer);
  if (!status.ok()) {
    directory_->connection().close();
    return status;
  }
  if (enrols && frame.status().ok()) number_ = directory_->number();
  if (value != nullptr) *value = frame.value;
  return frame.status();
}

bool EnrolledFile::begin_change() {
  std::vector<std::byte> answer;
  int64_t alone = 0;
  return ask(Ask::begin_change, bytes_of_one(open_.file), &answer, &alone).ok() && alone != 0;
}

Status EnrolledFile::change_owners(const Owners& owners) {
  std::vector<std::byte> answer;
  return within_memory([&] {
    return ask(Ask::change_owners, NewOwners{open_.file, owners}.encoded(), &answer);
  });
}

Status EnrolledFile::tell(std::span<const Address> alone, const FileTerms& terms) {
  const auto shared = std::make_shared<const FileTerms>(terms);
  for (const Address& agent : alone) {
    RemoteFile file(Lines::of_process().to(agent), shared);
    Status status = file.begin(Ask::settle);
    if (status.ok()) status = file.end();
    if (status.ok()) status = file.begin(Ask::close);
    if (status.ok()) status = file.end();
    const bool gone = status.code == Code::network || status.code == Code::node_lost;
    if (!status.ok() && !gone) return status;
  }
  if (alone.empty()) return {};
  std::vector<std::byte> answer;
  return ask(Ask::note_told, bytes_of_one(open_.file), &answer);
}

Status EnrolledFile::end_copies() {
  std::vector<std::byte> answer;
  return ask(Ask::end_copies, bytes_of_one(open_.file), &answer);
}

}  // namespace forebay::agent
