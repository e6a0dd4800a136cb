// A node's end of a network that carries messages between agents. The messages of one node to
// another arrive in order, once; if one does not, a loss is told, and none of the later ones
// arrives until the sender forgets the peer.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "agent/address.h"

namespace forebay::fabric {

using agent::FabricName;

// A node that this one sends to: a number that its Fabric gave it.
using Peer = uint32_t;

inline constexpr std::size_t most_message_bytes = 64 << 10;

class Fabric {
 public:
  struct Event {
    enum class Kind { message, lost };
    Kind kind = Kind::message;
    std::span<const std::byte> bytes;  // message: valid until the next call of next()
    Peer peer = 0;                     // lost: what was sent to it has not arrived
  };

  Fabric() = default;
  virtual ~Fabric() = default;
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  virtual const FabricName& name() const = 0;
  // How it reaches others, for users.
  virtual std::string description() const = 0;
  // The node of that name. Empty: it makes no sense here.
  virtual std::optional<Peer> peer(const FabricName& name) = 0;

  // Room for a message, of at most most_message_bytes, to the peer, until send() or the next
  // room(). Empty: there is none now, and next() must be called. `urgent`: also of the last room,
  // which is kept for messages that make more of it.
  virtual std::span<std::byte> room(Peer to, bool urgent) = 0;
  // Sends the first bytes of that room.
  virtual void send(Peer to, std::size_t bytes) = 0;
  // What has happened; empty: no more for now.
  virtual std::optional<Event> next() = 0;
  // Drops what has not been sent to the peer yet. What is sent later arrives in order again, though
  // messages before it were lost.
  virtual void forget(Peer peer) = 0;
  // Whether messages have not left yet.
  virtual bool sends() const = 0;

  // Becomes readable when there is something for next(). -1: there is no such descriptor.
  virtual int descriptor() const = 0;
  // How long to wait for the descriptor before next() is called again, in ms; 0: not at all.
  virtual int patience_ms() = 0;
};

}  // namespace forebay::fabric
