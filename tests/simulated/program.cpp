#include "simulated/program.h"

#include <algorithm>
#include <sstream>

namespace forebay::test {
namespace {

template <typename Choices>
auto one_of(SeededRandom& random, const Choices& choices) {
  return *(std::begin(choices) + random.below(std::ssize(choices)));
}

Settings random_settings(SeededRandom& random) {
  constexpr int64_t page_sizes[] = {512, 512, 512, 1024, 1024, 4096, 576, 8256};
  constexpr int64_t granules[] = {1, 3, 64, 300, 1000, 6000, 20000};
  Settings s;
  s.ranks = 1 + static_cast<uint32_t>(random.below(4));
  if (s.ranks > 1 && random.one_in(2))
    s.nodes = 2 + static_cast<uint32_t>(random.below(s.ranks - 1));
  s.domain = &assignments()[static_cast<std::size_t>(random.below(std::ssize(assignments())))];
  s.domain_size_bytes = 1 + random.below(8000);
  // Drawn from the same number, so that programs found earlier stay what they were.
  s.owning = s.domain_size_bytes % 4 != 0
                 ? s.nodes
                 : 1 + static_cast<uint32_t>(s.domain_size_bytes / 4) % s.nodes;
  // A file changes only through its node.
  s.keeps_pages = s.nodes == 1 && s.domain_size_bytes % 8 >= 5;
  s.keeps_pace = s.domain_size_bytes % 8 == 2;
  s.in_rounds = s.domain_size_bytes % 8 == 4;
  if (random.one_in(2)) s.files = 2 + static_cast<uint32_t>(random.below(2));
  s.cache.page_kind = one_of(random, page_kinds());
  // Likewise: the last policy and the last predictor of the tables were added later.
  const auto earlier = static_cast<std::size_t>(random.below(std::ssize(policies()) - 1));
  s.cache.policy = s.domain_size_bytes % 8 == 1 ? &policies().back() : &policies()[earlier];
  s.cache.page_size = one_of(random, page_sizes);
  s.cache.capacity_bytes = s.cache.page_size * (1 + random.below(24));
  s.cache.shards = random.below(4);
  s.most_frames = random.one_in(8) ? static_cast<uint32_t>(random.below(4)) : UINT32_MAX / 2;
  s.handles.bypass_bytes = s.cache.page_size / 2 + random.below(8000);
  s.handles.read_ahead_bytes = random.one_in(3) ? 0 : random.below(32 << 10);
  s.handles.dirty_bound = static_cast<double>(random.below(101)) / 100;
  s.handles.write_behind = !random.one_in(4);
  s.local = random.one_in(4);
  s.handles.local_bypass_bytes = random.below(s.cache.page_size);
  s.handles.step_aside =
      s.local || random.one_in(3) ? SteppingAside::automatic : SteppingAside::never;
  const auto predictor = static_cast<std::size_t>(random.below(std::ssize(predictors()) - 1));
  s.handles.predictor =
      s.domain_size_bytes % 8 == 3 ? &predictors().back() : &predictors()[predictor];
  s.commit_size_bytes = 1 + random.below(16 << 10);
  s.bytes_worth_a_request = random.below(300);
  s.file_bytes = 4000 + random.below(36000);
  if (random.one_in(3)) s.file_bytes = s.cache.page_size * (1 + random.below(6));  // few pages
  s.first_bytes = random.one_in(3) ? 0 : random.below(s.file_bytes);
  s.last_commits = random.one_in(3);
  s.granule = one_of(random, granules);
  s.fails_one_in = random.one_in(2) ? 0 : 5 + random.below(60);
  s.steps_a_switch = 1 + random.below(4);
  if (random.one_in(2)) s.cache.write_back_buffer = static_cast<double>(random.below(60)) / 100;
  s.steps_a_pause = random.one_in(2) ? 0 : 30 + random.below(1000);
  if (!s.local && random.one_in(12)) s.handles.step_aside = SteppingAside::always;
  if (s.handles.step_aside == SteppingAside::automatic && random.one_in(3))
    s.aside = 1 + static_cast<uint32_t>(random.below(3));
  s.late_care = random.one_in(3);
  s.handles.hands_over = s.nodes > 1 && s.domain_size_bytes % 3 != 0;
  return s;
}

// Bytes that the rank writes in the round: within one granule of its own.
Extent own_extent(const Settings& s, uint32_t rank, std::size_t round, SeededRandom& random) {
  if (s.ranks == 1) {
    const int64_t offset = random.below(s.file_bytes);
    const int64_t most = random.one_in(10) ? s.file_bytes : 1500;
    return {offset, std::min(1 + random.below(most), s.file_bytes - offset)};
  }
  const auto turn = static_cast<int64_t>((rank + round) % s.ranks);
  const int64_t granules = (s.file_bytes + s.granule - 1) / s.granule;
  const int64_t own = (granules - turn + s.ranks - 1) / s.ranks;
  if (own <= 0) return {};
  const int64_t begin = (random.below(own) * s.ranks + turn) * s.granule;
  const int64_t length = std::min(s.granule, s.file_bytes - begin);
  if (random.one_in(2)) return {begin, length};
  const int64_t skip = random.below(length);
  return {begin + skip, 1 + random.below(length - skip)};
}

Operation random_operation(const Settings& s, std::size_t round, SeededRandom& random) {
  using Kind = Operation::Kind;
  Operation op{Kind::write,
               static_cast<uint32_t>(random.below(s.ranks)),
               static_cast<uint32_t>(random.below(s.files)),
               {}};
  const int64_t dice = random.below(100);
  if (dice < 2) {
    op.kind = Kind::drop_clean;
  } else if (dice < 7) {
    op.kind = random.one_in(2) ? Kind::commit : Kind::commit_own;
  } else if (dice < 9) {
    op.kind = random.one_in(2) ? Kind::write_through : Kind::write_back;
  } else if (dice < 11) {
    op.kind = Kind::reopen;
  } else if (dice < 55) {
    op.extent = own_extent(s, op.rank, round, random);
    if (s.ranks > 1) {
      op.stride = s.granule * s.ranks;
      op.pieces = 1 + static_cast<int>(random.below(random.one_in(3) ? 12 : 2));
    }
  } else {
    op.kind = Kind::read;
    const int64_t offset = random.below(s.file_bytes);
    const int64_t most = random.one_in(10) ? 12000 : 1500;
    op.extent = {offset, std::min(1 + random.below(most), s.file_bytes - offset)};
    op.stride = op.extent.length + random.below(3000);
    op.pieces = 1 + static_cast<int>(random.below(random.one_in(3) ? 8 : 1));
  }
  while (op.pieces > 1 && op.extent.end() + (op.pieces - 1) * op.stride > s.file_bytes) --op.pieces;
  return op;
}

// All ways to leave out one part of the program, large parts first.
std::vector<Program> smaller(const Program& program) {
  std::vector<Program> all;
  for (std::size_t r = 0; r < program.rounds.size(); ++r) {
    Program less = program;
    less.rounds.erase(less.rounds.begin() + static_cast<std::ptrdiff_t>(r));
    all.push_back(std::move(less));
  }
  for (std::size_t r = 0; r < program.rounds.size(); ++r) {
    const std::size_t count = program.rounds[r].operations.size();
    for (std::size_t part = count; part >= 1; part /= 2) {
      for (std::size_t begin = 0; begin < count; begin += part) {
        Program less = program;
        auto& operations = less.rounds[r].operations;
        const auto first = operations.begin() + static_cast<std::ptrdiff_t>(begin);
        operations.erase(first, first + static_cast<std::ptrdiff_t>(std::min(part, count - begin)));
        all.push_back(std::move(less));
      }
    }
    if (program.rounds[r].truncate_to >= 0) {
      all.push_back(program);
      all.back().rounds[r].truncate_to = -1;
    }
    if (program.rounds[r].dies != Round::nobody) {
      all.push_back(program);
      all.back().rounds[r].dies = Round::nobody;
    }
    if (program.rounds[r].node_dies != Round::nobody) {
      all.push_back(program);
      all.back().rounds[r].node_dies = Round::nobody;
    }
  }
  if (program.settings.fails_one_in != 0) {
    all.push_back(program);
    all.back().settings.fails_one_in = 0;
  }
  return all;
}

}  // namespace

std::size_t Program::operations() const {
  std::size_t sum = 0;
  for (const Round& round : rounds) sum += round.operations.size();
  return sum;
}

Program random_program(uint64_t seed, int operations) {
  using Spot = sim::Fibers::Spot;
  constexpr Spot spots[] = {Spot::other, Spot::in_lock, Spot::in_wait};
  SeededRandom random(seed);
  Program program{random_settings(random), {}};
  const Settings& s = program.settings;
  uint32_t alive = s.ranks;
  while (operations > 0) {
    Round round;
    for (int64_t left = 1 + random.below(60); left > 0 && operations > 0; --left, --operations) {
      const Operation op = random_operation(s, program.rounds.size(), random);
      if (op.kind == Operation::Kind::write && op.extent.empty()) continue;
      round.operations.push_back(op);
    }
    if (random.one_in(4)) {
      round.truncate_to = random.below(s.file_bytes);
      round.truncated_file = static_cast<uint32_t>(random.below(s.files));
    }
    if (alive > 1 && random.one_in(3)) {
      round.dies_at = one_of(random, spots);
      const bool anybody = round.dies_at != Spot::other || random.one_in(2);
      round.dies = anybody ? Round::anybody : static_cast<int>(random.below(s.ranks));
      const int64_t most = round.dies_at == Spot::in_wait ? 40 : 2000;
      round.dies_after_steps = 1 + random.below(random.one_in(2) ? most / 20 : most);
      --alive;
    }
    if (s.nodes > 1 && random.one_in(8)) {
      round.node_dies = static_cast<int>(random.below(s.nodes));
      round.node_dies_after_steps = 1 + random.below(random.one_in(2) ? 100 : 1500);
    }
    program.rounds.push_back(std::move(round));
  }
  return program;
}

std::string describe(const Program& program) {
  constexpr const char* kinds[] = {"write",      "read",          "commit",     "commit own",
                                   "drop clean", "write through", "write back", "reopen"};
  constexpr const char* spots[] = {" steps", " steps with a shard's lock",
                                   " looks at a handle that uses a frame"};
  constexpr const char* steps_aside[] = {"at times, now ", "never ", "always "};
  const Settings& s = program.settings;
  std::ostringstream out;
  out << s.ranks << " ranks on " << s.nodes << " nodes, " << s.owning << " own bytes, domain "
      << s.domain->name << " of " << s.domain_size_bytes << " bytes, " << s.cache.page_kind->name()
      << " pages of " << s.cache.page_size << " bytes, " << s.cache.capacity_bytes << " bytes in "
      << s.cache.shards << " shards, " << s.cache.write_back_buffer
      << " of them for pages that leave, policy " << s.cache.policy->name << ", " << s.files
      << " files of " << s.first_bytes << " to " << s.file_bytes << " bytes, granule " << s.granule
      << ", bypass " << s.handles.bypass_bytes << ", dirty bound " << s.handles.dirty_bound
      << ", read ahead " << s.handles.read_ahead_bytes << ", commit size " << s.commit_size_bytes
      << (s.local ? ", local storage" : ", storage") << " fails one in " << s.fails_one_in
      << ", steps aside " << steps_aside[static_cast<int>(s.handles.step_aside)] << s.aside
      << (s.late_care ? ", the dead are late" : "")
      << (s.keeps_pages ? ", pages outlive closes" : "")
      << (s.in_rounds ? ", accesses of several pieces go in rounds" : "") << "\n";
  for (const Round& round : program.rounds) {
    for (const Operation& op : round.operations) {
      out << "  rank " << op.rank << " file " << op.file << " " << kinds[static_cast<int>(op.kind)]
          << " " << op.extent.offset << "+" << op.extent.length;
      if (op.pieces > 1) out << ", " << op.pieces << " times, " << op.stride << " apart";
      out << "\n";
    }
    if (round.dies != Round::nobody) {
      out << "  " << (round.dies < 0 ? "a rank" : "rank " + std::to_string(round.dies))
          << " dies after " << round.dies_after_steps << spots[static_cast<int>(round.dies_at)]
          << "\n";
    }
    out << "  all wait for each other\n";
    if (round.node_dies != Round::nobody) {
      out << "  node " << round.node_dies << " dies after " << round.node_dies_after_steps
          << " steps of its leader\n";
    }
    if (round.truncate_to >= 0) {
      out << "  truncate file " << round.truncated_file << " to " << round.truncate_to << "\n";
    }
  }
  return out.str();
}

Program shrink(Program program, uint64_t seed, int runs) {
  for (bool smaller_fails = true; smaller_fails && runs > 0;) {
    smaller_fails = false;
    for (Program& less : smaller(program)) {
      if (runs-- <= 0) break;
      if (run(less, seed).failure.empty()) continue;
      program = std::move(less);
      smaller_fails = true;
      break;
    }
  }
  return program;
}

}  // namespace forebay::test
