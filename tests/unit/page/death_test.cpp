// Page kinds when a process dies inside a member: every state that the member passes through,
// instruction by instruction, must show what storage lacks, and be repairable. The same for what a
// process leaves in shared memory that is really killed there.
#include <gtest/gtest.h>

#include "unit/page/single_step.h"

#ifdef FOREBAY_SINGLE_STEP
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "page/page_kind.h"
#include "unit/page/model.h"
#include "unit/variants.h"

namespace forebay {
namespace {

using test::Model;
using test::Pair;
using test::RegionSource;
using test::text;

constexpr std::size_t most_state_bytes = 1024;
constexpr std::size_t most_states = 2000;  // passed through by one member
constexpr int64_t most_steps = 25000;      // of all instructions, because traps are slow

struct State {
  alignas(64) std::byte bytes[most_state_bytes];
};

struct Operation {
  std::string name;
  std::function<bool(const PageKind&, void*, Regions&)> run;  // false: refused, nothing changed
  std::function<void(Model&)> model;
};

// All members that change a page. The further publishes cut and join regions of the first page.
std::vector<Operation> operations(Extent region, int64_t length) {
  const auto publish = [](Extent bytes) {
    return Operation{"publish " + text({bytes}),
                     [bytes](const PageKind& kind, void* state, Regions&) {
                       return kind.publish(state, smallest_page_size, bytes);
                     },
                     [bytes](Model& model) { model.publish(bytes); }};
  };
  const auto settle = [](bool stored) {
    return Operation{stored ? "settle, stored" : "settle, not stored",
                     [stored](const PageKind& kind, void* state, Regions&) {
                       kind.settle(state, smallest_page_size, stored);
                       return true;
                     },
                     [stored](Model& model) { model.settle(stored); }};
  };
  return {
      publish(region),
      publish({200, 40}),  // splits bytes in flight
      publish({80, 25}),   // joins dirty bytes, cuts the rest of them
      publish({410, 40}),  // cuts bytes in flight and clean ones
      {"fill " + text({region}),
       [region](const PageKind& kind, void* state, Regions&) {
         return kind.fill(state, smallest_page_size, region);
       },
       [region](Model& model) { model.fill(region); }},
      {"take_dirty",
       [](const PageKind& kind, void* state, Regions& out) {
         kind.take_dirty(state, smallest_page_size, out);
         return true;
       },
       [](Model& model) { model.take_dirty(); }},
      settle(true),
      settle(false),
      {"drop_clean",
       [](const PageKind& kind, void* state, Regions&) {
         kind.drop_clean(state, smallest_page_size);
         return true;
       },
       [](Model& model) { model.drop_clean(); }},
      {"truncate to " + std::to_string(length),
       [length](const PageKind& kind, void* state, Regions&) {
         kind.truncate(state, smallest_page_size, length);
         return true;
       },
       [length](Model& model) { model.truncate(length); }},
      {"reset",
       [](const PageKind& kind, void* state, Regions&) {
         kind.reset(state, smallest_page_size);
         return true;
       },
       [](Model& model) { model.reset(); }},
      {"repair",
       [](const PageKind& kind, void* state, Regions&) {
         kind.repair(state, smallest_page_size);
         return true;
       },
       [](Model& model) { model.repair(); }},
  };
}

class PageDeath : public testing::TestWithParam<const PageKind*> {
 protected:
  PageDeath() { EXPECT_LE(kind_.state_bytes(smallest_page_size), sizeof(State)); }

  Pair first_page() const {
    Pair pair(kind_, smallest_page_size);
    pair.publish({20, 400});
    pair.take_dirty();
    pair.publish({100, 10});
    pair.fill({0, smallest_page_size});
    return pair;
  }

  // A page with regions of every state, often more than a bounded kind can remember.
  Pair random_page(std::mt19937_64& random) const {
    RegionSource source(random, smallest_page_size);
    Pair pair(kind_, smallest_page_size);
    const int64_t count = 2 + source.below(12);
    const int64_t longest = source.below(2) == 0 ? 200 : 20;
    const auto next = [&] {
      const int64_t offset = source.below(smallest_page_size);
      return Extent{offset, std::min(1 + source.below(longest), smallest_page_size - offset)};
    };
    const bool take = source.below(4) != 0;
    for (int64_t i = 0; i < count; ++i) {
      if (source.below(3) == 0) {
        pair.fill(next());
      } else {
        pair.publish(next());
      }
      if (take && i == count / 2 && !pair.in_flight()) pair.take_dirty();
    }
    return pair;
  }

  // A byte that storage lacks before and after the operation is unsaved at every moment. A byte
  // that storage lacks neither before nor after is unsaved at no moment.
  void check(const State& torn, const Model& before, const Model& after, uint64_t seed) const {
    Regions unsaved;
    kind_.unsaved(torn.bytes, smallest_page_size, unsaved);
    Model found(smallest_page_size);
    for (const Extent region : unsaved) found.publish(region);
    ASSERT_EQ(text(found.unsaved()), text(unsaved)) << "not merged or not ascending";
    for (int64_t i = 0; i < smallest_page_size; ++i) {
      if (before.unsaved(i) == after.unsaved(i)) {
        ASSERT_EQ(found.unsaved(i), before.unsaved(i)) << "byte " << i;
      }
    }
    State repaired = torn;
    kind_.repair(repaired.bytes, smallest_page_size);
    Pair pair(kind_, found, repaired.bytes);
    std::mt19937_64 random(seed);
    RegionSource source(random, smallest_page_size);
    for (int i = 0; i < 12 && !HasFailure(); ++i) test::random_operation(pair, source);
  }

  // The model after the operation; nullopt: the operation is refused.
  std::optional<Model> expected(const Operation& operation, const Pair& pair) const {
    State state;
    std::memcpy(state.bytes, pair.state(), kind_.state_bytes(smallest_page_size));
    Regions out;
    if (!operation.run(kind_, state.bytes, out)) return std::nullopt;
    Model model = pair.model();
    operation.model(model);
    return model;
  }

  // Calls visit(operation, pair, after) for every operation, on one page after another, until the
  // calls have taken most_steps instructions together.
  template <typename Visit>
  void each_operation(Visit visit) {
    int64_t steps = 0;
    for (uint64_t seed = 1; steps < most_steps; ++seed) {
      std::mt19937_64 random(seed);
      const Pair page = seed == 1 ? first_page() : random_page(random);
      RegionSource source(random, smallest_page_size);
      const int64_t length = source.below(smallest_page_size);
      for (const Operation& operation : operations(source.next(), length)) {
        SCOPED_TRACE(operation.name + " on page " + std::to_string(seed));
        Pair pair = page;
        if (operation.name == "take_dirty" && pair.in_flight()) pair.settle(seed % 2 == 0);
        steps += visit(operation, pair, expected(operation, pair).value_or(pair.model()));
        if (HasFailure()) return;
      }
    }
  }

  const PageKind& kind_ = *GetParam();
};

INSTANTIATE_TEST_SUITE_P(Kinds, PageDeath, testing::ValuesIn(test::page_kinds_and_template()),
                         [](const auto& param) { return std::string(param.param->name()); });

TEST_P(PageDeath, EveryStateOfAMemberIsRecoverable) {
  const std::size_t bytes = kind_.state_bytes(smallest_page_size);
  std::vector<State> passed(most_states);  // states that differ from the one before
  each_operation([&](const Operation& operation, const Pair& pair, const Model& after) {
    State state;
    std::memcpy(state.bytes, pair.state(), bytes);
    passed[0] = state;
    std::size_t count = 1;
    int64_t steps = 0;
    Regions out;
    out.reserve(smallest_page_size);
    const auto keep = [&] {
      ++steps;
      if (std::memcmp(passed[count - 1].bytes, state.bytes, bytes) == 0) return true;
      std::memcpy(passed[count++].bytes, state.bytes, bytes);
      return count < most_states;
    };
    test::single_step([&] { operation.run(kind_, state.bytes, out); }, keep);
    EXPECT_LT(count, most_states);
    for (std::size_t i = 0; i < count && !HasFailure(); ++i) {
      SCOPED_TRACE("state " + std::to_string(i) + " of " + std::to_string(count));
      check(passed[i], pair.model(), after, i);
    }
    return steps;
  });
}

// Starts a process that runs `work` and is killed after `steps` instructions. False: it ended
// before.
bool die_within(const std::function<void()>& work, int64_t steps) {
  const pid_t child = fork();
  if (child == 0) {
    test::single_step(work, [&] {
      if (steps-- == 0) kill(getpid(), SIGKILL);
      return true;
    });
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return !WIFEXITED(status);
}

TEST_P(PageDeath, WhatAKilledProcessLeavesIsRecoverable) {
  constexpr int64_t stride = 97;  // instructions of a member between two processes
  void* const memory =
      mmap(nullptr, sizeof(State), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const shared = static_cast<State*>(memory);
  int64_t first = 0;  // differs for each member and page
  each_operation([&](const Operation& operation, const Pair& pair, const Model& after) {
    Regions out;
    out.reserve(smallest_page_size);
    const auto work = [&] { operation.run(kind_, shared->bytes, out); };
    int64_t all_steps = 0;
    bool died = true;
    const int64_t most = most_steps / 16;
    for (int64_t steps = first++ * 31 % stride; died && all_steps < most && !HasFailure();
         steps += stride) {
      SCOPED_TRACE("killed after " + std::to_string(steps) + " instructions");
      std::memcpy(shared->bytes, pair.state(), kind_.state_bytes(smallest_page_size));
      died = die_within(work, steps);
      check(*shared, pair.model(), after, static_cast<uint64_t>(steps));
      all_steps += steps;
    }
    return all_steps;
  });
  munmap(memory, sizeof(State));
}

}  // namespace
}  // namespace forebay
#endif
