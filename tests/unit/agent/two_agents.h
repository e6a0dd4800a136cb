// A file of two nodes in one process: the agents of both, over the loopback.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "agent/agent.h"
#include "agent/file_terms.h"
#include "agent/line.h"
#include "agent/owners.h"
#include "agent/remote_file.h"
#include "runtime/cache/cached_file.h"
#include "unit/temporary_file.h"

namespace forebay::agent {

using runtime::CachedFile;
using runtime::OpenMode;

inline constexpr int64_t page = 4096;

inline Options small_options() {
  Options options;
  options.scope = Scope::job;
  options.page_size_bytes = page;
  options.cache_size_bytes = 16 * page;
  options.step_aside = StepAside::never;
  options.write_behind = false;  // to the thread sanitizer a write beside a commit is a race
  return options;
}

inline Address address_of(const Agent& agent) {
  Address address = own_address();
  address.port = agent.port();
  address.key = agent.key();
  return address;
}

inline bool soon(const std::function<bool()>& holds) {
  for (int attempt = 0; attempt < 2000 && !holds(); ++attempt) poll(nullptr, 0, 5);
  return holds();
}

class AgentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(agent_.start());
    own_agent_ = std::make_unique<Agent>();
    ASSERT_TRUE(own_agent_->start());
  }
  FileDomains domains() const {
    const FileDomains in_turn(0, page, 2);
    return first_touch_ ? in_turn.by_first_touch() : in_turn;
  }
  // Two, of which this node is the second: pages belong to them in turn, or as nodes claim them.
  Owners owners() const { return {domains(), {address_of(agent_), address_of(*own_agent_)}}; }
  std::shared_ptr<const FileTerms> terms() const {
    auto terms = std::make_shared<FileTerms>();
    terms->path = disk_.path();
    terms->mode = OpenMode::read_write;
    terms->options = small_options();
    terms->owners = owners().encoded();
    return terms;
  }
  // As that of another process.
  std::shared_ptr<Line> line() const { return std::make_shared<Line>(address_of(agent_)); }
  RemoteFile remote() const { return RemoteFile(line(), terms()); }
  std::string stored() const { return disk_.content(); }

  test::TemporaryFile disk_;
  bool first_touch_ = false;
  Agent agent_;  // of the other node
  std::unique_ptr<Agent> own_agent_;
};

inline std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace forebay::agent
