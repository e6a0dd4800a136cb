#include "agent/agent.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <thread>
#include <utility>

namespace forebay::agent {
namespace {

constexpr int64_t most_proving = 256;
constexpr int pause_ms = 100;  // after a failed accept: the process may have no descriptors left
// A worker stays with a rank that soon asks again, which spares both the way through epoll.
constexpr int stay_ms = 20;
constexpr int64_t most_that_stay = 64;
constexpr int spare_ms = 2000;  // a worker that waits so long beside others is not needed

// A connection takes a descriptor, and a job may have more ranks than a process has descriptors
// unless it asks for more.
void want_descriptors() {
  rlimit descriptors{};
  if (getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return;
  descriptors.rlim_cur = descriptors.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &descriptors);
}

void close_descriptor(int& descriptor) {
  if (descriptor >= 0) close(std::exchange(descriptor, -1));
}

}  // namespace

void Agent::lead_tunnels(std::function<void(int socket, const FabricName& to)> begin_tunnel) {
  begin_tunnel_ = std::move(begin_tunnel);
  state_.has_tunnels = true;
}

bool Agent::start() {
  want_descriptors();
  socket_ = listen_anywhere(&port_);
  events_ = epoll_create1(EPOLL_CLOEXEC);
  stop_ = eventfd(0, EFD_CLOEXEC);
  epoll_event stop{};
  stop.events = EPOLLIN;
  stop.data.ptr = &stop_;
  return socket_ >= 0 && events_ >= 0 && stop_ >= 0 &&
         epoll_ctl(events_, EPOLL_CTL_ADD, stop_, &stop) == 0 && watch(socket_, this, true) &&
         begin_worker();
}

Agent::~Agent() {
  stopping_.store(true);
  const uint64_t one = 1;
  if (stop_ >= 0) (void)!write(stop_, &one, sizeof one);
  {
    std::unique_lock lock(mutex_);
    for (const Caller& caller : callers_) caller.connection.interrupt();
    ended_.wait(lock, [this] { return workers_ == 0; });
  }
  close_descriptor(socket_);
  callers_.clear();
  close_descriptor(events_);
  close_descriptor(stop_);
}

// One worker is told of the next event on the descriptor, and nobody of a further one.
bool Agent::watch(int descriptor, void* what, bool anew) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLONESHOT;
  event.data.ptr = what;
  return epoll_ctl(events_, anew ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, descriptor, &event) == 0;
}

bool Agent::begin_worker() {
  const std::lock_guard guard(mutex_);
  try {
    std::thread([this] { work(); }).detach();  // the destructor waits for workers_
  } catch (const std::exception&) {
    return false;  // the others carry out what comes, one after the other
  }
  ++workers_;
  return true;
}

void Agent::work() {
  while (!stopping_.load()) {
    epoll_event event{};
    ++idle_;
    int found = 0;
    while ((found = epoll_wait(events_, &event, 1, spare_ms)) < 0 && errno == EINTR) {
    }
    const bool last_idle = --idle_ == 0;
    if (stopping_.load()) break;
    if (found <= 0) {
      if (last_idle) continue;
      break;
    }
    if (last_idle) (void)begin_worker();
    if (event.data.ptr == this) {
      take_call();
    } else {
      serve(*static_cast<Caller*>(event.data.ptr));
    }
  }
  const std::lock_guard guard(mutex_);
  --workers_;
  ended_.notify_all();
}

// Answers the question that has come, and what the rank asks soon afterwards.
void Agent::serve(Caller& caller) {
  {
    const std::lock_guard turn(caller.turn);
    bool answered = false;
    do {
      answered = caller.server.answer();
    } while (answered && workers_.load() <= most_that_stay && caller.connection.await(stay_ms));
    if (answered && await(caller, false)) return;
    if (caller.server.tunnel().bytes > 0) leave_to_tunnel(caller);
  }
  forget(caller);
  --served_;
}

void Agent::leave_to_tunnel(Caller& caller) {
  int socket = -1;
  {
    const std::lock_guard guard(mutex_);  // the destructor interrupts connections
    socket = caller.connection.release();
  }
  // The epoll instance would go on watching it.
  (void)epoll_ctl(events_, EPOLL_CTL_DEL, socket, nullptr);
  begin_tunnel_(socket, caller.server.tunnel());
}

// Accepts a connection, and lets the caller prove that it knows the key.
void Agent::take_call() {
  const int accepted = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
  if (accepted < 0) poll(nullptr, 0, pause_ms);
  watch(socket_, this, false);
  if (accepted < 0) return;
  Connection connection(accepted);
  if (proving_.load() >= most_proving) {
    ++refused_;
    return;
  }
  Caller* const caller = remember(std::move(connection));
  if (caller == nullptr) return;
  ++proving_;
  {
    const std::lock_guard turn(caller->turn);
    const bool proved = caller->connection.prove(state_.key);
    --proving_;
    if (proved) ++served_;
    if (proved && await(*caller, true)) return;
    if (proved) --served_;
  }
  ++refused_;
  forget(*caller);
}

// Null: there is no memory, or the agent ends.
Agent::Caller* Agent::remember(Connection&& accepted) {
  const std::lock_guard guard(mutex_);
  if (stopping_.load()) return nullptr;
  Caller* caller = nullptr;
  (void)within_memory([&] { caller = &callers_.emplace_back(std::move(accepted), state_); });
  if (caller != nullptr) caller->self = std::prev(callers_.end());
  return caller;
}

// The caller's next question is any worker's. False: it is none's.
bool Agent::await(Caller& caller, bool anew) {
  return watch(caller.connection.descriptor(), &caller, anew);
}

void Agent::forget(Caller& caller) {
  caller.server.end();
  const std::lock_guard guard(mutex_);
  callers_.erase(caller.self);
}

}  // namespace forebay::agent
