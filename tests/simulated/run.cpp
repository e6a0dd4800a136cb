// Runs a program's ranks, their helpers, and who takes the place of the dead, as fibers of nodes in
// virtual time, and holds what they see, and what storage gets, against the byte model.

#include "channel/plan_exchange.h"
#include "simulated/looks.h"

namespace forebay::test {
namespace {

constexpr uint64_t most_steps = 1'000'000;

class Run final : public Looks {
 public:
  using Looks::Looks;

  Outcome go() {
    for (uint32_t rank = 0; rank < settings_.ranks; ++rank)
      fibers_.spawn(process_of(rank), [this, rank] { live(rank); });
    fibers_.spawn(0, [this] { take_care(); });
    if (!fibers_.run(most_steps) && ok()) fail("it never ends");
    if (ok()) {
      for (File& file : files_) file.storage.heal();
      fibers_.spawn(0, [this] { settle(); });
      if (!fibers_.run(most_steps) && ok()) fail("the last commit never ends");
    }
    outcome_.digest = fibers_.digest();
    outcome_.steps = fibers_.steps();
    for (VirtualNode& node : nodes_)
      outcome_.waits_in_vain += node.cache().driver().waits_in_vain();
    for (const VirtualNode& node : nodes_) outcome_.kept_pages += node.kept_pages();
    for (const Statistics& statistics : statistics_) outcome_.statistics.add(statistics);
    for (const Statistics& statistics : background_) outcome_.background.add(statistics);
    check_sums();
    return std::move(outcome_);
  }

 private:
  // A rank's life.
  void live(uint32_t rank) {
    std::vector<std::unique_ptr<Opened>> opened;
    for (uint32_t file = 0; file < settings_.files; ++file) opened.push_back(open(rank, file));
    for (std::size_t r = 0; r < program_.rounds.size() && ok(); ++r) {
      const Round& round = program_.rounds[r];
      if (std::exchange(rounds_begun_, r + 1) == r && others_live(rank)) doom(round);
      for (const Operation& operation : round.operations) {
        if (operation.rank == rank && ok()) carry_out(operation, opened[operation.file]);
      }
      for (uint32_t file = 0; file < settings_.files; ++file) {
        if (opened[file] == nullptr) opened[file] = open(rank, file);
      }
      meet(rank);
      fibers_.kill_after(Fibers::any_group, -1);
      if (first_alive() == rank) {
        check_unsaved();
        if (settings_.nodes == 1) look_closely(*opened[r % opened.size()]);
      }
      meet(rank);
      if (settings_.nodes > 1) {
        for (const auto& file : opened) hand_over(round, *file);
      }
      if (round.truncate_to >= 0) truncate(*opened[round.truncated_file], round.truncate_to);
    }
    for (const auto& file : opened) close(*file);
    done_[rank] = true;
  }

  std::unique_ptr<Opened> open(uint32_t rank, uint32_t file) {
    bool joined = false;
    sim::VirtualSeat& seat = nodes_[node_of(rank)].take_seat(file, process_of(rank), &joined);
    auto opened = std::make_unique<Opened>(*this, rank, seat);
    fibers_.spawn(process_of(rank), [helper = &opened->helper] { helper->serve(); });
    if (joined)
      opened->node.cache().drop(opened->file, {0, INT64_MAX}, false);
    else
      opened->file.state().aside = settings_.aside;
    return opened;
  }

  void end_write_through(Opened& opened) {
    if (!std::exchange(opened.through, false)) return;
    --through_[opened.file.slot()];
    opened.handle.end_write_through();
  }

  void close(Opened& opened) {
    opened.helper.stop();
    while (ok() && !settings_.last_commits && !commit_own(opened)) fibers_.sleep(poll_ns);
    end_write_through(opened);
    while (ok() && !opened.node.give_back(opened.file)) {
      if (!commit(opened)) fibers_.sleep(poll_ns);
    }
  }

  // Says who dies before the ranks meet again.
  void doom(const Round& round) {
    if (round.dies == Round::nobody) return;
    const bool anybody = round.dies == Round::anybody;
    fibers_.kill_after(anybody ? Fibers::any_group : process_of(static_cast<uint32_t>(round.dies)),
                       round.dies_after_steps, round.dies_at);
  }

  void carry_out(const Operation& op, std::unique_ptr<Opened>& opened) {
    using Kind = Operation::Kind;
    if (opened == nullptr) opened = open(op.rank, op.file);
    Handle& handle = opened->handle;
    ++outcome_.accesses;
    switch (op.kind) {
      case Kind::write:
        return write(op, *opened);
      case Kind::read:
        return read(op, *opened);
      case Kind::commit:
        commit(*opened);
        return;
      case Kind::commit_own:
        commit_own(*opened);
        return;
      case Kind::drop_clean:
        return opened->node.cache().drop(opened->file, {0, INT64_MAX}, false);
      case Kind::write_through:
        if (std::exchange(opened->through, true)) return;
        ++through_[op.file];
        ends_well(handle.begin_write_through(), "the beginning of writing through");
        return;
      case Kind::write_back:
        end_write_through(*opened);
        return;
      case Kind::reopen:
        close(*opened);
        opened = settings_.keeps_pages ? nullptr : open(op.rank, op.file);
        return;
    }
  }

  // All bytes that storage got are counted.
  void check_sums() {
    if (ok() && !settings_.handles.write_behind && outcome_.background.commit_lists > 0)
      fail("commits go on in the background");
    if (!ok() || !sound() || outcome_.deaths > 0) return;
    if (outcome_.statistics.guest_bytes != outcome_.statistics.accepted_bytes)
      fail("nodes have taken other bytes than were handed over");
    int64_t counted = settled_bytes_;
    for (const Statistics& sum : {outcome_.statistics, outcome_.background})
      counted += sum.committed_bytes + sum.bypass_written_bytes;
    if (counted != stored_bytes_)
      fail("storage got " + std::to_string(stored_bytes_) + " bytes, not " +
           std::to_string(counted));
  }

  // What ranks of several nodes do at a collective call (mpiio/file/hand_over.h).
  void hand_over(const Round& round, Opened& opened) {
    const uint32_t rank = opened.rank;
    const uint32_t node = node_of(rank);
    if (first_alive() == rank) {
      all_handed_over_ = true;
      for (uint32_t n = 0; n < settings_.nodes; ++n) {
        const uint32_t leader = leader_of(n);
        handing_over_[n] = leader == settings_.ranks ? nobody : leader;
      }
      if (round.node_dies != Round::nobody && other_nodes_live(round.node_dies)) {
        const uint32_t leader = leader_of(static_cast<uint32_t>(round.node_dies));
        fibers_.kill_after(process_of(leader), round.node_dies_after_steps);
      }
    }
    meet(rank);
    if (handing_over_[node] == rank) {
      PlanExchange<sim::VirtualDriver> exchange(opened.node.cache().driver(), exchanges_[node]);
      const Status status = opened.handle.hand_over(domains_of(opened, node), exchange);
      if (!ends_well(status, "a hand-over")) all_handed_over_ = false;
    }
    meet(rank);
    fibers_.kill_after(Fibers::any_group, -1);
    handing_over_[node] = nobody;
    if (all_handed_over_) opened.handle.note_stored();
    opened.node.cache().drop(opened.file, {0, INT64_MAX}, false);
    if (first_alive() == rank && all_handed_over_) file_of(opened).model.hand_over();
    meet(rank);
  }

  // Assigned at the first hand-over of the file.
  const FileDomains& domains_of(Opened& opened, uint32_t node) {
    File& file = file_of(opened);
    if (file.domains.empty()) file.domains.resize(settings_.nodes);
    if (file.domains[node]) return *file.domains[node];
    const Extent region = opened.node.cache().dirty_region(opened.file);
    ListExchange::Facts all{region.empty() ? INT64_MAX : region.offset, region.end(), 0, 0, 0};
    exchanges_[node].gather(ListExchange::Facts(all), [&](const ListExchange::Facts& theirs) {
      all = {std::min(all[0], theirs[0]), std::max(all[1], theirs[1]), 0, 0, 0};
    });
    DomainFacts facts;
    facts.nodes = settings_.owning;
    facts.unit_bytes = settings_.cache.page_size;
    facts.chunk_bytes = settings_.domain_size_bytes;
    facts.file_bytes = settings_.first_bytes;
    facts.stripe_bytes = settings_.cache.page_size;
    facts.servers = settings_.nodes + 1;
    if (all[1] > all[0]) facts.region = {all[0], all[1] - all[0]};
    return file.domains[node].emplace(settings_.domain->assign(facts));
  }

  // No rank accesses a file, and none dies, meanwhile. A rank of each node forgets what is beyond.
  void truncate(Opened& opened, int64_t bytes) {
    const uint32_t rank = opened.rank;
    const bool leads = leader_of(node_of(rank)) == rank;
    meet(rank);
    if (leads) opened.handle.truncate(bytes);
    meet(rank);
    if (first_alive() == rank) file_of(opened).storage.truncate(bytes);
    meet(rank);
    if (leads) opened.handle.truncate(bytes);
    meet(rank);
    if (first_alive() == rank) file_of(opened).model.truncate(bytes);
    meet(rank);
  }

  // All ranks that live wait for each other, and for what the dead left to be taken care of.
  void meet(uint32_t rank) {
    const int64_t mine = ++round_of_[rank];
    const auto all_here = [&] {
      for (uint32_t other = 0; other < settings_.ranks; ++other) {
        if (alive(other) ? round_of_[other] < mine : !reaped_[other]) return false;
      }
      return true;
    };
    meets_[rank] = true;
    while (ok() && !all_here()) fibers_.sleep(poll_ns);
    meets_[rank] = false;
  }

  bool nobody_is_busy() const {
    for (uint32_t rank = 0; rank < settings_.ranks; ++rank) {
      const bool hands_over = handing_over_[node_of(rank)] == rank;  // and waits for other nodes
      if (alive(rank) && !meets_[rank] && !done_[rank] && !hands_over) return false;
    }
    return true;
  }
  // Takes the place of ranks that die: at any time, or late, when those that live have come to
  // their meeting without that.
  void take_care() {
    const auto over = [&] {
      for (uint32_t rank = 0; rank < settings_.ranks; ++rank) {
        if (alive(rank) ? !done_[rank] : !reaped_[rank]) return false;
      }
      return true;
    };
    while (ok() && !over()) {
      fibers_.sleep(1 + random_.below(20'000'000));
      end_dead_nodes();
      if (settings_.late_care && !nobody_is_busy()) continue;
      for (uint32_t rank = 0; rank < settings_.ranks; ++rank) {
        if (alive(rank) || reaped_[rank]) continue;
        reaped_[rank] = nodes_[node_of(rank)].reap(process_of(rank)).ok();
        outcome_.deaths += reaped_[rank] ? 1 : 0;
      }
    }
  }
  // A node whose leader dies while it hands over is dead, and so is one without ranks.
  void end_dead_nodes() {
    for (uint32_t node = 0; node < settings_.nodes; ++node) {
      if (node_died_[node]) continue;
      const uint32_t handing_over = handing_over_[node];
      const bool leader_died = handing_over != nobody && !alive(handing_over);
      if (!leader_died && leader_of(node) != settings_.ranks) continue;
      node_died_[node] = true;
      for (uint32_t rank = node; rank < settings_.ranks; rank += settings_.nodes) {
        if (alive(rank)) fibers_.kill(process_of(rank));
      }
      transport_.kill(node);
    }
  }

  // When all have left: nothing was lost.
  void settle() {
    for (uint32_t f = 0; f < settings_.files; ++f) {
      for (VirtualNode& node : nodes_) {
        Statistics statistics;
        sim::VirtualSeat none;
        none.file = f;
        VirtualFile left(node, none, 0, statistics, settings_.commit_size_bytes);
        if (!node.cache().commit(left, {0, INT64_MAX}).ok()) fail("sound storage refuses a commit");
        settled_bytes_ += statistics.committed_bytes;
      }
      const ByteModel& model = files_[f].model;
      if (ok())
        outcome_.failure = model.check_storage(model.at_the_end(), files_[f].storage.bytes());
    }
    for (VirtualNode& node : nodes_) {
      if (ok() && node.cache().may_be_dirty()) fail("what was committed counts as dirty");
    }
  }
};

}  // namespace

Outcome run(const Program& program, uint64_t seed) { return Run(program, seed).go(); }

}  // namespace forebay::test
