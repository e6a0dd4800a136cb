// Conflicts of small jobs with known answers, and of random jobs against every pair of accesses and
// every path that orders them.
#include "trace/conflicts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <vector>

namespace forebay::trace {
namespace {

constexpr uint64_t plenty = 1 << 20;

// Describes a job, each thread's actions in their order. Each process has its own open of the file,
// with its own number.
struct Actions {
  Order order;
  ConflictFinder finder{plenty};

  explicit Actions(uint64_t most = plenty) : finder(most) {}

  FileAccess access_of(uint32_t process, bool writes, int64_t offset, int64_t end, int64_t at,
                       uint32_t thread = 0) {
    return {.process = process,
            .thread = thread,
            .open = static_cast<int32_t>(process),
            .moment = order.moment(process, thread, at),
            .writes = writes,
            .offset = offset,
            .end = end,
            .start_ns = at,
            .end_ns = at + 5};
  }
  void write(uint32_t process, int64_t offset, int64_t end, int64_t at, uint32_t thread = 0) {
    finder.access(access_of(process, true, offset, end, at, thread));
  }
  void read(uint32_t process, int64_t offset, int64_t end, int64_t at, uint32_t thread = 0) {
    finder.access(access_of(process, false, offset, end, at, thread));
  }
  FileMoment moment(uint32_t process, int64_t at) {
    return {process, 0, static_cast<int32_t>(process), order.mark(process, 0, at)};
  }
  void sync(uint32_t process, int64_t at) { finder.sync(moment(process, at)); }
  void open(uint32_t process, int64_t at) { finder.open(moment(process, at)); }
  void close(uint32_t process, int64_t at) { finder.close(moment(process, at)); }
  void exchange(uint32_t process, uint64_t key, int64_t at, uint32_t thread = 0) {
    order.collective(process, thread, {key, true, true, at});
  }
  void release(uint32_t process, uint64_t key, int64_t at) {
    order.collective(process, 0, {key, true, false, at});
  }
  void acquire(uint32_t process, uint64_t key, int64_t at) {
    order.collective(process, 0, {key, false, true, at});
  }
  Conflicts finish() {
    order.resolve();
    return finder.finish(order);
  }
};

uint64_t count(const Conflicts& conflicts, Separation separation) {
  return conflicts.counts[static_cast<std::size_t>(separation)];
}
uint64_t bytes(const Conflicts& conflicts, Separation separation) {
  return conflicts.bytes[static_cast<std::size_t>(separation)];
}

TEST(TraceConflicts, DisjointAccessesAndReadsHaveNone) {
  Actions job;
  job.write(0, 0, 10, 0);
  job.write(1, 10, 20, 0);
  job.read(2, 20, 30, 0);
  job.read(3, 20, 30, 0);
  job.write(0, 5, 10, 20);  // its own bytes
  EXPECT_EQ(job.finish().counts, (std::array<uint64_t, separations>{}));
}

// The separation of a write of process 0 and a later read of process 1. `between` adds what both
// processes do between these.
template <typename Between>
Separation separation(Between between) {
  Actions job;
  job.write(0, 0, 100, 0);
  between(job);
  job.read(1, 90, 120, 1000);
  const Conflicts found = job.finish();
  EXPECT_EQ(found.examples.size(), 1u);
  EXPECT_EQ(found.examples[0].offset, 90);
  EXPECT_EQ(found.examples[0].end, 100);
  EXPECT_EQ(bytes(found, found.examples[0].separation), 10u);
  EXPECT_EQ(found.examples[0].first.process, 0u);
  return found.examples[0].separation;
}

TEST(TraceConflicts, TimesOrderNothing) {
  EXPECT_EQ(separation([](Actions&) {}), Separation::chance);
  EXPECT_EQ(separation([](Actions& j) { j.sync(0, 10), j.sync(1, 500); }), Separation::chance);
  EXPECT_EQ(separation([](Actions& j) { j.close(0, 10), j.open(1, 500); }), Separation::chance);
  // Different collectives, and a collective that only one of them takes part in.
  EXPECT_EQ(separation([](Actions& j) { j.exchange(0, 7, 10), j.exchange(1, 8, 500); }),
            Separation::chance);
  EXPECT_EQ(separation([](Actions& j) { j.exchange(0, 7, 10), j.exchange(2, 7, 10); }),
            Separation::chance);
  // Both acquire, both release, or the wrong one releases.
  EXPECT_EQ(separation([](Actions& j) { j.acquire(0, 7, 10), j.acquire(1, 7, 10); }),
            Separation::chance);
  EXPECT_EQ(separation([](Actions& j) { j.release(0, 7, 10), j.release(1, 7, 10); }),
            Separation::chance);
  EXPECT_EQ(separation([](Actions& j) { j.acquire(0, 7, 10), j.release(1, 7, 10); }),
            Separation::chance);
}

TEST(TraceConflicts, CollectivesOrder) {
  EXPECT_EQ(separation([](Actions& j) { j.exchange(0, 7, 10), j.exchange(1, 7, 10); }),
            Separation::order);
  EXPECT_EQ(separation([](Actions& j) { j.release(0, 7, 10), j.acquire(1, 7, 10); }),
            Separation::order);
  // Through a third process: first one pair meets, then the other.
  EXPECT_EQ(separation([](Actions& j) {
              j.exchange(0, 7, 10), j.exchange(2, 7, 10), j.exchange(2, 8, 20),
                  j.exchange(1, 8, 20);
            }),
            Separation::order);
  // In the opposite order, nothing leads from the first process to the last.
  EXPECT_EQ(separation([](Actions& j) {
              j.exchange(2, 8, 10), j.exchange(2, 7, 20), j.exchange(1, 8, 10),
                  j.exchange(0, 7, 20);
            }),
            Separation::chance);
}

TEST(TraceConflicts, SyncsHandOverInTheOrderThatCollectivesMake) {
  const auto barrier = [](Actions& j, uint64_t key) {
    j.exchange(0, key, 20), j.exchange(1, key, 20);
  };
  EXPECT_EQ(separation([&](Actions& j) { j.sync(0, 10), barrier(j, 1), j.sync(1, 30); }),
            Separation::synced);
  EXPECT_EQ(separation([&](Actions& j) {
              j.sync(0, 10), j.sync(1, 10), barrier(j, 1), j.sync(0, 30), j.sync(1, 30);
            }),
            Separation::synced);
  // Only one sync each, both on the same side of the barrier.
  EXPECT_EQ(separation([&](Actions& j) { j.sync(0, 10), j.sync(1, 10), barrier(j, 1); }),
            Separation::order);
  EXPECT_EQ(separation([&](Actions& j) { barrier(j, 1), j.sync(0, 30), j.sync(1, 30); }),
            Separation::order);
  EXPECT_EQ(separation([&](Actions& j) { j.close(0, 10), barrier(j, 1), j.sync(1, 30); }),
            Separation::synced);
  EXPECT_EQ(separation([&](Actions& j) { j.sync(0, 10), barrier(j, 1), j.open(1, 30); }),
            Separation::synced);
  EXPECT_EQ(separation([&](Actions& j) { j.close(0, 10), barrier(j, 1), j.open(1, 30); }),
            Separation::reopened);
  EXPECT_EQ(separation([&](Actions& j) { j.open(1, 10), barrier(j, 1), j.close(0, 30); }),
            Separation::order);
  // A sync of another open of the file does not hand over writes of this one.
  EXPECT_EQ(separation([&](Actions& j) {
              FileMoment other = j.moment(0, 10);
              other.open = 7;
              j.finder.sync(other), barrier(j, 1), j.sync(1, 30);
            }),
            Separation::order);
}

TEST(TraceConflicts, OrderHoldsWhateverTheClocksSay) {
  Actions job;
  job.write(0, 0, 100, 5000);  // the clock of its process is ahead
  job.exchange(0, 7, 5010);
  job.exchange(1, 7, 20);
  job.read(1, 0, 100, 30);
  const Conflicts found = job.finish();
  EXPECT_EQ(count(found, Separation::order), 1u);
  EXPECT_EQ(std::accumulate(found.counts.begin(), found.counts.end(), uint64_t{0}), 1u);
}

TEST(TraceConflicts, ThreadsOfAProcessAreNotOrdered) {
  Actions job;
  job.write(0, 0, 100, 0, /*thread=*/1);
  job.exchange(0, 7, 20, /*thread=*/0);
  job.exchange(1, 7, 20);
  job.read(1, 0, 100, 30);
  EXPECT_EQ(count(job.finish(), Separation::chance), 1u);
}

// Another thread of the process has overwritten the bytes, and that write is ordered; the first
// write is not.
TEST(TraceConflicts, AWriteIsNotForgottenForThatOfAnotherThread) {
  Actions job;
  job.write(0, 0, 100, 0, /*thread=*/1);
  job.write(0, 0, 100, 10, /*thread=*/0);
  job.exchange(0, 7, 20, /*thread=*/0);
  job.exchange(1, 7, 20);
  job.read(1, 0, 100, 30);
  const Conflicts found = job.finish();
  EXPECT_EQ(count(found, Separation::order), 1u);
  EXPECT_EQ(count(found, Separation::chance), 1u);
}

TEST(TraceConflicts, AnAccessLastsUntilItsRequestIsComplete) {
  const auto separation = [](Ending ending, int64_t completed) {
    Actions job;
    FileAccess write = job.access_of(0, true, 0, 100, 0);
    write.ending = ending;
    write.end_ns = completed;
    job.finder.access(write);
    job.sync(0, 100);
    job.exchange(0, 7, 200);
    job.exchange(1, 7, 200);
    job.sync(1, 300);
    job.read(1, 0, 100, 400);
    const Conflicts found = job.finish();
    EXPECT_EQ(found.examples.size(), 1u);
    return found.examples[0].separation;
  };
  EXPECT_EQ(separation(Ending::with_call, 5), Separation::synced);
  EXPECT_EQ(separation(Ending::later, 90), Separation::synced);
  EXPECT_EQ(separation(Ending::later, 150), Separation::order);
  EXPECT_EQ(separation(Ending::later, 250), Separation::chance);
  EXPECT_EQ(separation(Ending::later, 450), Separation::none);
  EXPECT_EQ(separation(Ending::unknown, 5), Separation::chance);
}

TEST(TraceConflicts, AReadBeforeAWriteMustBeOrdered) {
  Actions job;
  job.read(0, 0, 10, 0);
  job.exchange(0, 7, 10);
  job.exchange(1, 7, 10);
  job.write(1, 0, 10, 20);  // the bytes were read before
  EXPECT_EQ(job.finish().counts, (std::array<uint64_t, separations>{}));

  // All readers except one are ordered before the write.
  Actions other;
  for (uint32_t process = 1; process < 5; ++process) other.read(process, 0, 10, process);
  for (const uint32_t process : {0, 1, 2, 4}) other.exchange(process, 7, 50);
  other.write(0, 0, 10, 100);
  const Conflicts found = other.finish();
  EXPECT_EQ(count(found, Separation::chance), 1u);
  ASSERT_EQ(found.examples.size(), 1u);
  EXPECT_EQ(found.examples[0].first.process, 3u);
}

// For processes whose traces contradict each other less order is known, but the search ends.
TEST(TraceConflicts, ThreadsThatWaitForEachOtherEnd) {
  Actions job;
  job.write(0, 0, 100, 0);
  job.exchange(0, 7, 10), job.exchange(0, 8, 20);
  job.exchange(1, 8, 10), job.exchange(1, 7, 20);
  job.read(1, 0, 100, 30);
  const Conflicts found = job.finish();
  EXPECT_EQ(found.examples.size(), 1u);
}

TEST(TraceConflicts, AccessesThatOverlapInTimeAreNotApart) {
  Actions job;
  job.read(1, 0, 10, 0);
  job.write(0, 5, 20, 3);
  job.write(2, 15, 30, 8);  // begins when the one before ends
  const Conflicts found = job.finish();
  EXPECT_EQ(count(found, Separation::none), 1u);
  EXPECT_EQ(count(found, Separation::chance), 1u);
  EXPECT_EQ(bytes(found, Separation::none), 5u);
}

TEST(TraceConflicts, OnlyTheLastWriteOfAByteCounts) {
  Actions job;
  job.write(0, 0, 10, 0);
  job.write(1, 0, 10, 10);
  job.read(1, 0, 10, 20);  // reads its own bytes
  EXPECT_EQ(count(job.finish(), Separation::chance), 1u);
}

TEST(TraceConflicts, APairCountsOnceHoweverManyStretchesItMeetsIn) {
  Actions job;
  for (int64_t i = 0; i < 10; ++i) job.read(0, 20 * i, 20 * i + 10, i);
  job.exchange(0, 7, 40), job.exchange(3, 7, 40);
  job.write(3, 0, 200, 50);
  job.read(2, 30, 40, 60);
  job.read(1, 0, 200, 100);
  job.write(3, 0, 200, 150);
  const Conflicts found = job.finish();
  EXPECT_EQ(count(found, Separation::chance), 4u);
  EXPECT_EQ(bytes(found, Separation::chance), 420u);
}

TEST(TraceConflicts, WithoutRoomAccessesAreLeftOutAndCounted) {
  Actions job(2);
  for (uint32_t process = 0; process < 5; ++process) job.write(process, 0, 10, 10 * process);
  const Conflicts found = job.finish();
  EXPECT_EQ(found.accesses_left_out, 3u);
  EXPECT_EQ(count(found, Separation::chance), 1u);
}

TEST(TraceConflicts, PartsPutTogetherAreTheWhole) {
  std::mt19937 draw(5);
  const auto below = [&](int64_t limit) { return static_cast<int64_t>(draw() % limit); };
  uint64_t ordered = 0;
  for (int job = 0; job < 300; ++job) {
    const auto most = static_cast<uint64_t>(1 + below(40));
    Actions whole(most), together(most);
    for (uint32_t process = 0; process < 4; ++process) {
      Actions part(most);
      for (Actions* one : {&part, &whole}) {
        one->open(process, process);
        one->exchange(process, 1 + process / 2, process);
      }
      for (int64_t i = below(8); i > 0; --i) {
        const int64_t offset = below(50), end = 50 + below(50);
        FileAccess of_part = part.access_of(process, true, offset, end, 10 * i);
        FileAccess of_whole = whole.access_of(process, true, offset, end, 10 * i);
        bool in_part = true, in_whole = true;
        // Adds the runs of an access like a caller does.
        for (int64_t run = 1 + below(3); run > 0; --run) {
          in_part = in_part && part.finder.access(of_part);
          in_whole = in_whole && whole.finder.access(of_whole);
          of_part.continued = of_whole.continued = true;
        }
        for (Actions* one : {&part, &whole}) {
          one->sync(process, 10 * i);
          one->exchange(process, static_cast<uint64_t>(10 + i), 10 * i);
        }
      }
      Bytes of_order, of_finder;
      ByteWriter order_writer(of_order), finder_writer(of_finder);
      part.order.write(order_writer);
      part.finder.write(finder_writer);
      ByteReader order_reader(of_order), finder_reader(of_finder);
      Actions carried(most);
      ASSERT_TRUE(carried.order.read(order_reader) && order_reader.at_end());
      ASSERT_TRUE(carried.finder.read(finder_reader) && finder_reader.at_end());
      together.order.merge(std::move(carried.order));
      together.finder.merge(std::move(carried.finder));
    }
    const Conflicts expected = whole.finish(), found = together.finish();
    EXPECT_EQ(found.accesses_left_out, expected.accesses_left_out) << job;
    EXPECT_EQ(found.counts, expected.counts);
    EXPECT_EQ(found.bytes, expected.bytes);
    EXPECT_EQ(found.sharing.bytes, expected.sharing.bytes);
    ordered += count(found, Separation::order) + count(found, Separation::synced);
  }
  EXPECT_GT(ordered, 0u);
}

// A random program: threads of processes that access a file, sync, close, open and meet in
// collectives. The times of its execution, by the processes' clocks, may be anything. It is added
// to a Actions, and judged by all paths from one action to another.
class Program {
 public:
  explicit Program(uint32_t seed) : draw_(seed) {
    const auto processes = static_cast<uint32_t>(2 + below(3));
    for (uint32_t process = 0; process < processes; ++process) {
      for (int64_t thread = below(4) == 0 ? 2 : 1; thread > 0; --thread)
        threads_.push_back({process, static_cast<uint32_t>(thread - 1), 1000 * below(3), {}, {}});
    }
    for (int step = 0; step < 16; ++step) {
      now_ += 10;
      if (below(3) == 0)
        meet(100 + static_cast<uint64_t>(step));
      else
        act(threads_[static_cast<std::size_t>(below(static_cast<int64_t>(threads_.size())))]);
    }
    for (auto& thread : threads_) {
      for (auto& tell : thread.told) tell();
    }
    found_ = job_.finish();
    close_paths();
  }

  void check() {
    uint64_t unordered = 0;
    for (const Separation one : {Separation::none, Separation::chance})
      unordered += count(found_, one);
    for (std::size_t i = 0; i < accesses_.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k) {
        const Judged &a = accesses_[i], &b = accesses_[k];
        const bool conflict = a.access.process != b.access.process &&
                              (a.access.writes || b.access.writes) &&
                              a.access.offset < b.access.end && b.access.offset < a.access.end;
        if (conflict && !path(a.ends, b.begins) && !path(b.ends, a.begins)) racy_ = true;
      }
    }
    EXPECT_EQ(unordered > 0, racy_);
    for (const Conflict& example : found_.examples) {
      const Judged &first = judged(example.first), &second = judged(example.second);
      const bool ordered = path(first.ends, second.begins);
      EXPECT_EQ(ordered, example.separation >= Separation::order);
      EXPECT_EQ(ordered && handed_over(first, second, false),
                example.separation >= Separation::synced);
      EXPECT_EQ(ordered && handed_over(first, second, true),
                example.separation == Separation::reopened);
      EXPECT_FALSE(path(second.ends, first.begins));
    }
  }

  const Conflicts& found() const { return found_; }
  bool racy() const { return racy_; }

 private:
  struct Thread {
    uint32_t process, number;
    int64_t clock;
    std::vector<std::size_t> nodes;
    std::vector<std::function<void()>> told;
  };
  struct Judged {
    FileAccess access;
    std::size_t begins, ends;  // nodes
  };
  struct Passing {
    uint32_t process, thread;
    bool opens, closes;
    std::size_t node;
  };

  int64_t below(int64_t limit) { return static_cast<int64_t>(draw_() % limit); }

  std::size_t node(Thread& thread) {
    const std::size_t added = edges_.size();
    edges_.emplace_back();
    if (!thread.nodes.empty()) edges_[thread.nodes.back()].push_back(added);
    thread.nodes.push_back(added);
    return added;
  }

  void act(Thread& thread) {
    const uint32_t process = thread.process, number = thread.number;
    const int64_t at = now_ + thread.clock, what = below(6);
    const std::size_t here = node(thread);
    if (what < 3) {
      const int64_t offset = below(12), size = 1 + below(6);
      const bool writes = below(2) == 0;
      const std::size_t index = accesses_.size();
      accesses_.push_back({{}, here, here});
      thread.told.push_back([=, this] {
        accesses_[index].access =
            job_.access_of(process, writes, offset, offset + size, at, number);
        job_.finder.access(accesses_[index].access);
      });
      return;
    }
    passings_.push_back({process, number, what == 4, what == 5, here});
    thread.told.push_back([=, this] {
      const FileMoment moment{process, number, static_cast<int32_t>(process),
                              job_.order.mark(process, number, at)};
      if (what == 4)
        job_.finder.open(moment);
      else if (what == 5)
        job_.finder.close(moment);
      else
        job_.finder.sync(moment);
    });
  }

  // Some threads meet: all wait for all, one waits for all, or all wait for one.
  void meet(uint64_t key) {
    std::vector<Thread*> met;
    for (Thread& thread : threads_) {
      if (below(3) > 0) met.push_back(&thread);
    }
    if (met.empty()) return;
    const int64_t kind = below(4);
    std::vector<std::size_t> entries, exits;
    for (Thread* thread : met) {
      const bool root = thread == met.front();
      const bool releases = kind < 2 || (kind == 2) == root;
      const bool acquires = kind < 2 || (kind == 2) != root;
      const std::size_t entry = node(*thread), exit = node(*thread);
      if (releases) entries.push_back(entry);
      if (acquires) exits.push_back(exit);
      const int64_t at = now_ + thread->clock;
      thread->told.push_back([=, this] {
        job_.order.collective(thread->process, thread->number, {key, releases, acquires, at});
      });
    }
    for (const std::size_t entry : entries) {
      for (const std::size_t exit : exits) edges_[entry].push_back(exit);
    }
  }

  void close_paths() {
    const std::size_t nodes = edges_.size();
    paths_.assign(nodes, std::vector<bool>(nodes));
    for (std::size_t i = 0; i < nodes; ++i) {
      for (const std::size_t k : edges_[i]) paths_[i][k] = true;
    }
    for (std::size_t by = 0; by < nodes; ++by) {
      for (std::size_t i = 0; i < nodes; ++i) {
        for (std::size_t k = 0; paths_[i][by] && k < nodes; ++k)
          if (paths_[by][k]) paths_[i][k] = true;
      }
    }
  }
  bool path(std::size_t from, std::size_t to) const { return paths_[from][to]; }

  const Judged& judged(const FileAccess& access) const {
    return *std::find_if(accesses_.begin(), accesses_.end(), [&](const Judged& one) {
      return one.access.process == access.process && one.access.thread == access.thread &&
             one.access.start_ns == access.start_ns;
    });
  }
  bool handed_over(const Judged& first, const Judged& second, bool reopened) const {
    for (const Passing& out : passings_) {
      if (out.process != first.access.process || out.thread != first.access.thread) continue;
      if (out.opens || (reopened && !out.closes) || !path(first.ends, out.node)) continue;
      for (const Passing& in : passings_) {
        if (in.process != second.access.process || in.thread != second.access.thread) continue;
        if (in.closes || (reopened && !in.opens)) continue;
        if (path(out.node, in.node) && path(in.node, second.begins)) return true;
      }
    }
    return false;
  }

  std::mt19937 draw_;
  int64_t now_ = 0;
  std::vector<Thread> threads_;
  std::vector<std::vector<std::size_t>> edges_;
  std::vector<std::vector<bool>> paths_;
  std::vector<Judged> accesses_;
  std::vector<Passing> passings_;
  Actions job_;
  Conflicts found_;
  bool racy_ = false;
};

TEST(TraceConflicts, RandomProgramsAgainstEveryPath) {
  uint64_t racy = 0, safe = 0;
  std::array<uint64_t, separations> counts{};
  for (uint32_t seed = 0; seed < 4000; ++seed) {
    Program program(seed);
    program.check();
    if (HasFailure()) FAIL() << "seed " << seed;
    racy += program.racy();
    safe += !program.racy();
    for (std::size_t i = 0; i < separations; ++i) counts[i] += program.found().counts[i];
  }
  EXPECT_GT(racy, 100u);
  EXPECT_GT(safe, 100u);
  for (const uint64_t of_kind : counts) EXPECT_GT(of_kind, 20u);
}

// Byte by byte: compares each access with the last write before it, and the last reads of others
// since.
TEST(TraceConflicts, RandomJobsAgainstEveryByte) {
  std::mt19937 draw(7);
  const auto below = [&](int64_t limit) { return static_cast<int64_t>(draw() % limit); };
  for (int number = 0; number < 300; ++number) {
    Actions job;
    std::vector<FileAccess> accesses;
    for (int i = 0; i < 40; ++i) {
      const int64_t offset = below(60);
      FileAccess access = job.access_of(static_cast<uint32_t>(below(3)), below(2) == 0, offset,
                                        offset + 1 + below(20), 10 * i);
      access.end_ns = access.start_ns + 1 + below(25);
      accesses.push_back(access);
    }
    uint64_t met[2] = {0, 0};  // bytes of pairs that overlap in time, and of other pairs
    std::set<std::pair<std::size_t, std::size_t>> pairs[2];
    for (std::size_t i = 0; i < accesses.size(); ++i) {
      for (int64_t byte = accesses[i].offset; byte < accesses[i].end; ++byte) {
        std::map<uint32_t, std::size_t> reads;
        std::size_t write = i;
        for (std::size_t k = 0; k < i; ++k) {
          if (byte < accesses[k].offset || byte >= accesses[k].end) continue;
          if (accesses[k].writes) {
            write = k;
            reads.clear();
          } else {
            reads[accesses[k].process] = k;
          }
        }
        const auto add = [&](std::size_t first) {
          if (first == i || accesses[first].process == accesses[i].process) return;
          const bool apart = accesses[first].end_ns <= accesses[i].start_ns;
          ++met[apart];
          pairs[apart].insert({first, i});
        };
        add(write);
        for (const auto& [process, read] : reads) {
          if (accesses[i].writes) add(read);
        }
      }
    }
    std::shuffle(accesses.begin(), accesses.end(), draw);
    for (const FileAccess& access : accesses) job.finder.access(access);
    const Conflicts found = job.finish();
    EXPECT_EQ(found.bytes[0], met[0]);
    EXPECT_EQ(found.bytes[1], met[1]);
    EXPECT_EQ(found.counts[0], pairs[0].size());
    EXPECT_EQ(found.counts[1], pairs[1].size());
  }
}

}  // namespace
}  // namespace forebay::trace
