// Serves one rank of another node, with all the files that it uses of this node's cache.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "agent/connection.h"
#include "agent/directory.h"
#include "agent/file_server.h"

namespace forebay::agent {

class RankServer {
 public:
  RankServer(Connection& connection, AgentState& agent) : connection_(connection), agent_(agent) {}
  // Receives a question and answers it. False: the rank has gone, or says what makes no sense.
  bool answer();
  // The agent to which the rank wants a tunnel, after answer() has returned false; or none.
  const FabricName& tunnel() const { return tunnel_; }
  // Ends the service of all its files, and its opens that the directory knows.
  void end();

 private:
  bool answer_of_directory(const Frame& asked);
  bool answer_of_keeper(const Frame& asked);
  bool answer_of_tunnel(const Frame& asked);
  bool is_enrolled(const FileKey& file) const;
  bool ask_directory(Ask ask, std::vector<std::byte>& bytes, int64_t* value);

  Connection& connection_;
  AgentState& agent_;
  std::unordered_map<uint64_t, std::unique_ptr<FileServer>> files_;  // by Frame::file
  std::vector<EnrolledOpen> enrolled_;                               // and not withdrawn
  FabricName tunnel_;
};

}  // namespace forebay::agent
