// Serves one rank of another node, with all the files that it uses of this node's cache.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "agent/connection.h"
#include "agent/file_server.h"

namespace forebay::agent {

class RankServer {
 public:
  RankServer(Connection& connection, AgentState& agent) : connection_(connection), agent_(agent) {}
  // Receives a question and answers it. False: the rank has gone, or says what makes no sense.
  bool answer();
  // Ends the service of all its files.
  void end() { files_.clear(); }

 private:
  Connection& connection_;
  AgentState& agent_;
  std::unordered_map<uint64_t, std::unique_ptr<FileServer>> files_;  // by Frame::file
};

}  // namespace forebay::agent
