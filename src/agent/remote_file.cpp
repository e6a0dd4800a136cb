#include "agent/remote_file.h"

#include <array>
#include <cstring>

#include "agent/file_terms.h"

namespace forebay::agent {

Status RemoteFile::connect() {
  if (connection_.is_open()) return {};
  Status status = Connection::dial(agent_, &connection_);
  if (!status.ok()) return status;
  const std::vector<std::byte> terms = terms_->encoded();
  const std::span<const std::byte> part(terms);
  Frame frame;
  frame.kind = static_cast<uint32_t>(Ask::open);
  frame.bytes = static_cast<int64_t>(part.size());
  status = connection_.send(frame, std::span(&part, 1));
  if (status.ok()) status = end();
  if (!status.ok()) connection_.close();
  return status;
}

Status RemoteFile::ask(const Frame& frame, std::span<const std::span<const std::byte>> parts) {
  const Status status = connect();
  return status.ok() ? connection_.send(frame, parts) : status;
}

Status RemoteFile::begin_write(std::span<const Extent> extents, std::span<const std::byte> data) {
  const std::array parts{std::as_bytes(extents), data};
  Frame frame;
  frame.kind = static_cast<uint32_t>(Ask::write);
  frame.value = std::ssize(extents);
  frame.bytes = static_cast<int64_t>(parts[0].size() + parts[1].size());
  return ask(frame, parts);
}

Status RemoteFile::begin_read(std::span<const Extent> extents) {
  const std::span<const std::byte> part = std::as_bytes(extents);
  Frame frame;
  frame.kind = static_cast<uint32_t>(Ask::read);
  frame.value = std::ssize(extents);
  frame.bytes = static_cast<int64_t>(part.size());
  return ask(frame, std::span(&part, 1));
}

Status RemoteFile::begin(Ask asked, int64_t value) {
  closing_ = asked == Ask::close;
  Frame frame;
  frame.kind = static_cast<uint32_t>(asked);
  frame.value = value;
  return ask(frame, {});
}

Status RemoteFile::begin(Ask asked, const Extent& range, int64_t value) {
  const std::span<const std::byte> part = std::as_bytes(std::span(&range, 1));
  Frame frame;
  frame.kind = static_cast<uint32_t>(asked);
  frame.value = value;
  frame.bytes = static_cast<int64_t>(part.size());
  return ask(frame, std::span(&part, 1));
}

// An answer may come in several frames, of which the last is the answer proper.
Status RemoteFile::receive_answer(Frame* frame) {
  answer_.clear();
  do {
    Status status = connection_.receive_frame(frame);
    if (status.ok()) status = connection_.receive_bytes(*frame, &answer_, answer_.size());
    if (!status.ok()) return status;
  } while (frame->kind == static_cast<uint32_t>(Ask::more));
  return {};
}

Status RemoteFile::end(int64_t* value) {
  Frame frame;
  const Status status = receive_answer(&frame);
  if (!status.ok()) {
    connection_.close();
    return status;
  }
  if (value != nullptr) *value = frame.value;
  moved_ = frame.kind == static_cast<uint32_t>(Ask::moved);
  if (closing_ && answer_.size() == sizeof(Statistics)) {
    Statistics counted;
    std::memcpy(&counted, answer_.data(), sizeof counted);
    statistics_.add(counted);
    connection_.close();
  }
  return frame.status();
}

}  // namespace forebay::agent
