#include "agent/remote_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "agent/file_terms.h"
#include "agent/told_steps.h"

namespace forebay::agent {

// The line is taken.
Status RemoteFile::open(bool in_cache) {
  Status status = line_->connect();
  if (!status.ok() || (file_ != 0 && number_ == line_->number())) return status;
  file_ = line_->new_file();
  number_ = line_->number();
  const std::vector<std::byte> terms = terms_->encoded();
  const std::span<const std::byte> part(terms);
  Frame frame;
  frame.kind = static_cast<uint32_t>(Ask::open);
  frame.value = in_cache ? 0 : 1;
  frame.bytes = static_cast<int64_t>(part.size());
  status = send(frame, std::span(&part, 1));
  if (status.ok()) status = receive_answer(&frame);
  if (status.ok()) status = frame.status();
  if (!status.ok()) file_ = 0;
  return status;
}

Status RemoteFile::send(Frame frame, std::span<const std::span<const std::byte>> parts) {
  frame.file = file_;
  const Status status = line_->connection().send(frame, parts);
  return status.ok() ? status : lost(status);
}

// Later questions dial anew, and open the file anew.
Status RemoteFile::lost(const Status& status) {
  line_->connection().close();
  file_ = 0;
  return status;
}

Status RemoteFile::ask(const Frame& frame, std::span<const std::span<const std::byte>> parts) {
  turn_ = line_->take();
  const bool asks_records = frame.kind == static_cast<uint32_t>(Ask::owners);
  Status status = open(!asks_records || terms_->options.deterministic);
  if (status.ok()) status = send(frame, parts);
  if (!status.ok()) turn_.unlock();
  return status;
}

// The answer may tell steps that used them.
Status RemoteFile::keep_extents(std::span<const Extent> extents) {
  if (!terms_->options.deterministic) return {};
  return within_memory([&] { extents_.assign(extents.begin(), extents.end()); });
}

Status RemoteFile::begin_write(std::span<const Extent> extents, std::span<const std::byte> data) {
  if (const Status kept = keep_extents(extents); !kept.ok()) return kept;
  const std::array parts{std::as_bytes(extents), data};
  Frame frame;
  frame.kind = static_cast<uint32_t>(Ask::write);
  frame.value = std::ssize(extents);
  frame.bytes = static_cast<int64_t>(parts[0].size() + parts[1].size());
  return ask(frame, parts);
}

Status RemoteFile::begin_read(std::span<const Extent> extents, Ask asked,
                              std::span<const Extent> foretold) {
  if (const Status kept = keep_extents(extents); !kept.ok()) return kept;
  const std::array<std::span<const std::byte>, 2> parts = {std::as_bytes(extents),
                                                           std::as_bytes(foretold)};
  Frame frame;
  frame.kind = static_cast<uint32_t>(asked);
  frame.value = std::ssize(extents);
  frame.bytes = static_cast<int64_t>(extents.size_bytes() + foretold.size_bytes());
  return ask(frame, parts);
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
    Status status = line_->connection().receive_frame(frame);
    if (status.ok()) status = line_->connection().receive_bytes(*frame, &answer_, answer_.size());
    if (!status.ok()) return lost(status);
  } while (frame->kind == static_cast<uint32_t>(Ask::more));
  return frame->steps == 0 ? Status() : take_steps(*frame);
}

// From the end of the answer.
Status RemoteFile::take_steps(const Frame& frame) {
  const auto most = static_cast<int64_t>(answer_.size() / sizeof(ToldStep));
  if (frame.steps < 0 || frame.steps > most) return lost({Code::node_lost, EPROTO, -1});
  const Status taken = within_memory([&] {
    std::vector<ToldStep> steps(static_cast<std::size_t>(frame.steps));
    const std::size_t bytes = steps.size() * sizeof(ToldStep);
    std::memcpy(steps.data(), answer_.data() + answer_.size() - bytes, bytes);
    answer_.resize(answer_.size() - bytes);
    note_told(steps, extents_, line_->cache());
  });
  return taken;
}

Status RemoteFile::end(int64_t* value) {
  Frame frame;
  const Status status = receive_answer(&frame);
  turn_.unlock();
  if (!status.ok()) return status;
  if (value != nullptr) *value = frame.value;
  held_bytes_ = std::max<int64_t>(frame.offset, 0);
  moved_ = frame.kind == static_cast<uint32_t>(Ask::moved);
  if (closing_ && answer_.size() == sizeof(Statistics)) {
    Statistics counted;
    std::memcpy(&counted, answer_.data(), sizeof counted);
    statistics_.add(counted);
    file_ = 0;
  }
  return frame.status();
}

}  // namespace forebay::agent
