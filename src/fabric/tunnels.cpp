#include "fabric/tunnels.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <optional>
#include <type_traits>

#include "agent/connection.h"
#include "extent/status.h"

namespace forebay::fabric {
namespace {

// Names the protocol, and shows a foreign byte order.
constexpr uint64_t protocol = 0x46425455'00000001u;
constexpr int64_t window_bytes = 256 << 10;  // that an end takes before its socket has taken them
constexpr std::size_t most_ends = 64 << 10;
constexpr int hungry_ms = 1;
// What epoll says of the fabric's descriptor and of wake_. No end has such a number.
constexpr uint64_t fabric_event = 0;
constexpr uint64_t wake_event = 1;
constexpr uint64_t first_number = 16;

void close_socket(int& socket) {
  if (socket >= 0) close(std::exchange(socket, -1));
}

template <typename Value>
std::span<const std::byte> bytes_of(const Value& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

struct Tunnels::Head {
  uint64_t protocol = fabric::protocol;
  Kind kind = Kind::data;
  uint32_t bytes = 0;  // that follow
  uint64_t to = 0;     // number of the end at the receiver; open: none
  uint64_t from = 0;   // open, opened: number of the end at the sender
  uint64_t value = 0;  // credit: bytes
};

Tunnels::Tunnels(std::unique_ptr<Fabric> fabric, int64_t port, Times times)
    : fabric_(std::move(fabric)), port_(port), times_(times) {}

Tunnels::~Tunnels() {
  stopping_.store(true);
  const uint64_t one = 1;
  if (wake_ >= 0) (void)!write(wake_, &one, sizeof one);
  if (thread_.joinable()) thread_.join();
  for (auto& [number, end] : ends_) close_socket(end.socket);
  for (auto& [socket, to] : new_) close_socket(socket);
  close_socket(events_);
  close_socket(wake_);
}

bool Tunnels::start() {
  events_ = epoll_create1(EPOLL_CLOEXEC);
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (events_ < 0 || wake_ < 0) return false;
  const auto add = [this](int descriptor, uint64_t what) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = what;
    return epoll_ctl(events_, EPOLL_CTL_ADD, descriptor, &event) == 0;
  };
  const int descriptor = fabric_->descriptor();
  if (!add(wake_, wake_event) || (descriptor >= 0 && !add(descriptor, fabric_event))) return false;
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::exception&) {
    return false;
  }
  return true;
}

void Tunnels::begin(int socket, const FabricName& to) {
  const Status status = within_memory([&] {
    const std::lock_guard guard(mutex_);
    new_.emplace_back(socket, to);
  });
  if (!status.ok()) close(socket);
  const uint64_t one = 1;
  (void)!write(wake_, &one, sizeof one);
}

// The thread --------------------------------------------------------------------------------------

void Tunnels::work() {
  while (!stopping_.load()) {
    // What there is no memory for is tried again, or its tunnel falls silent.
    if (!within_memory([this] { take_turn(); }).ok()) poll(nullptr, 0, hungry_ms);
  }
  (void)within_memory([this] { end_all(); });
}

void Tunnels::take_turn() {
  hear();
  take_new();
  pay_owed();
  for (const uint64_t number : std::exchange(starved_, {})) on_socket(number, EPOLLIN);
  look_at_times();
  int patience_ms = fabric_->patience_ms();
  if (!owing_.empty() || !starved_.empty()) patience_ms = std::min(patience_ms, hungry_ms);
  std::array<epoll_event, 64> events;
  const int found = epoll_wait(events_, events.data(), std::ssize(events), patience_ms);
  for (int i = 0; i < found; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    uint64_t woken = 0;
    if (event.data.u64 == wake_event) (void)!read(wake_, &woken, sizeof woken);
    if (event.data.u64 >= first_number) on_socket(event.data.u64, event.events);
  }
}

void Tunnels::hear() {
  while (const std::optional<Fabric::Event> event = fabric_->next()) {
    if (event->kind == Fabric::Event::Kind::lost)
      lose(event->peer);
    else
      receive(event->bytes);
  }
}

// Without this node's farewell others would take it for silent, and wait.
void Tunnels::end_all() {
  const Clock::time_point until = Clock::now() + times_.farewell;
  std::vector<uint64_t> numbers;
  for (const auto& [number, end] : ends_) numbers.push_back(number);
  for (const uint64_t number : numbers) close_here(number, ends_.at(number));
  while ((!owing_.empty() || fabric_->sends()) && Clock::now() < until) {
    pay_owed();
    hear();
    if (fabric_->sends()) poll(nullptr, 0, hungry_ms);
  }
}

// Begins the tunnels that ranks want.
void Tunnels::take_new() {
  std::vector<std::pair<int, FabricName>> wanted;
  {
    const std::lock_guard guard(mutex_);
    wanted.swap(new_);
  }
  for (const auto& [socket, to] : wanted) {
    End end;
    end.socket = socket;
    const int flags = fcntl(socket, F_GETFL);
    const std::optional<Peer> peer = fabric_->peer(to);
    if (flags < 0 || fcntl(socket, F_SETFL, flags | O_NONBLOCK) != 0 || !peer) {
      answer_rank(0, end, false);
      close_socket(end.socket);
      continue;
    }
    end.peer = *peer;
    end.owed.open = true;
    owe(remember(std::move(end)));
  }
}

// Returns the number under which others name the end.
uint64_t Tunnels::remember(End&& end) {
  uint64_t number = 0;
  while (number < first_number || ends_.contains(number)) number = agent::random_key()[0];
  end.began = Clock::now();
  heard_.try_emplace(end.peer, end.began);
  End& kept = ends_.emplace(number, std::move(end)).first->second;
  epoll_event event{};
  event.data.u64 = number;
  if (kept.socket >= 0) (void)epoll_ctl(events_, EPOLL_CTL_ADD, kept.socket, &event);
  open_.store(std::ssize(ends_));
  return number;
}

void Tunnels::forget(uint64_t number) {
  const auto found = ends_.find(number);
  if (found == ends_.end()) return;
  close_socket(found->second.socket);
  ends_.erase(found);
  owing_.erase(number);
  starved_.erase(number);
  open_.store(std::ssize(ends_));
}

// The peer is lost, or a message to it. If the peer lives, it hears that its ends have closed.
void Tunnels::lose(Peer peer) {
  fabric_->forget(peer);
  heard_.erase(peer);
  std::vector<uint64_t> numbers;
  for (const auto& [number, end] : ends_) {
    if (end.peer == peer) numbers.push_back(number);
  }
  for (const uint64_t number : numbers) {
    End& end = ends_.at(number);
    if (end.other == 0) answer_rank(number, end, false);
    if (end.other != 0 && end.socket >= 0)
      close_here(number, end);
    else
      forget(number);
  }
}

void Tunnels::look_at_times() {
  const Clock::time_point now = Clock::now();
  if (now - looked_ < std::min(times_.opening, times_.silence) / 4) return;
  looked_ = now;
  std::unordered_map<Peer, uint64_t> asked;  // an end of each peer
  std::vector<uint64_t> unanswered;
  for (const auto& [number, end] : ends_) {
    if (end.other == 0) {
      if (now - end.began > times_.opening) unanswered.push_back(number);
      asked.try_emplace(end.peer, 0);
    } else {
      asked[end.peer] = number;
    }
  }
  for (const uint64_t number : unanswered) {
    answer_rank(number, ends_.at(number), false);
    forget(number);
  }
  std::vector<Peer> lost;
  std::erase_if(heard_, [&](const auto& heard) { return !asked.contains(heard.first); });
  for (const auto& [peer, heard] : heard_) {
    const auto silent = now - heard;
    const uint64_t number = asked.at(peer);
    if (silent > times_.lost) lost.push_back(peer);
    if (silent <= times_.silence || number == 0) continue;
    ends_.at(number).owed.ask_alive = true;
    owe(number);
  }
  for (const Peer peer : lost) lose(peer);
}

// What other agents say ---------------------------------------------------------------------------

void Tunnels::receive(std::span<const std::byte> message) {
  Head head;
  if (message.size() >= sizeof head) std::memcpy(&head, message.data(), sizeof head);
  if (message.size() < sizeof head || head.protocol != protocol || head.kind < Kind::open ||
      head.kind > Kind::alive || head.bytes != message.size() - sizeof head) {
    ++dropped_;
    return;
  }
  const std::span<const std::byte> bytes = message.subspan(sizeof head);
  if (head.kind == Kind::open) return receive_open(head, bytes);
  const auto found = ends_.find(head.to);
  if (found == ends_.end()) return;  // it has closed meanwhile
  heard_[found->second.peer] = Clock::now();
  receive_for(head.to, found->second, head, bytes);
}

// A rank of another node wants to reach this node's agent.
void Tunnels::receive_open(const Head& head, std::span<const std::byte> bytes) {
  FabricName name;
  if (bytes.size() == sizeof name) std::memcpy(&name, bytes.data(), sizeof name);
  const std::optional<Peer> peer = name.is_sensible() ? fabric_->peer(name) : std::nullopt;
  if (!peer || head.from == 0 || ends_.size() >= most_ends) {
    ++dropped_;
    return;
  }
  End end;
  end.socket = call_agent();
  end.peer = *peer;
  end.other = head.from;
  end.credit = window_bytes;
  end.owed.opened = end.socket >= 0;
  end.owed.close = end.socket < 0;
  const uint64_t number = remember(std::move(end));
  watch(number, ends_.at(number));
  owe(number);
}

// A socket that leads to this node's agent; it need not be connected yet.
int Tunnels::call_agent() const {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return -1;
  const int on = 1;
  (void)setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port_));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int error = connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (error == 0 || errno == EINPROGRESS) return socket;
  close(socket);
  return -1;
}

void Tunnels::receive_for(uint64_t number, End& end, const Head& head,
                          std::span<const std::byte> bytes) {
  const auto held = std::ssize(end.to_socket) - static_cast<int64_t>(end.written);
  bool sensible = end.other != 0;
  switch (head.kind) {
    case Kind::opened:
      sensible = end.other == 0 && head.from != 0;
      if (!sensible) break;
      end.other = head.from;
      if (end.socket < 0) {
        end.owed.close = true;
        owe(number);
        return;
      }
      end.credit = window_bytes;
      return answer_rank(number, end, true);
    case Kind::data:
      sensible = sensible && held + std::ssize(bytes) <= window_bytes;
      if (sensible && end.socket >= 0) return give(number, end, bytes);
      break;
    case Kind::credit:
      sensible = sensible && head.value <= static_cast<uint64_t>(window_bytes - end.credit);
      if (!sensible) break;
      end.credit += static_cast<int64_t>(head.value);
      return watch(number, end);
    case Kind::close:
      end.closed_there = true;
      if (end.other == 0) answer_rank(number, end, false);
      if (end.other != 0 && end.socket >= 0 && held > 0) return watch(number, end);
      return forget(number);
    case Kind::ask_alive:
      end.owed.alive = true;
      owe(number);
      return;
    case Kind::alive:
    case Kind::open:
      return;
  }
  if (sensible) return;
  ++dropped_;
  close_here(number, end);
}

// The sockets -------------------------------------------------------------------------------------

// What a rank that asked for a tunnel receives first.
void Tunnels::answer_rank(uint64_t number, End& end, bool reached) {
  agent::Frame answer;
  answer.kind = static_cast<uint32_t>(agent::Ask::answer);
  answer.code = static_cast<uint32_t>(reached ? Code::ok : Code::network);
  if (!reached) {
    if (end.socket >= 0) (void)send(end.socket, &answer, sizeof answer, MSG_NOSIGNAL);
    return;
  }
  end.taken = -std::ssize(bytes_of(answer));  // the other end has not sent these
  give(number, end, bytes_of(answer));
}

void Tunnels::on_socket(uint64_t number, uint32_t events) {
  const auto found = ends_.find(number);
  if (found == ends_.end() || found->second.socket < 0) return;
  End& end = found->second;
  if ((events & EPOLLOUT) != 0) {
    write_socket(number, end);
    if (!ends_.contains(number) || end.socket < 0) return;
  }
  const bool wants = end.other != 0 && end.credit > 0 && !end.closed_there;
  if (wants && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
    if (!read_socket(number, end)) return;
  } else if ((events & (EPOLLHUP | EPOLLERR)) != 0) {
    return close_here(number, end);
  }
  watch(number, end);
}

// Sends what the socket has, as far as there is room. False: the socket has closed.
bool Tunnels::read_socket(uint64_t number, End& end) {
  while (end.credit > 0) {
    const std::span<std::byte> room = fabric_->room(end.peer, false);
    if (room.empty()) {
      starved_.insert(number);
      return true;
    }
    Head head;
    const std::size_t most =
        std::min(room.size() - sizeof head, static_cast<std::size_t>(end.credit));
    const ssize_t got = recv(end.socket, room.data() + sizeof head, most, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return true;
    if (got <= 0) {
      close_here(number, end);
      return false;
    }
    head.bytes = static_cast<uint32_t>(got);
    head.to = end.other;
    std::memcpy(room.data(), &head, sizeof head);
    end.credit -= got;
    fabric_->send(end.peer, sizeof head + static_cast<std::size_t>(got));
    if (static_cast<std::size_t>(got) < most) return true;
  }
  return true;
}

// Hands bytes that have come to the socket; those that it does not take now wait.
void Tunnels::give(uint64_t number, End& end, std::span<const std::byte> bytes) {
  const Status status = within_memory([&] {
    if (end.written >= static_cast<std::size_t>(window_bytes)) {  // the socket is always behind
      const auto begin = end.to_socket.begin();
      end.to_socket.erase(begin, begin + static_cast<std::ptrdiff_t>(end.written));
      end.written = 0;
    }
    end.to_socket.insert(end.to_socket.end(), bytes.begin(), bytes.end());
    most_kept_.store(std::max(most_kept_.load(), int64_t{std::ssize(end.to_socket)}));
  });
  if (!status.ok()) return close_here(number, end);
  write_socket(number, end);
  const auto found = ends_.find(number);
  if (found != ends_.end()) watch(number, found->second);
}

void Tunnels::write_socket(uint64_t number, End& end) {
  while (end.written < end.to_socket.size()) {
    const ssize_t sent = send(end.socket, end.to_socket.data() + end.written,
                              end.to_socket.size() - end.written, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) break;
    if (sent < 0) return close_here(number, end);
    end.written += static_cast<std::size_t>(sent);
    end.taken += sent;
  }
  if (end.written == end.to_socket.size()) {
    end.to_socket.clear();
    end.written = 0;
    if (end.closed_there) return forget(number);
  }
  if (end.taken < window_bytes / 2) return;
  end.owed.credit += std::exchange(end.taken, 0);
  owe(number);
}

// The socket has closed, or what came for it made no sense.
void Tunnels::close_here(uint64_t number, End& end) {
  close_socket(end.socket);
  const bool opened = end.other != 0;
  if (end.closed_there || (!opened && end.owed.open)) return forget(number);
  end.to_socket = {};
  end.written = 0;
  end.watched = 0;
  end.owed = {};
  end.owed.close = opened;  // else once the other end has answered
  if (opened) owe(number);
}

// Lets epoll tell of what the end can use.
void Tunnels::watch(uint64_t number, End& end) {
  if (end.socket < 0) return;
  uint32_t wanted = 0;
  const bool reads = end.other != 0 && end.credit > 0 && !end.closed_there;
  if (reads && !starved_.contains(number)) wanted |= EPOLLIN;
  if (end.written < end.to_socket.size()) wanted |= EPOLLOUT;
  if (wanted == end.watched) return;
  epoll_event event{};
  event.events = wanted;
  event.data.u64 = number;
  if (epoll_ctl(events_, EPOLL_CTL_MOD, end.socket, &event) == 0) end.watched = wanted;
}

// What ends tell each other -----------------------------------------------------------------------

void Tunnels::pay_owed() {
  for (auto at = owing_.begin(); at != owing_.end();) {
    const uint64_t number = *at++;  // pay() may forget it
    const auto found = ends_.find(number);
    if (found == ends_.end() || pay(found->second, number)) owing_.erase(number);
  }
}

// False: there was no room for all of it.
bool Tunnels::pay(End& end, uint64_t number) {
  Owed& owed = end.owed;
  const auto paid = [&](bool& due, Kind kind) {
    if (due && !tell(end, number, kind, 0)) return false;
    due = false;
    return true;
  };
  if (!paid(owed.open, Kind::open)) return false;
  if (end.other == 0) return true;
  if (!paid(owed.opened, Kind::opened)) return false;
  if (owed.credit > 0) {
    if (!tell(end, number, Kind::credit, static_cast<uint64_t>(owed.credit))) return false;
    owed.credit = 0;
  }
  if (!paid(owed.ask_alive, Kind::ask_alive) || !paid(owed.alive, Kind::alive)) return false;
  const bool closes = owed.close;
  if (!paid(owed.close, Kind::close)) return false;
  if (closes) forget(number);
  return true;
}

bool Tunnels::tell(const End& end, uint64_t number, Kind kind, uint64_t value) {
  const std::span<std::byte> room = fabric_->room(end.peer, true);
  if (room.empty()) return false;
  Head head;
  head.kind = kind;
  head.to = end.other;
  head.from = number;
  head.value = value;
  const FabricName& name = fabric_->name();
  if (kind == Kind::open) {
    head.bytes = sizeof name;
    std::memcpy(room.data() + sizeof head, &name, sizeof name);
  }
  std::memcpy(room.data(), &head, sizeof head);
  fabric_->send(end.peer, sizeof head + head.bytes);
  return true;
}

}  // namespace forebay::fabric
