// Random programs of jobs whose ranks open the file when they like to, alone or in groups, while
// others have it open: the agent that keeps the job's directory tells who owns its bytes.

#include <gtest/gtest.h>

#include "agents/job.h"

namespace forebay::test {
namespace {

// Each rank opens the file alone.
class OpenAlone : public Job {
 public:
  OpenAlone(uint64_t seed, const std::string& folder, bool loud) : Job(seed, folder, loud) {
    settings_.open_alone();
  }

 protected:
  // A node's agent keeps the directory, and nobody has the file open yet.
  void start() override {
    addresses_ = start_nodes(false);
    const Address& keeper = addresses_[static_cast<std::size_t>(random_.below(settings_.nodes))];
    owners_.assign(reinterpret_cast<const char*>(&keeper), sizeof keeper);
    settings_.opening.owners = std::ssize(owners_);
  }

  std::vector<int64_t> closed_on_other_nodes(const NodeProcess* than) {
    std::vector<int64_t> ranks;
    for (int64_t rank = 0; rank < settings_.ranks(); ++rank) {
      if (!has_open(rank) && !is_busy(rank) && &node_of(rank) != than) ranks.push_back(rank);
    }
    return ranks;
  }
  int64_t draw_of(const std::vector<int64_t>& ranks) {
    return ranks[static_cast<std::size_t>(random_.below(std::ssize(ranks)))];
  }
  virtual bool draw_can_write() { return !random_.one_in(3); }
  // It can write, or not.
  void draw_open(int64_t rank) {
    can_write_[static_cast<std::size_t>(rank)] = draw_can_write();
    open_[static_cast<std::size_t>(rank)] = true;
    note("rank " + std::to_string(rank) + " opens" + (can_write(rank) ? "" : " to read"));
  }

  // Also several ranks at once, of different nodes.
  void open_alone() {
    std::vector<int64_t> ranks = closed_on_other_nodes(nullptr);
    if (ranks.empty()) return living().empty() ? void() : read();
    if (random_.one_in(2)) ranks = {draw_of(ranks)};
    std::vector<int64_t> opening;
    std::vector<std::string> texts;
    for (const int64_t rank : ranks) {
      if (!opening.empty() && &node_of(opening.back()) == &node_of(rank)) continue;
      draw_open(rank);
      opening.push_back(rank);
      texts.push_back(opening_of(rank));
    }
    const std::vector<Command> commands(opening.size(), {.order = Order::open_alone});
    expect_success(ask_together(opening, commands, texts));
  }

  // An open gives the file owners while a rank writes into its node's cache alone.
  void open_beside_a_write() {
    const std::vector<int64_t> ranks = writers();
    if (ranks.empty()) return open_alone();
    const int64_t writer = draw_of(ranks);
    const std::vector<int64_t> closed = closed_on_other_nodes(&node_of(writer));
    if (closed.empty()) return write();
    const int64_t opener = draw_of(closed);
    const Draw draw = draw_access(true);
    const std::string bytes = draw_bytes(draw.count);
    note("rank " + std::to_string(writer) + " writes " + draw.text() + ", and meanwhile");
    draw_open(opener);
    expect_success(ask_together({writer, opener},
                                {command_of(Order::write, draw), {.order = Order::open_alone}},
                                {bytes, opening_of(opener)}));
    apply(draw, bytes, true);
    read(opener, draw);
    if (!testing::Test::HasFailure()) read(writer, draw);
  }

  // Whether the rank opens or closes the file just now, together with others.
  virtual bool is_busy(int64_t /*rank*/) const { return false; }

  // The last owner's bytes are in storage before the directory forgets the file.
  virtual void close() { close_alone(draw_rank()); }
  void close_alone(int64_t rank) {
    note("rank " + std::to_string(rank) + " closes");
    expect_success({ask(rank, {.order = Order::close_commits})});
    std::vector<int64_t> ranks{rank};
    std::vector<Command> commands{{.order = Order::close_leaves}};
    std::vector<std::string> texts{""};
    const std::vector<int64_t> closed = closed_on_other_nodes(&node_of(rank));
    if (!closed.empty() && random_.one_in(3)) {
      ranks.push_back(draw_of(closed));
      draw_open(ranks.back());
      commands.push_back({.order = Order::open_alone});
      texts.push_back(opening_of(ranks.back()));
    }
    expect_success(ask_together(ranks, commands, texts));
    open_[static_cast<std::size_t>(rank)] = false;
  }

  void take_step() override {
    if (living().empty()) return open_alone();
    const int64_t kind = random_.below(100);
    if (kind < 10) return open_alone();
    if (kind < 16) return open_beside_a_write();
    if (kind < 26) return close();
    if (kind < 50) return write();
    if (kind < 78) return read();
    if (kind < 83) return read_beside_a_write();
    if (kind < 86) return writers().empty() ? read() : write_together();
    if (kind < 90) return ask_size();
    if (kind < 96) return commit();
    set_size();
  }

  void commit_at_the_end() override {
    for (const int64_t rank : living())
      expect_success({ask(rank, {.order = Order::close_commits})});
  }

  std::vector<Address> addresses_;  // by node
};

TEST(Agents, LoseNoByteOfRanksThatOpenTheFileAlone) { play_programs<OpenAlone>(); }

// Ranks open the file in groups, too. Others go on between the parts of a group's open and close.
class OpenInGroups final : public OpenAlone {
 public:
  using OpenAlone::OpenAlone;

 private:
  using Group = std::vector<int64_t>;

  void start() override {
    OpenAlone::start();
    group_of_.resize(open_.size());
  }

  bool is_busy(int64_t rank) const override { return !open_[index(rank)] && group(rank) != 0; }
  static std::size_t index(int64_t rank) { return static_cast<std::size_t>(rank); }
  int64_t group(int64_t rank) const { return group_of_[index(rank)]; }
  bool on_one_node(const Group& ranks) {
    return std::ranges::all_of(
        ranks, [&](int64_t rank) { return &node_of(rank) == &node_of(ranks.front()); });
  }
  static std::string names(const Group& ranks) {
    std::string said = "ranks";
    for (const int64_t rank : ranks) said += " " + std::to_string(rank);
    return said;
  }

  // Often where the latest access was: what one rank leaves in caches is for the next to see.
  Draw draw_access(bool writes) override {
    if (latest_.count == 0 || random_.one_in(2)) latest_ = OpenAlone::draw_access(writes);
    return latest_;
  }

  // What others do while a group opens or closes the file.
  void meanwhile() {
    if (depth_ >= 2 || random_.one_in(3)) return;
    ++depth_;
    const int64_t steps = 1 + random_.below(4);
    for (int64_t step = 0; step < steps && !testing::Test::HasFailure(); ++step) take_step();
    --depth_;
  }

  // Their nodes own the file, unless others own it.
  Owners proposal(const Group& ranks) const {
    Owners owners;
    for (const int64_t rank : ranks) {
      const Address& address = addresses_[index(rank / settings_.ranks_a_node)];
      if (owners.number_of(address.key) == Owners::none) owners.agents.push_back(address);
    }
    owners.domains =
        FileDomains(0, settings_.opening.chunk_bytes, static_cast<uint32_t>(owners.agents.size()));
    if (settings_.opening.first_touch != 0) owners.domains = owners.domains.by_first_touch();
    return owners;
  }

  void open_group() {
    Group ranks = closed_on_other_nodes(nullptr);
    while (std::ssize(ranks) > 2 && random_.one_in(2))
      ranks.erase(ranks.begin() + random_.below(std::ssize(ranks)));
    if (ranks.size() < 2) return open_alone();
    const bool writes = draw_can_write();
    note(names(ranks) + " open together" + (writes ? "" : " to read"));
    ++groups_;
    for (const int64_t rank : ranks) {
      group_of_[index(rank)] = groups_;
      can_write_[index(rank)] = writes;
    }
    const int64_t one_node = int64_t{on_one_node(ranks)};
    std::string known;
    const Command open_here{.order = Order::open_here, .count = one_node};
    for (const int64_t rank : ranks) {
      std::string answer;
      expect_success({ask(rank, open_here, opening_of(rank), &answer)});
      if (known.empty()) known = answer;
    }
    meanwhile();
    if (one_node != 0) {
      const Command enrol{.order = Order::enrol_alone, .count = std::ssize(ranks)};
      expect_success({ask(ranks.front(), enrol)});
    } else {
      join(ranks, known);
    }
    for (const int64_t rank : ranks) open_[index(rank)] = true;
  }

  // `known`: the owners that the cache of a rank's node knows; or empty.
  void join(const Group& ranks, const std::string& known) {
    const std::vector<std::byte> proposed = proposal(ranks).encoded();
    const std::string own{reinterpret_cast<const char*>(proposed.data()), proposed.size()};
    std::string owners;
    const Reply enrolled =
        ask(ranks.front(), {.order = Order::enrol}, known.empty() ? own : known, &owners);
    expect_success({enrolled});
    const bool given = !known.empty() || (enrolled.value & Said::has_others) != 0;
    meanwhile();
    int64_t said = enrolled.value & ~int64_t{Said::has_others};
    for (const int64_t rank : ranks) {
      const auto here = std::ranges::count_if(
          ranks, [&](int64_t other) { return &node_of(other) == &node_of(rank); });
      const Reply reply = ask(rank, {.order = Order::join, .count = here}, owners);
      expect_success({reply});
      said |= reply.value;
    }
    const bool used = given || (said & Said::has_others) != 0;
    const bool meets = !given || (said & (Said::has_news | Said::ends_copies)) != 0;
    const int64_t how = given ? 1 : used ? 2 : 0;
    if (meets) expect_success(ask_together(ranks, {.order = Order::meet, .count = how}));
    for (const int64_t rank : ranks) {
      const int64_t all = rank == ranks.front() ? said : said & ~int64_t{Said::ends_copies};
      expect_success({ask(rank, {.order = Order::end_open, .count = all})});
    }
  }

  bool draw_can_write() override { return !only_reads_ && OpenAlone::draw_can_write(); }

  // Nobody can write for a while, so that nodes may have copies of each other's bytes.
  void begin_to_read() {
    for (std::vector<int64_t> ranks = writers(); !ranks.empty(); ranks = writers())
      close(ranks.front());
    only_reads_ = true;
  }

  // All that have the file open may have copies of the bytes that the first writer writes.
  void end_reading() {
    only_reads_ = false;
    const Draw draw = draw_access(false);
    for (const int64_t rank : living()) read(rank, draw);
    open_alone();
    if (writers().empty() || testing::Test::HasFailure()) return;
    const int64_t writer = draw_of(writers());
    const std::string bytes = draw_bytes(draw.count);
    note("all read " + draw.text() + ", before and after rank " + std::to_string(writer) +
         " writes there");
    expect_success({ask(writer, command_of(Order::write, draw), bytes)});
    apply(draw, bytes, true);
    for (const int64_t rank : living()) {
      if (!testing::Test::HasFailure()) read(rank, draw);
    }
  }

  void close() override { close(draw_rank()); }
  void close(int64_t rank) {
    if (group(rank) == 0) return close_alone(rank);
    Group ranks;
    for (int64_t other = 0; other < settings_.ranks(); ++other) {
      if (group(other) == group(rank)) ranks.push_back(other);
    }
    note(names(ranks) + " close together");
    expect_success(ask_together(ranks, {.order = Order::close_commits}));
    for (const int64_t leaver : ranks) open_[index(leaver)] = false;
    meanwhile();
    for (const int64_t leaver : ranks) {
      expect_success({ask(leaver, {.order = Order::close_leaves, .count = 1})});
      meanwhile();
    }
    expect_success({ask(ranks.front(), {.order = Order::withdraw})});
    for (const int64_t leaver : ranks) group_of_[index(leaver)] = 0;
  }

  void take_step() override {
    if (random_.one_in(12)) only_reads_ ? end_reading() : begin_to_read();
    if (random_.one_in(8) || (living().empty() && random_.one_in(2))) return open_group();
    if (!living().empty() && random_.one_in(8)) return close();
    OpenAlone::take_step();
  }

  std::vector<int64_t> group_of_;  // by rank; 0: it has the file open alone, or not
  int64_t groups_ = 0;
  bool only_reads_ = false;
  Draw latest_;
  int depth_ = 0;  // of steps within steps
};

TEST(Agents, LoseNoByteOfGroupsThatOpenTheFile) { play_programs<OpenInGroups>(); }

}  // namespace
}  // namespace forebay::test
