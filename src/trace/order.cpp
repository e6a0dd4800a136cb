#include "trace/order.h"

#include <algorithm>

namespace forebay::trace {

Order::Thread& Order::of(uint32_t process, uint32_t thread) {
  const std::pair who{process, thread};
  if (latest_ == nullptr || latest_->first != who) latest_ = &*threads_.try_emplace(who).first;
  return latest_->second;
}

void Order::add(Thread& thread, const Event& event) {
  thread.events.push_back(event);
  thread.latest_ns = std::max(thread.latest_ns, event.start_ns);
  thread.events.back().start_ns = thread.latest_ns;
}

void Order::collective(uint32_t process, uint32_t thread, const Part& part) {
  add(of(process, thread), {part.key, part.start_ns, part.releases, part.acquires, /*used=*/false});
}

uint32_t Order::mark(uint32_t process, uint32_t thread, int64_t start_ns) {
  Thread& told = of(process, thread);
  add(told, {0, start_ns, false, false, /*used=*/true});
  return static_cast<uint32_t>(told.events.size());
}

uint32_t Order::moment(uint32_t process, uint32_t thread, int64_t start_ns) {
  Thread& told = of(process, thread);
  told.latest_ns = std::max(told.latest_ns, start_ns);
  if (!told.events.empty()) told.events.back().used = true;
  return static_cast<uint32_t>(told.events.size());
}

void Order::merge(Order&& other) {
  threads_.merge(other.threads_);
  other.threads_.clear();
  other.latest_ = nullptr;
}

void Order::write(ByteWriter& writer) const {
  writer.varint(threads_.size());
  for (const auto& [who, thread] : threads_) {
    writer.varint(who.first);
    writer.varint(who.second);
    writer.signed_varint(thread.latest_ns);
    writer.varint(thread.events.size());
    uint64_t key = 0, time = 0;
    for (const Event& event : thread.events) {
      writer.u8(static_cast<uint8_t>((event.releases ? 1 : 0) | (event.acquires ? 2 : 0) |
                                     (event.used ? 4 : 0)));
      writer.signed_varint(difference(event.key, key));
      writer.signed_varint(difference(static_cast<uint64_t>(event.start_ns), time));
      key = event.key;
      time = static_cast<uint64_t>(event.start_ns);
    }
  }
}

bool Order::read(ByteReader& reader) {
  for (uint64_t count = reader.varint(); count > 0 && reader.ok(); --count) {
    const auto process = static_cast<uint32_t>(reader.varint());
    Thread& thread = of(process, static_cast<uint32_t>(reader.varint()));
    thread.latest_ns = reader.signed_varint();
    uint64_t key = 0, time = 0;
    for (uint64_t left = reader.varint(); left > 0 && reader.ok(); --left) {
      const uint8_t flags = reader.u8();
      key = sum(key, reader.signed_varint());
      time = sum(time, reader.signed_varint());
      thread.events.push_back(
          {key, static_cast<int64_t>(time), (flags & 1) != 0, (flags & 2) != 0, (flags & 4) != 0});
    }
  }
  return reader.ok();
}

// Follows each thread through its events. A thread acquires from a collective once all that release
// into it have done so.
class Order::Resolution {
 public:
  explicit Resolution(Threads& threads) {
    for (auto& [who, thread] : threads) {
      thread.number = static_cast<uint32_t>(walks_.size());
      thread.known.assign(1, {0, 0, INT64_MIN, nullptr});
      walks_.emplace_back().thread = &thread;
      for (const Event& event : thread.events) {
        if (event.releases || event.acquires) keys_.push_back(event.key);
      }
    }
    std::sort(keys_.begin(), keys_.end());
    keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
    meetings_.resize(keys_.size());
    for (const Walk& walk : walks_) {
      for (const Event& event : walk.thread->events) {
        if (event.releases) ++meeting_of(event).awaited;
        if (event.acquires) ++meeting_of(event).acquirers;
      }
    }
  }

  void run() {
    for (uint32_t number = 0; number < walks_.size(); ++number) {
      walk_on(number);
      walk_on_ready();
    }
    // Threads of an incomplete or wrong trace may wait for each other. Then a thread acquires what
    // has been released so far: some order is lost, but none is invented.
    while (!waiting_.empty()) {
      const uint32_t number = waiting_.back();
      waiting_.pop_back();
      Walk& walk = walks_[number];
      if (!walk.waits) continue;  // it has gone on meanwhile
      Meeting& meeting = meeting_of(walk.thread->events[walk.next]);
      meeting.closed = true;
      wake(meeting);
      walk_on_ready();
    }
  }

 private:
  struct Walk {
    Thread* thread = nullptr;
    std::size_t next = 0;   // index of the next event
    bool released = false;  // into that event's collective
    bool joined = false;    // its clock is part of what that collective hands on
    bool waits = false;
    int64_t time_ns = INT64_MIN;
    std::shared_ptr<const Clock> clock;
  };
  struct Meeting {
    uint64_t awaited = 0;    // threads that have yet to release
    uint64_t acquirers = 0;  // threads that have yet to acquire
    bool closed = false;     // later releases are ignored
    int64_t time_ns = INT64_MIN;
    Clock joined;                         // clock of the threads that have released
    std::shared_ptr<const Clock> latest;  // the clock that was joined last
    std::shared_ptr<const Clock> whole;   // the clock that threads acquire
    std::vector<uint32_t> waiting;
  };

  Meeting& meeting_of(const Event& event) {
    const auto found = std::lower_bound(keys_.begin(), keys_.end(), event.key);
    return meetings_[static_cast<std::size_t>(found - keys_.begin())];
  }

  static void join(Clock& clock, const Clock& other) {
    for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
  }

  void wake(Meeting& meeting) {
    for (const uint32_t number : std::exchange(meeting.waiting, {})) {
      walks_[number].waits = false;
      ready_.push_back(number);
    }
  }

  void walk_on_ready() {
    while (!ready_.empty()) {
      const uint32_t number = ready_.back();
      ready_.pop_back();
      walk_on(number);
    }
  }

  // Goes on until the thread must wait.
  void walk_on(uint32_t number) {
    Walk& walk = walks_[number];
    for (const std::vector<Event>& events = walk.thread->events; walk.next < events.size();) {
      const Event& event = events[walk.next];
      walk.time_ns = std::max(walk.time_ns, event.start_ns);
      if (event.releases && !walk.released) release(number, meeting_of(event));
      if (event.acquires && !acquire(number, meeting_of(event))) return;
      walk.released = walk.joined = false;
      ++walk.next;
      ++rank_;
      if (event.used)
        walk.thread->known.push_back(
            {static_cast<uint32_t>(walk.next), rank_, walk.time_ns, walk.clock});
    }
  }

  void release(uint32_t number, Meeting& meeting) {
    Walk& walk = walks_[number];
    walk.released = true;
    --meeting.awaited;
    if (meeting.closed) return;
    walk.joined = true;
    meeting.joined.resize(walks_.size());
    if (walk.clock != nullptr && walk.clock != meeting.latest) {
      join(meeting.joined, *walk.clock);
      meeting.latest = walk.clock;
    }
    uint32_t& mine = meeting.joined[number];
    mine = std::max(mine, static_cast<uint32_t>(walk.next + 1));
    meeting.time_ns = std::max(meeting.time_ns, walk.time_ns);
    if (meeting.awaited > 0) return;
    meeting.closed = true;
    if (meeting.acquirers == 0) meeting.joined = {};
    wake(meeting);
  }

  // False: the thread must wait.
  bool acquire(uint32_t number, Meeting& meeting) {
    Walk& walk = walks_[number];
    if (meeting.awaited > 0 && !meeting.closed) {
      walk.waits = true;
      meeting.waiting.push_back(number);
      waiting_.push_back(number);
      return false;
    }
    if (meeting.whole == nullptr && !meeting.joined.empty()) {
      meeting.whole = std::make_shared<const Clock>(std::exchange(meeting.joined, {}));
      meeting.latest = nullptr;
    }
    if (meeting.whole != nullptr) {
      walk.time_ns = std::max(walk.time_ns, meeting.time_ns);
      walk.clock = joined(walk, meeting.whole);
    }
    if (--meeting.acquirers == 0) meeting.whole = nullptr;
    return true;
  }

  static std::shared_ptr<const Clock> joined(const Walk& walk,
                                             const std::shared_ptr<const Clock>& whole) {
    if (walk.clock == nullptr || walk.joined) return whole;
    Clock both = *walk.clock;
    join(both, *whole);
    return std::make_shared<const Clock>(std::move(both));
  }

  std::vector<Walk> walks_;
  std::vector<uint64_t> keys_;
  std::vector<Meeting> meetings_;
  std::vector<uint32_t> ready_, waiting_;
  uint32_t rank_ = 0;
};

void Order::resolve() { Resolution(threads_).run(); }

Order::Place Order::place(uint32_t process, uint32_t thread, uint32_t moment,
                          int64_t start_ns) const {
  const auto found = threads_.find({process, thread});
  if (found == threads_.end() || found->second.known.empty()) return {0, 0, start_ns, nullptr};
  const std::vector<Known>& known = found->second.known;
  const auto after =
      std::upper_bound(known.begin(), known.end(), moment,
                       [](uint32_t wanted, const Known& one) { return wanted < one.moment; });
  const Known& here = *(after - 1);
  return {found->second.number, here.rank, std::max(start_ns, here.time_ns), here.clock.get()};
}

uint32_t Order::last_moment_before(uint32_t process, uint32_t thread, int64_t ns) const {
  const auto found = threads_.find({process, thread});
  if (found == threads_.end()) return UINT32_MAX;
  const std::vector<Event>& events = found->second.events;
  const auto after =
      std::lower_bound(events.begin(), events.end(), ns,
                       [](const Event& event, int64_t at) { return event.start_ns < at; });
  return after == events.end() ? UINT32_MAX : static_cast<uint32_t>(after - events.begin());
}

}  // namespace forebay::trace
