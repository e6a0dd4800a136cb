// What every replacement policy must do, and the order of evictions of each.
#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "engine/shard.h"
#include "policy/policy.h"
#include "unit/variants.h"

namespace forebay {
namespace {

// Candidates: the frames that `accept` accepts, all clean.
template <typename Accept>
class Those final : public Candidates {
 public:
  explicit Those(Accept accept) : accept_(accept) {}
  bool evictable(FrameIndex frame) const override { return accept_(frame); }
  uint32_t commit_cost(FrameIndex) const override { return 0; }

 private:
  Accept accept_;
};

const Those any_frame([](FrameIndex) { return true; });

PageKey page(int64_t number) { return {1, number}; }

// A policy with memory of its own.
struct Fixture {
  Fixture(const PolicySpec& policy_spec, uint32_t frame_count)
      : spec(policy_spec), frames(frame_count), state(spec.state_bytes(frames) / 8 + 2, guard) {
    policy = spec.attach(state.data(), frames);
    policy->reset();
  }
  ~Fixture() { EXPECT_EQ(state.back(), guard) << "wrote beyond its state"; }
  void attach_again() { policy = spec.attach(state.data(), frames); }

  static constexpr uint64_t guard = 0x5ca1ab1e5ca1ab1e;
  const PolicySpec& spec;
  const uint32_t frames;
  std::vector<uint64_t> state;
  std::unique_ptr<Policy> policy;
};

class EveryPolicy : public testing::TestWithParam<PolicySpec> {};

INSTANTIATE_TEST_SUITE_P(Policies, EveryPolicy, testing::ValuesIn(test::policies_and_template()),
                         [](const auto& param) { return std::string(param.param.name); });

TEST_P(EveryPolicy, HasNoVictimWhenNothingIsResident) {
  Fixture fixture(GetParam(), 4);
  EXPECT_EQ(fixture.policy->victim(page(0), any_frame), no_frame);
  fixture.policy->insert(2, page(7));
  fixture.policy->remove(2, page(7));
  EXPECT_EQ(fixture.policy->victim(page(0), any_frame), no_frame);
}

TEST_P(EveryPolicy, NamesEveryResidentFrameOnce) {
  for (const uint32_t frames : {1u, 2u, 7u, 64u}) {
    Fixture fixture(GetParam(), frames);
    for (FrameIndex i = 0; i < frames; ++i) fixture.policy->insert(i, page(i));
    std::set<FrameIndex> victims;
    for (FrameIndex i = 0; i < frames; ++i) {
      const FrameIndex victim = fixture.policy->victim(page(1000), any_frame);
      ASSERT_LT(victim, frames);
      fixture.policy->remove(victim, page(victim));
      EXPECT_TRUE(victims.insert(victim).second);
    }
    EXPECT_EQ(fixture.policy->victim(page(1000), any_frame), no_frame);
  }
}

TEST_P(EveryPolicy, TheVictimStaysResidentUntilEvicted) {
  Fixture fixture(GetParam(), 3);
  for (FrameIndex i = 0; i < 3; ++i) fixture.policy->insert(i, page(i));
  for (int i = 0; i < 10; ++i) {
    EXPECT_LT(fixture.policy->victim(page(9), any_frame), 3u);
  }
}

TEST_P(EveryPolicy, SkipsWhatCannotBeEvicted) {
  Fixture fixture(GetParam(), 8);
  for (FrameIndex i = 0; i < 8; ++i) fixture.policy->insert(i, page(i));
  for (FrameIndex only = 0; only < 8; ++only) {
    const Those only_this([only](FrameIndex i) { return i == only; });
    EXPECT_EQ(fixture.policy->victim(page(9), only_this), only);
  }
  EXPECT_EQ(fixture.policy->victim(page(9), Those([](FrameIndex) { return false; })), no_frame);
}

// A cache with the fixture's policy. One access at a time, in the calls that a driver makes.
class Cache {
 public:
  explicit Cache(Fixture& fixture) : fixture_(fixture), pages_(fixture.frames, -1) {}
  // Fills all frames but one. A page that replaces another goes to its frame, or to the free one.
  Cache(Fixture& fixture, bool moves)
      : fixture_(fixture), pages_(fixture.frames, -1), spare_(1), moves_(moves) {}

  bool access(int64_t number) {
    const auto found = std::find(pages_.begin(), pages_.end(), number);
    if (found != pages_.end()) {
      fixture_.policy->hit(frame_of(found), page(number));
      return true;
    }
    const auto free = std::find(pages_.begin(), pages_.end(), -1);
    FrameIndex frame = frame_of(free);
    if (std::count(pages_.begin(), pages_.end(), -1) == spare_) {
      const FrameIndex victim = fixture_.policy->victim(page(number), any_frame);
      EXPECT_LT(victim, fixture_.frames);
      EXPECT_NE(pages_[victim], -1) << "the victim was not resident";
      if (!moves_) frame = victim;
      fixture_.policy->replace(victim, page(pages_[victim]), frame, page(number));
      pages_[victim] = -1;
    } else {
      fixture_.policy->insert(frame, page(number));
    }
    pages_[frame] = number;
    return false;
  }
  void drop(FrameIndex frame) {
    if (pages_[frame] == -1) return;
    fixture_.policy->remove(frame, page(pages_[frame]));
    pages_[frame] = -1;
  }
  const std::vector<int64_t>& pages() const { return pages_; }

 private:
  FrameIndex frame_of(std::vector<int64_t>::const_iterator at) const {
    return static_cast<FrameIndex>(at - pages_.begin());
  }
  Fixture& fixture_;
  std::vector<int64_t> pages_;  // page in each frame; -1: none
  std::ptrdiff_t spare_ = 0;    // frames that stay free
  bool moves_ = false;
};

// A policy decides by its state alone: one that is attached anew before every access, as by another
// process, decides like the first.
TEST_P(EveryPolicy, GoesOnFromItsStateAlone) {
  Fixture kept(GetParam(), 16);
  Fixture attached(GetParam(), 16);
  Cache a(kept);
  Cache b(attached);
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000 && !HasFailure(); ++i) {
    if (random() % 10 == 0) {
      const auto frame = static_cast<FrameIndex>(random() % 16);
      a.drop(frame);
      b.drop(frame);
    }
    const auto number = static_cast<int64_t>(std::min(random() % 48, random() % 48));
    attached.attach_again();
    EXPECT_EQ(a.access(number), b.access(number));
    EXPECT_EQ(a.pages(), b.pages());
  }
}

// A page that replaces another may come to a free frame: the victim's keeps its bytes for a while.
TEST_P(EveryPolicy, DecidesTheSameWhereverAPageGoes) {
  // The others go by the numbers of frames.
  const auto& blind = test::policies_of_blocks();
  if (std::none_of(blind.begin(), blind.end(), [](const PolicySpec& spec) {
        return spec.name == std::string(GetParam().name);
      }))
    return;
  Fixture here(GetParam(), 16);
  Fixture there(GetParam(), 16);
  Cache a(here, false);
  Cache b(there, true);
  std::mt19937_64 random(19);
  for (int i = 0; i < 20000 && !HasFailure(); ++i) {
    const auto number = static_cast<int64_t>(std::min(random() % 48, random() % 48));
    EXPECT_EQ(a.access(number), b.access(number));
  }
}

TEST_P(EveryPolicy, ResetForgetsEverything) {
  Fixture used(GetParam(), 8);
  Cache warm(used);
  for (int64_t i = 0; i < 100; ++i) warm.access(i * i % 23);
  used.policy->reset();
  Fixture fresh(GetParam(), 8);
  Cache a(used);
  Cache b(fresh);
  for (int64_t i = 0; i < 1000; ++i) EXPECT_EQ(a.access(i * i % 29), b.access(i * i % 29));
}

TEST_P(EveryPolicy, KeepsALoopThatFits) {
  Fixture fixture(GetParam(), 10);
  Cache cache(fixture);
  for (int64_t i = 0; i < 10; ++i) EXPECT_FALSE(cache.access(i));
  for (int64_t i = 0; i < 100; ++i) EXPECT_TRUE(cache.access(i % 10));
}

// A process that maps an arena after a death resets the policy, whatever state it finds.
TEST_P(EveryPolicy, WorksAfterAResetOfWhateverWasThere) {
  std::mt19937_64 random(11);
  Fixture broken(GetParam(), 12);
  Fixture fresh(GetParam(), 12);
  for (std::size_t i = 0; i + 1 < broken.state.size(); ++i) broken.state[i] = random();
  broken.policy->reset();
  Cache a(broken);
  Cache b(fresh);
  for (int i = 0; i < 5000; ++i) {
    const auto number = static_cast<int64_t>(random() % 30);
    EXPECT_EQ(a.access(number), b.access(number));
  }
}

// A death may leave the hash table, free list and policy in any state. The keys of the frames are
// right.
TEST_P(EveryPolicy, AShardIsRebuiltFromItsFrames) {
  constexpr uint32_t frames = 24;
  constexpr uint32_t buckets = 64;
  struct Clean final : FrameStates {
    bool evictable(FrameIndex) const override { return true; }
    CommitShape commit_shape(FrameIndex) const override { return {}; }
  } const clean;
  ShardState state;
  std::vector<FrameIndex> table(buckets);
  std::vector<FrameSlot> slots(frames);
  std::vector<uint64_t> policy_state(GetParam().state_bytes(frames) / 8 + 1);
  BasicShard<FrameSlot> shard(&state, table.data(), slots.data(),
                              GetParam().attach(policy_state.data(), frames));
  shard.reset(0, frames, buckets);
  shard.add_usable(frames);
  EXPECT_FALSE(shard.may_hold(page(0)));
  std::mt19937_64 random(17);
  const auto access = [&](int64_t number) {
    const Acquired got = shard.acquire(page(number), true, clean);
    ASSERT_NE(got.outcome, Acquire::none);
    if (got.outcome == Acquire::empty) shard.place(got.frame, page(number), 0);
    if (got.outcome == Acquire::victim) shard.replace(got.frame, page(number), 0);
  };
  for (int death = 0; death < 50 && !HasFailure(); ++death) {
    for (int i = 0; i < 200; ++i) access(static_cast<int64_t>(random() % 60));
    if (death % 2 == 0) shard.release(shard.find(slots[random() % frames].key));
    std::set<int64_t> before;
    for (const FrameSlot& slot : slots) {
      if (slot.key.file != 0) before.insert(slot.key.page);
    }
    for (uint64_t& word : policy_state) word = random();
    for (FrameIndex& head : table) head = static_cast<FrameIndex>(random());
    for (FrameSlot& slot : slots) slot.hash_next = static_cast<FrameIndex>(random());
    state.free_head = static_cast<FrameIndex>(random());
    if (death % 3 == 0) {  // as if an earlier rebuild had been interrupted
      state.rebuilds |= 1;
      std::fill(table.begin(), table.end(), no_frame);
      for (const int64_t number : before) EXPECT_TRUE(shard.may_hold(page(number)));
    }
    shard.rebuild();
    EXPECT_EQ(state.resident, before.size());
    EXPECT_EQ(state.rebuilds % 2, 0u);
    for (const int64_t number : before) {
      EXPECT_NE(shard.find(page(number)), no_frame);
      EXPECT_TRUE(shard.may_hold(page(number)));
    }
  }
}

// The number of ghosts is limited: a stream of pages that come once overflows nothing, and older
// ghosts are forgotten.
TEST_P(EveryPolicy, ForgetsALongScan) {
  Fixture fixture(GetParam(), 20);
  Cache cache(fixture);
  for (int64_t i = 0; i < 20000; ++i) EXPECT_FALSE(cache.access(i));
  for (FrameIndex i = 0; i < 20; ++i) cache.drop(i);
  for (int64_t i = 0; i < 20; ++i) EXPECT_FALSE(cache.access(i));
  for (int64_t i = 0; i < 20; ++i) EXPECT_TRUE(cache.access(i));
}

// A driver may ask for a victim, and then do something else first.
TEST_P(EveryPolicy, BearsVictimsThatAreNotReplaced) {
  Fixture fixture(GetParam(), 16);
  Cache cache(fixture);
  std::mt19937_64 random(13);
  for (int i = 0; i < 20000 && !HasFailure(); ++i) {
    const auto number = static_cast<int64_t>(random() % 64);
    if (random() % 4 == 0) {
      const FrameIndex odd = static_cast<FrameIndex>(random() % 16);
      fixture.policy->victim(page(number), Those([odd](FrameIndex frame) { return frame != odd; }));
    }
    if (random() % 16 == 0) cache.drop(static_cast<FrameIndex>(random() % 16));
    cache.access(number);
  }
}

TEST(Fcf, PrefersWhatCommitsFastest) {
  Fixture fixture(*find_policy("fcf"), 16);  // compares four of them
  for (FrameIndex i = 0; i < 16; ++i) fixture.policy->insert(i, page(i));
  struct Costs final : Candidates {
    bool evictable(FrameIndex) const override { return true; }
    uint32_t commit_cost(FrameIndex frame) const override { return cost.at(frame); }
    std::vector<uint32_t> cost = std::vector<uint32_t>(16, requests_unit);
  } costs;
  EXPECT_EQ(fixture.policy->victim(page(99), costs), 0u);
  costs.cost[2] = Candidates::requests_unit / 8;
  EXPECT_EQ(fixture.policy->victim(page(99), costs), 2u);
  costs.cost[3] = 0;
  EXPECT_EQ(fixture.policy->victim(page(99), costs), 3u);
  costs.cost[4] = 0;  // was used more recently than the four
  fixture.policy->hit(3, page(3));
  costs.cost[2] = Candidates::requests_unit;
  EXPECT_EQ(fixture.policy->victim(page(99), costs), 4u);
  costs.cost[4] = 2 * Candidates::requests_unit;
  EXPECT_EQ(fixture.policy->victim(page(99), costs), 0u);
}

TEST(Lru, EvictsInOrderOfLastAccess) {
  Fixture fixture(*find_policy("lru"), 32);
  Cache cache(fixture);
  std::list<int64_t> recent;  // most recent first
  std::mt19937_64 random(3);
  for (int i = 0; i < 50000 && !HasFailure(); ++i) {
    const auto number = static_cast<int64_t>(random() % 64);
    const auto found = std::find(recent.begin(), recent.end(), number);
    const bool hit = found != recent.end();
    if (hit) recent.erase(found);
    recent.push_front(number);
    if (recent.size() > 32) recent.pop_back();
    EXPECT_EQ(cache.access(number), hit);
  }
}

TEST(Policies, AreFoundByName) {
  for (const PolicySpec& spec : policies()) EXPECT_EQ(find_policy(spec.name), &spec);
  EXPECT_EQ(find_policy("no such policy"), nullptr);
}

}  // namespace
}  // namespace forebay
