#include "agent/connection.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace forebay::agent {
namespace {

constexpr int dial_ms = 3000;    // for each address of a node
constexpr int proof_s = 5;       // for each message of the proof
constexpr int lost_ms = 30'000;  // a node is lost that confirms nothing for so long
constexpr std::size_t most_parts = 64;

// The first message of an agent, and what both ends prove. The number names the protocol and shows
// a foreign byte order.
constexpr uint64_t protocol = 0x46424159'00000006u;
enum class Speaker : uint64_t { caller = 1, agent = 2 };

struct Greeting {
  uint64_t protocol;
  Key nonce;
};

struct Proof {
  uint64_t protocol;
  Key nonce;  // the caller's
  Key hash;
};

Key proof_of(const Key& key, Speaker speaker, const Key& agents, const Key& callers) {
  const std::array<uint64_t, 6> said{
      protocol, static_cast<uint64_t>(speaker), agents[0], agents[1], callers[0], callers[1]};
  return keyed_hash(key, std::as_bytes(std::span(said)));
}

bool equal(const Key& a, const Key& b) { return ((a[0] ^ b[0]) | (a[1] ^ b[1])) == 0; }

template <typename Value>
std::span<const std::byte> bytes_of(const Value& value) {
  return std::as_bytes(std::span(&value, 1));
}

void set_option(int socket, int level, int name, int value) {
  (void)setsockopt(socket, level, name, &value, sizeof value);
}

// A frame must not wait for more, and a node that has gone must show.
void prepare(int socket) {
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 4);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, lost_ms);
}

void set_patience(int socket, int seconds) {
  const timeval time{seconds, 0};
  for (const int name : {SO_RCVTIMEO, SO_SNDTIMEO})
    (void)setsockopt(socket, SOL_SOCKET, name, &time, sizeof time);
}

// An address of either family, as the socket calls take it.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  SocketAddress(const Ip& ip, int64_t port) {
    in6_addr bytes{};
    std::memcpy(&bytes, ip.data(), sizeof bytes);
    const auto network_port = htons(static_cast<uint16_t>(port));
    if (IN6_IS_ADDR_V4MAPPED(&bytes)) {
      auto* four = reinterpret_cast<sockaddr_in*>(&storage);
      four->sin_family = AF_INET;
      four->sin_port = network_port;
      std::memcpy(&four->sin_addr, bytes.s6_addr + 12, sizeof four->sin_addr);
      size = sizeof *four;
    } else {
      auto* six = reinterpret_cast<sockaddr_in6*>(&storage);
      six->sin6_family = AF_INET6;
      six->sin6_port = network_port;
      six->sin6_addr = bytes;
      size = sizeof *six;
    }
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

// A connected socket, or -1.
int connect_to(const Ip& ip, int64_t port) {
  const SocketAddress address(ip, port);
  const int family = address.storage.ss_family;
  const int socket = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return -1;
  int error = 0;
  if (connect(socket, address.get(), address.size) != 0) error = errno;
  if (error == EINPROGRESS) {
    pollfd waiting{socket, POLLOUT, 0};
    int ready = 0;
    while ((ready = poll(&waiting, 1, dial_ms)) < 0 && errno == EINTR) {
    }
    socklen_t size = sizeof error;
    if (ready <= 0 || getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
      error = ETIMEDOUT;
  }
  if (error == 0) {
    const int flags = fcntl(socket, F_GETFL);
    if (flags >= 0 && fcntl(socket, F_SETFL, flags & ~O_NONBLOCK) == 0) return socket;
    error = errno;
  }
  ::close(socket);
  errno = error;
  return -1;
}

}  // namespace

Connection::Connection(Connection&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}

Connection& Connection::operator=(Connection&& other) noexcept {
  std::swap(socket_, other.socket_);
  return *this;
}

void Connection::close() {
  if (socket_ < 0) return;
  shutdown(socket_, SHUT_RDWR);  // also if a forked process has it, too
  ::close(std::exchange(socket_, -1));
}

void Connection::interrupt() const {
  if (socket_ >= 0) shutdown(socket_, SHUT_RDWR);
}

bool Connection::await(int milliseconds) const {
  pollfd waiting{socket_, POLLIN, 0};
  return poll(&waiting, 1, milliseconds) > 0;
}

Status Connection::dial(const Address& agent, Connection* connection) {
  int error = EADDRNOTAVAIL;
  for (const Ip& ip : agent.ips) {
    if (ip == Ip{}) continue;
    Connection tried(connect_to(ip, agent.port));
    if (!tried.is_open()) {
      error = errno;
    } else if (tried.prove_as_caller(agent.key)) {
      *connection = std::move(tried);
      return {};
    } else {
      error = EPROTO;
    }
  }
  return {Code::network, error, -1};
}

Status Connection::dial_through(const Address& own, const Address& agent, Connection* connection) {
  Connection tried;
  Status status = dial(own, &tried);
  if (!status.ok()) return status;
  set_patience(tried.socket_, proof_s);
  const std::span<const std::byte> name = bytes_of(agent.fabric);
  Frame frame;
  frame.kind = static_cast<uint32_t>(Ask::tunnel);
  frame.bytes = std::ssize(name);
  status = tried.send(frame, std::span(&name, 1));
  if (status.ok()) status = tried.receive_frame(&frame);
  if (status.ok()) status = frame.status();
  if (!status.ok()) return {Code::network, status.system_error, -1};
  if (!tried.prove_as_caller(agent.key)) return {Code::network, EPROTO, -1};
  *connection = std::move(tried);
  return {};
}

bool Connection::prove(const Key& key) {
  prepare(socket_);
  set_patience(socket_, proof_s);
  const Greeting greeting{protocol, random_key()};
  Proof theirs{};
  if (!send_all(bytes_of(greeting)) ||
      !receive_all(reinterpret_cast<std::byte*>(&theirs), sizeof theirs) ||
      theirs.protocol != protocol ||
      !equal(theirs.hash, proof_of(key, Speaker::caller, greeting.nonce, theirs.nonce)))
    return false;
  const Key mine = proof_of(key, Speaker::agent, greeting.nonce, theirs.nonce);
  if (!send_all(bytes_of(mine))) return false;
  set_patience(socket_, 0);
  return true;
}

bool Connection::prove_as_caller(const Key& key) {
  prepare(socket_);
  set_patience(socket_, proof_s);
  Greeting greeting{};
  if (!receive_all(reinterpret_cast<std::byte*>(&greeting), sizeof greeting) ||
      greeting.protocol != protocol)
    return false;
  Proof mine{protocol, random_key(), {}};
  mine.hash = proof_of(key, Speaker::caller, greeting.nonce, mine.nonce);
  Key theirs{};
  if (!send_all(bytes_of(mine)) ||
      !receive_all(reinterpret_cast<std::byte*>(&theirs), sizeof theirs) ||
      !equal(theirs, proof_of(key, Speaker::agent, greeting.nonce, mine.nonce)))
    return false;
  set_patience(socket_, 0);
  return true;
}

bool Connection::send_all(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return true;
}

bool Connection::receive_all(std::byte* bytes, std::size_t count) {
  while (count > 0) {
    const ssize_t got = recv(socket_, bytes, count, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    count -= static_cast<std::size_t>(got);
  }
  return true;
}

Status Connection::send(const Frame& frame, std::span<const std::span<const std::byte>> parts) {
  std::array<iovec, most_parts> pieces;
  std::size_t count = 0;
  const auto add = [&](std::span<const std::byte> part) {
    pieces[count++] = {const_cast<std::byte*>(part.data()), part.size()};
  };
  add(bytes_of(frame));
  for (const std::span<const std::byte> part : parts) add(part);
  std::size_t first = 0;
  while (first < count) {
    msghdr message{};
    message.msg_iov = &pieces[first];
    message.msg_iovlen = count - first;
    const ssize_t sent = sendmsg(socket_, &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return {Code::node_lost, errno, -1};
    auto left = static_cast<std::size_t>(sent);
    while (first < count && left >= pieces[first].iov_len) left -= pieces[first++].iov_len;
    if (first < count) {
      pieces[first].iov_base = static_cast<std::byte*>(pieces[first].iov_base) + left;
      pieces[first].iov_len -= left;
    }
  }
  return {};
}

Status Connection::receive(Frame* frame, std::vector<std::byte>* bytes) {
  const Status status = receive_frame(frame);
  return status.ok() ? receive_bytes(*frame, bytes) : status;
}

Status Connection::receive_frame(Frame* frame) {
  const bool sensible = receive_all(reinterpret_cast<std::byte*>(frame), sizeof *frame) &&
                        frame->bytes >= 0 && frame->bytes <= most_frame_bytes;
  return sensible ? Status() : Status{Code::node_lost, 0, -1};
}

Status Connection::receive_bytes(const Frame& frame, std::vector<std::byte>* bytes,
                                 std::size_t kept) {
  const auto count = static_cast<std::size_t>(frame.bytes);
  const Status lost{Code::node_lost, 0, -1};
  if (kept + count > most_frame_bytes) return lost;
  const Status had_memory = within_memory([&] { bytes->resize(kept + count); });
  if (!had_memory.ok()) return had_memory;
  return receive_all(bytes->data() + kept, count) ? Status() : lost;
}

namespace {

int listen_on(const Ip& any, int64_t* port) {
  SocketAddress address(any, 0);
  const int socket = ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return -1;
  if (address.storage.ss_family == AF_INET6) set_option(socket, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (bind(socket, address.get(), address.size) == 0 && listen(socket, SOMAXCONN) == 0 &&
      getsockname(socket, reinterpret_cast<sockaddr*>(&address.storage), &address.size) == 0) {
    const in_port_t found = address.storage.ss_family == AF_INET6
                                ? reinterpret_cast<sockaddr_in6*>(&address.storage)->sin6_port
                                : reinterpret_cast<sockaddr_in*>(&address.storage)->sin_port;
    *port = ntohs(found);
    return socket;
  }
  const int error = errno;
  ::close(socket);
  errno = error;
  return -1;
}

}  // namespace

int listen_anywhere(int64_t* port) {
  // A socket for IPv6 takes IPv4, too. A node may have no IPv6 at all.
  const int both = listen_on(Ip{}, port);
  if (both >= 0) return both;
  Ip any_four{};
  const std::array<uint8_t, 16> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0};
  std::memcpy(any_four.data(), mapped.data(), sizeof any_four);
  return listen_on(any_four, port);
}

}  // namespace forebay::agent
