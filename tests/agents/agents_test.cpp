// Random programs of jobs on two to eight nodes whose file has owners (scope=job,
// consistency=posix): only what goes over the network is common to the nodes. The test tells one
// rank after another what to do, and knows after every step what each byte is. Now and then ranks
// write side by side, and a node is killed.

#include <gtest/gtest.h>

#include "agents/job.h"
#include "domain/cyclic.h"
#include "domain/region.h"
#include "extent/layout.h"

namespace forebay::test {
namespace {

// All ranks open the file together.
class OpenTogether final : public Job {
 public:
  using Job::Job;

 private:
  void start() override {
    Owners owners;
    const std::vector<Address> addresses = start_nodes(true);
    // The last nodes own bytes.
    first_owner_ = settings_.nodes - settings_.owning;
    owners.agents.assign(addresses.begin() + first_owner_, addresses.end());
    DomainFacts facts;
    facts.nodes = static_cast<uint32_t>(settings_.owning);
    facts.include_page(settings_.opening.page_bytes);
    facts.chunk_bytes = settings_.chunk_pages * settings_.opening.page_bytes;
    facts.file_bytes = settings_.stored_before;
    facts.stripe_bytes = facts.chunk_bytes;
    facts.servers = settings_.servers;
    domains_ = owners.domains = find_assignment(settings_.domain)->assign(facts);
    const std::vector<std::byte> record = owners.encoded();
    settings_.opening.owners = std::ssize(record);
    owners_.assign(reinterpret_cast<const char*>(record.data()), record.size());
    expect_success(ask_together(living(), {.order = Order::open}, opening_of(0)));
    expect_success(ask_together(living(), {.order = Order::meet}));
  }

  // A rank closes the file alone, or opens it alone. A node may own bytes while none of its ranks
  // has the file open. Some ranks commit nothing when they close, as after a failure: what they
  // wrote is seen by the others all the same.
  void close_or_open() {
    const int64_t rank = random_.below(settings_.ranks());
    const std::size_t place = static_cast<std::size_t>(rank);
    if (!has_open(rank)) {
      if (settings_.readers) can_write_[place] = random_.one_in(2);
      note("rank " + std::to_string(rank) + " opens" + (can_write(rank) ? "" : " to read"));
      expect_success({ask(rank, {.order = Order::open}, opening_of(rank))});
      expect_success({ask(rank, {.order = Order::meet, .count = 1})});
      open_[place] = true;
    } else if (living().size() > 1) {
      note("rank " + std::to_string(rank) + " closes");
      if (rank % 2 == 0) expect_success({ask(rank, {.order = Order::close_commits})});
      expect_success({ask(rank, {.order = Order::close_leaves})});
      open_[place] = false;
    }
  }

  // As mpiio/file/owners_parts.cpp: the owners get other parts, while all that have the file open
  // wait; each node has a rank among them.
  void change_parts() {
    const std::vector<int64_t> ranks = living();
    std::vector<int64_t> first;  // of each node
    for (const int64_t rank : ranks) {
      if (first.empty() || &node_of(first.back()) != &node_of(rank)) first.push_back(rank);
    }
    if (std::ssize(first) < settings_.nodes) return read();
    DomainFacts facts;
    facts.nodes = static_cast<uint32_t>(settings_.owning);
    facts.include_page(page());
    facts.chunk_bytes = (1 + random_.below(5)) * page();
    facts.region = {random_.below(4 * page()), 1 + random_.below(6 * settings_.nodes * page())};
    const bool by_region = random_.one_in(2);
    const FileDomains domains = by_region ? assign_region(facts) : assign_cyclic(facts);
    note("all give the owners parts of " + std::to_string(domains.chunk_bytes()) + " bytes from " +
         std::to_string(domains.origin()) + " on");
    const std::string text(reinterpret_cast<const char*>(&domains), sizeof domains);
    expect_success(ask_together(ranks, {.order = Order::change_prepare}, text));
    expect_success(ask_together(first, {.order = Order::change_commit}));
    expect_success(ask_together(ranks, {.order = Order::change}));
    domains_ = domains;
    Owners owners = *Owners::decoded(std::as_bytes(std::span(owners_)));
    owners.domains = domains;
    const std::vector<std::byte> record = owners.encoded();
    owners_.assign(reinterpret_cast<const char*>(record.data()), record.size());
  }

  void kill_node() {
    const std::vector<int64_t> ranks = living();
    const int64_t rank = draw_rank();
    const bool alone = std::ranges::all_of(
        ranks, [&](int64_t other) { return &node_of(other) == &node_of(rank); });
    if (alone) return;
    note("the node of rank " + std::to_string(rank) + " is gone");
    node_of(rank).kill_it();
    anyone_dead_ = true;
  }

  void take_step() override {
    if (settings_.readers && !anyone_dead_ && random_.one_in(10)) return close_or_open();
    const int64_t kind = random_.below(100);
    if (kind < settings_.writes_in_100) return write();
    if (kind < 72) return read();
    if (kind < 76) return read_beside_a_write();
    if (kind < 81 && long_steps_ <= 0)
      return random_.below(40) < settings_.writes_in_100 ? write_together() : read();
    if (kind == 99 && settings_.kills) return kill_node();
    if (long_steps_ > 0) return kind < 85 && !anyone_dead_ ? ask_size() : read_beside_a_write();
    if (kind < 85) {
      const int64_t rank = draw_rank(), bytes = settings_.draw_bypass(random_);
      note("rank " + std::to_string(rank) + " sets bypass to " + std::to_string(bytes));
      return expect_success({ask(rank, {.order = Order::bypass, .count = bytes})});
    }
    if (anyone_dead_) return read();
    if (kind < 88) return ask_size();
    if (kind < 92) return commit();
    if (kind < 94) return set_size();
    if (kind < 97) return close_or_open();
    if (kind < 99) return change_parts();
    const int64_t rank = draw_rank();
    note("rank " + std::to_string(rank) + " forgets everywhere");
    expect_success({ask(rank, {.order = Order::forget})});
  }

  // A rank that leaves without a commit leaves its bytes to caches whose last user commits them. An
  // agent may not know yet that a dead node's ranks use its cache no more.
  void commit_at_the_end() override {
    if (anyone_dead_) ask_together(living(), {.order = Order::close_commits});
  }
};

TEST(Agents, LoseNoByte) { play_programs<OpenTogether>(); }

}  // namespace
}  // namespace forebay::test

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "--node") == 0)
    return forebay::test::play_node(std::atoi(argv[2]), argv[3]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
