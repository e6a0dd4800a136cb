#include "agent/agent.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <exception>

namespace forebay::agent {
namespace {

constexpr int64_t most_proving = 256;
constexpr int pause_ms = 100;  // after a failed accept: the process may have no descriptors left

// A connection takes a descriptor, and a job may have more ranks than a process has descriptors
// unless it asks for more.
void want_descriptors() {
  rlimit descriptors{};
  if (getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return;
  descriptors.rlim_cur = descriptors.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &descriptors);
}

}  // namespace

bool Agent::start() {
  want_descriptors();
  socket_ = listen_anywhere(&port_);
  if (socket_ < 0) return false;
  try {
    listener_ = std::thread([this] { listen(); });
  } catch (const std::exception&) {
    close(socket_);
    socket_ = -1;
    return false;
  }
  return true;
}

Agent::~Agent() {
  stopping_.store(true);
  if (socket_ >= 0) shutdown(socket_, SHUT_RDWR);
  if (listener_.joinable()) listener_.join();
  if (socket_ >= 0) close(socket_);
  for (Caller& caller : callers_) caller.connection.interrupt();
  for (Caller& caller : callers_) caller.thread.join();
}

void Agent::listen() {
  while (!stopping_.load()) {
    const int accepted = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (accepted < 0) {
      if (!stopping_.load()) poll(nullptr, 0, pause_ms);
      continue;
    }
    Connection connection(accepted);
    if (proving_.load() >= most_proving) {
      ++refused_;
      continue;
    }
    const std::lock_guard guard(mutex_);
    forget_ended();
    Caller* caller = nullptr;
    const Status had_memory = within_memory([&] { caller = &callers_.emplace_back(); });
    if (!had_memory.ok()) continue;
    caller->connection = std::move(connection);
    ++proving_;
    try {
      caller->thread = std::thread([this, caller] { serve(*caller); });
    } catch (const std::exception&) {
      callers_.pop_back();  // the rank's call fails
      --proving_;
    }
  }
}

// Under the mutex.
void Agent::forget_ended() {
  for (auto caller = callers_.begin(); caller != callers_.end();) {
    if (caller->ended.load()) {
      caller->thread.join();
      caller = callers_.erase(caller);
    } else {
      ++caller;
    }
  }
}

void Agent::serve(Caller& caller) {
  const bool proved = caller.connection.prove(state_.key);
  --proving_;
  if (proved) {
    ++served_;
    FileServer(caller.connection, state_).serve();
    --served_;
  } else {
    ++refused_;
  }
  caller.connection.interrupt();  // the descriptor is closed when the caller is forgotten
  caller.ended.store(true);
}

}  // namespace forebay::agent
