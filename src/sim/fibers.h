// Virtual time: fibers that run one at a time in one thread, and a clock that moves on when all of
// them wait. Which of the fibers that can run goes on is chosen from a seed, so that the same seed
// gives the same run. A fiber is straight code; where it waits, others run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "extent/seeded_random.h"

namespace forebay::sim {

class Fibers {
 public:
  using Group = uint32_t;  // fibers that die together
  static constexpr int64_t forever = INT64_MAX;

  // Where a step is, as far as deaths are aimed there.
  enum class Spot : uint8_t { other, in_lock, in_wait };

  struct Fiber;
  // Fibers that wait for the same thing.
  class Queue {
    friend class Fibers;
    std::vector<Fiber*> waiting_;
  };
  // Something that happens once.
  class Event {
   public:
    bool happened() const { return happened_; }

   private:
    friend class Fibers;
    bool happened_ = false;
    Queue queue_;
  };

  // A step lets another fiber run once in `steps_a_switch`. Once in `steps_a_pause` it is long, as
  // where a thread loses its processor: others come far meanwhile (0: never).
  explicit Fibers(uint64_t seed, int64_t steps_a_switch = 1, int64_t steps_a_pause = 0);
  ~Fibers();
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  void spawn(Group group, std::function<void()> work);
  // Runs until no fiber can, or for `most_steps` more steps. False: some have not ended: they wait
  // for what nobody will bring, or go round in circles.
  bool run(uint64_t most_steps = UINT64_MAX);

  // The fibers that run in this thread; null outside of run().
  static Fibers* current();

  // Of the fiber that runs.
  Group group() const;
  void step(Spot spot = Spot::other);
  void sleep(int64_t ns);
  // Waits for wake(queue). False: `ns` passed first.
  bool wait(Queue& queue, int64_t ns = forever);

  void wait(Event& event);

  void wake(Queue& queue);  // all
  void happen(Event& event);
  // Calls act() `ns` from now, between the fibers. It waits for nothing and kills no group. If
  // `group` dies first, it is not called.
  void schedule(Group group, int64_t ns, std::function<void()> act);
  // The fibers of a group never run again; their stacks stay as they are, as a killed process's
  // memory does. Where the fiber that runs is one of them, this does not return.
  void kill(Group group);
  // kill() after so many steps of the group's fibers, or of any but group 0's; with a spot, after
  // so many there. Negative: not.
  static constexpr Group any_group = UINT32_MAX;
  void kill_after(Group group, int64_t steps, Spot spot = Spot::other);

  bool is_dead(Group group) const { return group < dead_.size() && dead_[group]; }

  int64_t now_ns() const { return now_ns_; }
  uint64_t steps() const { return steps_; }
  // Of all choices and times so far: runs with equal digests were the same.
  uint64_t digest() const { return digest_; }

 private:
  struct Alarm;
  [[noreturn]] static void enter(unsigned low, unsigned high);
  void switch_to(Fiber* next);
  void set_alarm(Alarm alarm);
  void ring(const Alarm& alarm);
  Fiber* take_next();
  void suspend();
  void make_ready(Fiber* fiber);
  void note(uint64_t fact) { digest_ = (digest_ ^ fact) * 0x100000001b3; }

  SeededRandom random_;
  int64_t steps_a_switch_;
  int64_t steps_a_pause_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> ready_;
  std::vector<Alarm> alarms_;  // a heap, the earliest first
  std::vector<std::unique_ptr<std::byte[]>> free_stacks_;
  std::unique_ptr<Fiber> outside_;  // run()'s caller
  Fiber* running_ = nullptr;
  Fiber* ended_ = nullptr;  // whose stack may be used again
  std::vector<bool> dead_;  // by group
  Group doomed_ = 0;
  int64_t steps_to_doom_ = -1;
  Spot doomed_at_ = Spot::other;
  int64_t now_ns_ = 0;
  uint64_t steps_ = 0;
  uint64_t last_step_ = UINT64_MAX;
  uint64_t digest_ = 0xcbf29ce484222325;
};

}  // namespace forebay::sim
