// A file in the cache of another node, as one rank uses it through that node's agent. It is opened
// there at the first question.
//
// A question has two halves, so that a rank can ask several nodes at once: begin() takes the line
// to the agent and sends the question, and end() waits for the answer and gives the line back. A
// question that could not begin has no end. Thread rule: one thread at a time, and one question at
// a time; of several files they begin in the order that before() tells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "agent/connection.h"
#include "agent/line.h"
#include "agent/message_memory.h"
#include "engine/statistics.h"
#include "extent/extent.h"

namespace forebay::agent {

struct FileTerms;

class RemoteFile {
 public:
  RemoteFile(std::shared_ptr<Line> line, std::shared_ptr<const FileTerms> terms)
      : line_(std::move(line)), terms_(std::move(terms)) {}

  // For when it is opened the next time.
  void use(std::shared_ptr<const FileTerms> terms) { terms_ = std::move(terms); }
  // The agent's node has it open for this rank.
  bool is_open() const { return file_ != 0; }
  bool before(const RemoteFile& other) const { return std::less<>()(line_, other.line_); }
  // `extents` ascend; `data`: their bytes, in order.
  Status begin_write(std::span<const Extent> extents, std::span<const std::byte> data);
  // `foretold`: what this node's ranks will read after that; the owner may fetch it ahead.
  Status begin_read(std::span<const Extent> extents, Ask ask = Ask::read,
                    std::span<const Extent> foretold = {});
  Status begin(Ask ask, int64_t value = 0);
  Status begin(Ask ask, const Extent& range, int64_t value = 0);
  // The end of any of these; *value: of the answer.
  Status end(int64_t* value = nullptr);
  // The bytes of the latest answer: after a read, the data before the end of file.
  std::span<const std::byte> answer() const { return answer_; }
  // Keeps little of the memory for answers.
  void release_memory() { keep_little(answer_); }
  // How many of the bytes of the latest Ask::read_held the node's cache held.
  int64_t held_bytes() const { return held_bytes_; }
  // The latest answer was that bytes belong to another node.
  bool moved() const { return moved_; }

  // What the node's cache did for this rank; complete after a close.
  const Statistics& statistics() const { return statistics_; }

 private:
  // `in_cache`: not only in the agent's records of who owns what.
  Status open(bool in_cache);
  Status keep_extents(std::span<const Extent> extents);
  Status lost(const Status& status);
  Status send(Frame frame, std::span<const std::span<const std::byte>> parts);
  Status receive_answer(Frame* frame);
  Status take_steps(const Frame& frame);
  Status ask(const Frame& frame, std::span<const std::span<const std::byte>> parts);

  std::shared_ptr<Line> line_;
  std::shared_ptr<const FileTerms> terms_;
  std::unique_lock<std::mutex> turn_;  // on the line, while a question is under way
  uint64_t file_ = 0;                  // as the agent knows it
  uint64_t number_ = 0;                // of the connection over which it was opened
  std::vector<std::byte> answer_;
  Statistics statistics_;
  std::vector<Extent> extents_;  // of the question, if its steps are noted
  int64_t held_bytes_ = 0;
  bool closing_ = false;
  bool moved_ = false;
};

}  // namespace forebay::agent
