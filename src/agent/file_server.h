// Carries out, in this node's cache, what a rank of another node asks of one file whose bytes the
// node owns.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "agent/claims.h"
#include "agent/connection.h"
#include "agent/directory.h"
#include "agent/file_terms.h"
#include "agent/handle_keeper.h"
#include "agent/message_memory.h"
#include "agent/owners.h"
#include "domain/file_domains.h"
#include "engine/cache_handle.h"
#include "runtime/cache/cached_file.h"

namespace forebay::agent {

// What the servers of an agent share.
struct AgentState {
  explicit AgentState(int64_t message_bytes) : memory(message_bytes) {}

  const Key key = random_key();  // also tells which of a file's owners this node is
  ClaimsOfFiles claims;
  Directory directory;  // of the job, if this agent keeps it
  HandleKeeper keeper;
  MessageMemory memory;
  bool has_tunnels = false;  // to agents that libfabric reaches; set before the first rank calls
};

class FileServer {
 public:
  FileServer(Connection& connection, AgentState& agent)
      : connection_(connection), agent_(agent), memory_(agent.memory) {}
  // What the rank wrote stays in the cache for the node's own ranks to commit; if none of them has
  // the file open any more, it is committed now.
  ~FileServer();
  FileServer(const FileServer&) = delete;
  FileServer& operator=(const FileServer&) = delete;
  // Answers a question, whose bytes have not been received yet. False: the rank has gone, or says
  // what makes no sense.
  bool answer(const Frame& asked);
  bool is_open() const { return terms_.has_value(); }

 private:
  Status carry_out(const Frame& asked);
  void release_memory();
  Status open(bool in_cache);
  Status open_in_cache();
  Status write(int64_t extents);
  Status read_and_fetch(int64_t extents);
  Status read(int64_t extents, bool held);
  Status read_piece(std::span<const Extent> piece, int64_t bytes, bool held, bool* ended);
  Status read_held(std::span<const Extent> piece, int64_t* moved);
  bool send_more();
  Status settle(bool forget);
  Status close(bool discard);
  Status tell_owners(int64_t claimer);
  // Whether no other node has claimed bytes of the extents.
  bool may_serve();
  // Takes the extent that is all of the question. False: it makes no sense.
  bool take_range(Extent* range);
  // Takes the extents at the beginning of the question. False: they make no sense.
  bool take_extents(int64_t count);

  Connection& connection_;
  AgentState& agent_;
  TakenMemory memory_;  // for asked_
  std::optional<FileTerms> terms_;
  std::unique_ptr<runtime::CachedFile> file_;
  FileDomains domains_;
  uint32_t self_ = Owners::none;
  std::shared_ptr<Claims> claims_;       // null: domain is not first-touch
  std::shared_ptr<OwnPart> own_part_;    // with claims_, as far as it was asked for
  bool read_unowned_ = false;            // as the home of bytes that no node had claimed
  std::vector<std::byte> asked_;         // the bytes of the question
  std::vector<Extent> extents_;          // of the question
  int64_t data_bytes_ = 0;               // in these extents
  int64_t value_ = 0;                    // of the answer
  int64_t held_bytes_ = -1;              // of a read_held that the cache held
  std::vector<std::byte> answer_;        // room for the bytes of answers
  std::span<const std::byte> answered_;  // the bytes of this answer
  Ask kind_ = Ask::answer;               // of the answer
  bool sensible_ = true;                 // the rank asks what an agent's client asks
};

}  // namespace forebay::agent
