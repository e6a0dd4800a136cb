// A file in the cache of another node, as one rank uses it through that node's agent. It is
// connected at the first question.
//
// A question has two halves, so that a rank can ask several nodes at once: begin() sends it, and
// end() waits for the answer. Thread rule: one thread at a time; questions end in the order in
// which they began, and there is one at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "agent/connection.h"
#include "agent/message_memory.h"
#include "engine/statistics.h"
#include "extent/extent.h"

namespace forebay::agent {

struct FileTerms;

class RemoteFile {
 public:
  RemoteFile(const Address& agent, std::shared_ptr<const FileTerms> terms)
      : agent_(agent), terms_(std::move(terms)) {}

  bool connected() const { return connection_.is_open(); }
  // `extents` ascend; `data`: their bytes, in order.
  Status begin_write(std::span<const Extent> extents, std::span<const std::byte> data);
  Status begin_read(std::span<const Extent> extents);
  Status begin(Ask ask, int64_t value = 0);
  Status begin(Ask ask, const Extent& range, int64_t value = 0);
  // The end of any of these; *value: of the answer.
  Status end(int64_t* value = nullptr);
  // The bytes of the latest answer: after a read, the data before the end of file.
  std::span<const std::byte> answer() const { return answer_; }
  // Keeps little of the memory for answers.
  void release_memory() { keep_little(answer_); }
  // The latest answer was that bytes belong to another node.
  bool moved() const { return moved_; }

  // What the node's cache did for this rank; complete after a close.
  const Statistics& statistics() const { return statistics_; }

 private:
  Status connect();
  Status receive_answer(Frame* frame);
  Status ask(const Frame& frame, std::span<const std::span<const std::byte>> parts);

  Address agent_;
  std::shared_ptr<const FileTerms> terms_;
  Connection connection_;
  std::vector<std::byte> answer_;
  Statistics statistics_;
  bool closing_ = false;
  bool moved_ = false;
};

}  // namespace forebay::agent
