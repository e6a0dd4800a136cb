// What the test tells a node's process to do, and what it hears back: over a socket pair, in the
// byte order of one machine.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "extent/status.h"

namespace forebay::test {

enum class Order : uint32_t {
  greet,       // answer's text: the address of the node's agent
  open,        // text: Opening, the owners, the path
  open_alone,  // the directory tells the owners; text: Opening, its agent's address, the path
  // The parts of an open of several ranks (mpiio/file/job_owners.cpp), between which others act.
  open_here,    // in the node's cache; count: 1 if all are on one node; text: as for open_alone;
                // answer's text: the owners that the cache knows
  enrol_alone,  // by the first of ranks of one node; count: how many they are
  enrol,     // by the first rank; text: Owners that it proposes; answer's text: those of the file;
             // its value: Said
  join,      // text: the owners; count: ranks on the node; answer's value: Said
  meet,      // count: 0, 1: a later open has found owners, or 2: others of the node use the file
  end_open,  // count: Said of all; ends_copies: to the first rank only
  withdraw,  // by the first rank, when all have closed
  write,     // at offset; text: the bytes
  read,      // `count` bytes at offset
  size,      // answer's value
  commit,    // everywhere; count: 1 to forget clean bytes afterwards
  flush,     // everywhere
  truncate,  // forget everywhere what lies at and beyond offset
  forget,    // everywhere, clean bytes
  bypass,    // runs of at least `count` bytes go past the caches
  change_prepare,  // the owners get other parts; text: FileDomains
  change_commit,   // by one rank of each node
  change,
  close_commits,  // the first half of a close: what all ranks do before any of them leaves
  close_leaves,   // the second half; count: 1 if `withdraw` is to follow
};

// What the directory says, or a rank finds out when it joins the owners; several may hold.
enum Said : uint32_t {
  has_others = 1,   // others have the file open
  has_news = 2,     // the node's cache had other owners, or none
  is_written = 4,   // somebody can write
  ends_copies = 8,  // the open is the first that can write
};

// Bytes of an access with a view: `run` bytes in each `stride`. 0: contiguous.
struct View {
  int64_t run = 0;
  int64_t stride = 0;
};

struct Command {
  Order order = Order::greet;
  uint32_t rank = 0;  // on the node
  int64_t offset = 0;
  int64_t count = 0;
  View view{};
  int64_t text = 0;  // bytes that follow
};

struct Reply {
  Code code = Code::ok;
  int32_t system_error = 0;
  int64_t value = 0;
  int64_t text = 0;  // bytes that follow
};

// How a rank opens the file; who tells the owners, and the path follow.
struct Opening {
  int64_t page_bytes = 0;
  int64_t cache_bytes = 0;
  int64_t bypass_bytes = 0;
  int64_t read_ahead_bytes = 0;
  int64_t write_behind = 0;
  int64_t read_only = 0;
  int64_t slow = 0;           // its storage takes its time to write, so that others come in between
  int64_t close_to_open = 0;  // its storage says that nodes' clients keep bytes
  int64_t owners = 0;         // bytes that tell them
  int64_t first_touch = 0;
  int64_t chunk_bytes = 0;
};

static_assert(std::is_trivially_copyable_v<Command> && std::is_trivially_copyable_v<Reply>);

// False: the other end has gone.
bool send_value(int socket, const void* value, std::size_t bytes);
bool receive_value(int socket, void* value, std::size_t bytes);

template <typename Header>
bool send_with_text(int socket, Header header, const std::string& text) {
  header.text = static_cast<int64_t>(text.size());
  return send_value(socket, &header, sizeof header) && send_value(socket, text.data(), text.size());
}

template <typename Header>
bool receive_with_text(int socket, Header* header, std::string* text) {
  if (!receive_value(socket, header, sizeof *header)) return false;
  text->resize(static_cast<std::size_t>(header->text));
  return receive_value(socket, text->data(), text->size());
}

// The node's process: carries out what comes over the socket until its end. `folder`: of its own,
// for its cache.
int play_node(int socket, const std::string& folder);

}  // namespace forebay::test
