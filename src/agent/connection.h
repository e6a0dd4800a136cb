// A connection between a rank and an agent: TCP, or a tunnel (src/fabric), whose ends are TCP. Both
// ends prove that they know the agent's key before anything else is said. Then frames go to and
// fro: a header, and bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "agent/address.h"
#include "extent/extent.h"
#include "extent/status.h"

namespace forebay::agent {

inline constexpr int64_t most_frame_bytes = 64 << 20;

// What is asked of a file that lives in another node's cache, and the answers. The numbers are part
// of the protocol.
enum class Ask : uint32_t {
  open,        // bytes: FileTerms; value: 1 if only Ask::owners follows for now. The first question
               // about a file.
  write,       // value: extents; bytes: the extents, then their data
  read,        // value: extents; bytes: the extents, then others that the node's ranks will read
               // next, in any order. Answer: data before the end of file, some of them in frames
               // `more` that come first
  read_held,   // the same, for pages of the asking node, for which the owner waits for nobody.
               // Answer's offset: the bytes that its cache held before
  size,        // answer's value: the file's size as this node knows it
  commit,      // what the node's cache holds; bytes: an Extent, or none for the whole file
  settle,      // the same, then forget the clean bytes
  forget,      // the clean bytes of the file
  flush,       // fsync
  truncate,    // value: forget the bytes at and beyond it
  own_change,  // the MPI library has changed the file past the caches
  close,       // value: 1 to discard. Answer: Statistics
  owners,      // bytes: an Extent; value: 1 + the node that claims its chunks, or 0. With domain
               // first-touch. Answer: an owner (uint32_t) of each chunk whose home this node is
  // To the agent that keeps the job's directory (directory.h), about a file that is not open there.
  enrol,          // bytes: Enrolment. Answer: Enrolled
  note_told,      // bytes: FileKey
  end_copies,     // bytes: FileKey
  withdraw,       // bytes: EnrolledOpen
  begin_change,   // bytes: FileKey. Answer's value: 1 if the owners may be changed
  change_owners,  // bytes: NewOwners
  keeper,         // of a handle, about which this agent keeps something. Bytes: KeeperQuestion
  tunnel,         // to the rank's own agent. Bytes: the FabricName of another, to which all that
                  // follows the answer is carried (src/fabric)
  answer = 64,    // to any of these
  moved,          // instead of an answer: another node owns bytes of the question
  more,           // bytes: the next part of the answer's
};

struct Frame {
  uint64_t file = 0;         // question: which file it is about, a number that the rank gave it
  uint32_t kind = 0;         // Ask
  uint32_t code = 0;         // answer: Code
  int64_t system_error = 0;  // answer: errno
  int64_t offset = -1;       // answer: the file offset that failed
  int64_t value = 0;
  int64_t bytes = 0;  // that follow
  int64_t steps = 0;  // answer: so many of type ToldStep are at the end of these bytes

  Status status() const {
    return {static_cast<Code>(code), static_cast<int>(system_error), offset};
  }
};

// Thread rule: one thread at a time.
class Connection {
 public:
  Connection() = default;
  explicit Connection(int socket) : socket_(socket) {}
  ~Connection() { close(); }
  Connection(Connection&& other) noexcept;
  Connection& operator=(Connection&& other) noexcept;

  // Calls the agent: tries the node's addresses in turn, and takes the first behind which somebody
  // proves to know the key. Code::network: there is none.
  static Status dial(const Address& agent, Connection* connection);
  // The same through the network that libfabric reaches: this node's agent `own` carries what both
  // ends say.
  static Status dial_through(const Address& own, const Address& agent, Connection* connection);
  // The agent's part of the proof, on a new connection. False: the caller does not know the key.
  bool prove(const Key& key);

  bool is_open() const { return socket_ >= 0; }
  int descriptor() const { return socket_; }
  // Leaves the socket to the caller.
  int release() { return std::exchange(socket_, -1); }
  void close();
  // Waits at most so long for the other end to send, or to leave. False: it did neither.
  bool await(int milliseconds) const;
  // Makes calls under way on other threads fail.
  void interrupt() const;

  // `parts` follow each other; their sum is frame.bytes.
  Status send(const Frame& frame, std::span<const std::span<const std::byte>> parts = {});
  // Waits for a frame. Code::node_lost: the other end has gone, or sends garbage.
  Status receive(Frame* frame, std::vector<std::byte>* bytes);
  // The same in two steps: the bytes that follow the frame may wait until there is room for them.
  Status receive_frame(Frame* frame);
  // They come after the first `kept` ones of *bytes.
  Status receive_bytes(const Frame& frame, std::vector<std::byte>* bytes, std::size_t kept = 0);

 private:
  bool prove_as_caller(const Key& key);
  bool send_all(std::span<const std::byte> bytes);
  bool receive_all(std::byte* bytes, std::size_t count);
  int socket_ = -1;
};

// A socket that listens on all addresses of the node, and its port. -1: errno says why there is
// none.
int listen_anywhere(int64_t* port);

}  // namespace forebay::agent
