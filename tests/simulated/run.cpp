// Runs a program's ranks, their helpers, and who takes the place of the dead, as fibers of nodes in
// virtual time, and holds what they see, and what storage gets, against the byte model.

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "sim/virtual_transport.h"
#include "simulated/byte_model.h"
#include "simulated/faulty_storage.h"
#include "simulated/program.h"
#include "storage/plan_exchange.h"

namespace forebay::test {
namespace {

using sim::Fibers;
using sim::VirtualFile;
using sim::VirtualNode;

constexpr int64_t poll_ns = 500'000;
constexpr int64_t most_message_ns = 2'000'000;
constexpr uint64_t most_steps = 1'000'000;

// One process's second fiber: commits and fetches in the background.
class Helper final : public sim::VirtualHelper {
 public:
  Helper(VirtualNode& node, const VirtualFile& file, bool writes_back)
      : node_(node), file_(file), writes_back_(writes_back) {}
  void commit(uint32_t target) override {
    commit_target_ = target;
    wants_commit_ = true;
    node_.fibers().wake(work_);
  }
  void fetch(std::span<const Extent> extents) override {
    to_fetch_.insert(to_fetch_.end(), extents.begin(), extents.end());
    node_.fibers().wake(work_);
  }
  bool write_back() override {
    if (!writes_back_) return false;
    wants_write_back_ = true;
    node_.fibers().wake(work_);
    return true;
  }
  void serve() {
    while (!stop_) {
      if (std::exchange(wants_write_back_, false)) {
        static_cast<void>(node_.cache().write_back(file_));
      } else if (std::exchange(wants_commit_, false)) {
        static_cast<void>(node_.cache().commit_some(file_, commit_target_));
      } else if (!to_fetch_.empty()) {
        const std::vector<Extent> extents = std::exchange(to_fetch_, {});
        PageCursor pages(extents, node_.cache().page_size());
        while (!stop_ && node_.cache().prefetch(file_, pages)) {
        }
      } else {
        node_.fibers().wait(work_);
      }
    }
    stopped_ = true;
    node_.fibers().wake(work_);
  }
  void stop() {
    stop_ = true;
    node_.fibers().wake(work_);
    while (!stopped_) node_.fibers().wait(work_);
  }

 private:
  VirtualNode& node_;
  VirtualFile file_;
  Fibers::Queue work_;
  const bool writes_back_;
  bool wants_write_back_ = false;
  bool wants_commit_ = false;
  uint32_t commit_target_ = 0;
  std::vector<Extent> to_fetch_;
  bool stop_ = false;
  bool stopped_ = false;
};

std::vector<std::byte> random_bytes(int64_t count, SeededRandom& random) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(count));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(256));
  return bytes;
}

class Run {
  using Handle = CacheHandle<sim::VirtualDriver>;

 public:
  Run(const Program& program, uint64_t seed)
      : program_(program),
        settings_(program.settings),
        random_(seed),
        fibers_(random_.next(), settings_.steps_a_switch, settings_.steps_a_pause),
        storages_(make_files()),
        transport_(fibers_, settings_.nodes, most_message_ns, random_.next()),
        round_of_(settings_.ranks, 0),
        done_(settings_.ranks, false),
        reaped_(settings_.ranks, false),
        statistics_(settings_.ranks) {
    for (uint32_t node = 0; node < settings_.nodes; ++node) {
      nodes_.emplace_back(fibers_, settings_.cache, storages_, settings_.most_frames);
      exchanges_.emplace_back(transport_.channel(node), node, settings_.nodes);
    }
    handing_over_.resize(settings_.nodes, nobody);
    node_died_.resize(settings_.nodes, false);
  }

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
    for (const Statistics& statistics : statistics_) outcome_.statistics.add(statistics);
    return std::move(outcome_);
  }

 private:
  struct File {
    File(Run& run, const std::vector<std::byte>& first_bytes)
        : model(first_bytes, run.settings_.file_bytes, run.settings_.nodes),
          storage(run.fibers_, first_bytes, run.settings_.fails_one_in, run.random_.next(),
                  [&run, this](int64_t offset, std::span<const std::byte> bytes) {
                    if (run.ok()) run.outcome_.failure = model.check_stored(offset, bytes);
                  }) {}
    ByteModel model;
    FaultyStorage storage;
    std::vector<std::optional<FileDomains>> domains;  // by node
  };

  // A file as a rank has it open.
  struct Opened {
    Opened(Run& run, uint32_t opener, sim::VirtualSeat& seat)
        : rank(opener),
          node(run.nodes_[run.node_of(rank)]),
          file(node, seat, rank, run.statistics_[rank], run.settings_.commit_size_bytes),
          helper(node, file, run.settings_.handles.write_behind),
          handle(node.cache(), with_helper(run), run.settings_.handles, true, run.settings_.local) {
    }
    VirtualFile& with_helper(const Run& run) {
      file.set_bytes_worth_a_request(run.settings_.bytes_worth_a_request);
      file.use_helper(helper);
      return file;
    }
    const uint32_t rank;
    VirtualNode& node;
    VirtualFile file;
    Helper helper;
    Handle handle;
    bool through = false;
  };

  std::vector<Storage*> make_files() {
    std::vector<Storage*> storages;
    for (uint32_t f = 0; f < settings_.files; ++f) {
      File& file = files_.emplace_back(*this, random_bytes(settings_.first_bytes, random_));
      storages.push_back(&file.storage);
    }
    return storages;
  }
  File& file_of(const Opened& opened) { return files_[opened.file.slot()]; }

  static uint32_t process_of(uint32_t rank) { return rank + 1; }
  uint32_t node_of(uint32_t rank) const { return rank % settings_.nodes; }
  bool ok() const { return outcome_.failure.empty(); }
  void fail(const std::string& why) {
    if (ok()) outcome_.failure = why;
  }
  bool alive(uint32_t rank) const { return !fibers_.is_dead(process_of(rank)); }

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
      meet(rank);
      fibers_.kill_after(Fibers::any_group, -1);
      if (first_alive() == rank) check_unsaved();
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
    if (joined) opened->node.cache().drop(opened->file, {0, INT64_MAX}, false);
    return opened;
  }

  void close(Opened& opened) {
    opened.helper.stop();
    while (ok() && !settings_.last_commits && !commit_own(opened)) fibers_.sleep(poll_ns);
    if (std::exchange(opened.through, false)) opened.handle.end_write_through();
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
    Handle& handle = opened->handle;
    ++outcome_.accesses;
    switch (op.kind) {
      case Kind::write:
        return write(op, handle);
      case Kind::read:
        return read(op, handle);
      case Kind::commit:
        commit(*opened);
        return;
      case Kind::commit_own:
        commit_own(*opened);
        return;
      case Kind::drop_clean:
        return opened->node.cache().drop(opened->file, {0, INT64_MAX}, false);
      case Kind::write_through:
        if (!std::exchange(opened->through, true)) static_cast<void>(handle.begin_write_through());
        return;
      case Kind::write_back:
        if (std::exchange(opened->through, false)) handle.end_write_through();
        return;
      case Kind::reopen:
        close(*opened);
        opened = open(op.rank, op.file);
        return;
    }
  }

  // The pieces of an operation are one access, through a view where there are several.
  static Tiling view_of(const Operation& op) {
    return {Layout::block(op.extent.length), op.extent.offset, op.stride};
  }
  static Access access_of(const Operation& op, const Tiling& view) {
    const bool writes = op.kind == Operation::Kind::write;
    if (op.pieces == 1) return {writes, false, nullptr, op.extent.offset, op.extent.length};
    return {writes, false, &view, 0, op.extent.length * op.pieces};
  }
  static Extent piece_of(const Operation& op, int piece) {
    return {op.extent.offset + piece * op.stride, op.extent.length};
  }

  void write(const Operation& op, Handle& handle) {
    ByteModel& model = files_[op.file].model;
    std::vector<std::byte> bytes;
    for (int piece = 0; piece < op.pieces; ++piece) {
      if (!model.may_write(piece_of(op, piece), op.rank)) return;
    }
    for (int piece = 0; piece < op.pieces; ++piece) {
      const std::vector<std::byte> values = model.begin_write(piece_of(op, piece), op.rank);
      bytes.insert(bytes.end(), values.begin(), values.end());
    }
    const Tiling view = view_of(op);
    const std::byte* const source = bytes.data();
    int64_t moved = 0;
    const Status status = handle.write(access_of(op, view), source, &moved);
    if (status.ok() != (moved == std::ssize(bytes)))
      fail("a write says that it moved less or more");
    for (int piece = 0; (piece + 1) * op.extent.length <= moved; ++piece)
      model.end_write(piece_of(op, piece));
  }

  void read(const Operation& op, Handle& handle) {
    const ByteModel& model = files_[op.file].model;
    std::vector<ByteModel::Moment> moments;
    for (int piece = 0; piece < op.pieces; ++piece)
      moments.push_back(model.now(piece_of(op, piece), node_of(op.rank)));
    const auto length = static_cast<std::size_t>(op.extent.length);
    std::vector<std::byte> bytes(length * moments.size(), std::byte{0xee});
    const Tiling view = view_of(op);
    int64_t moved = 0;
    if (!handle.read(access_of(op, view), bytes.data(), &moved).ok()) return;
    bytes.resize(static_cast<std::size_t>(moved));
    for (std::size_t piece = 0; piece < moments.size() && ok(); ++piece) {
      const std::size_t begin = std::min(piece * length, bytes.size());
      const std::size_t count = std::min(length, bytes.size() - begin);
      outcome_.failure = model.check_read(moments[piece], std::span(bytes).subspan(begin, count));
    }
  }

  bool commit(Opened& opened) {
    File& file = file_of(opened);
    const ByteModel::Moment moment =
        file.model.now({0, settings_.file_bytes}, node_of(opened.rank));
    if (!opened.handle.commit().ok()) return false;
    if (ok()) outcome_.failure = file.model.check_storage(moment, file.storage.bytes());
    return true;
  }

  bool commit_own(Opened& opened) {
    File& file = file_of(opened);
    ByteModel::Moment moment = file.model.now({0, settings_.file_bytes}, node_of(opened.rank));
    file.model.only_of(opened.rank, moment);
    if (!opened.handle.commit_own().ok()) return false;
    // The file may end earlier in storage: where it ends may be a byte of another rank's.
    std::vector<std::byte> stored(file.storage.bytes().begin(), file.storage.bytes().end());
    stored.resize(static_cast<std::size_t>(settings_.file_bytes));
    if (ok()) outcome_.failure = file.model.check_storage(moment, stored);
    return true;
  }

  // No rank accesses a file, and none dies, meanwhile: commits in the background go on.
  void check_unsaved() {
    for (uint32_t n = 0; n < settings_.nodes; ++n) {
      for (uint32_t f = 0; f < settings_.files; ++f) {
        const int64_t unsaved = nodes_[n].cache().unsaved_bytes(nodes_[n].file(f).id);
        if (unsaved < files_[f].model.unsaved_bytes(n) || unsaved > settings_.file_bytes)
          fail("the cache of node " + std::to_string(n) + " says that storage lacks " +
               std::to_string(unsaved) + " bytes of file " + std::to_string(f));
      }
    }
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
      if (!opened.handle.hand_over(domains_of(opened, node), exchange).ok())
        all_handed_over_ = false;
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
    ListExchange::Facts all{region.empty() ? INT64_MAX : region.offset, region.end(), 0};
    exchanges_[node].gather(ListExchange::Facts(all), [&](const ListExchange::Facts& theirs) {
      all = {std::min(all[0], theirs[0]), std::max(all[1], theirs[1]), 0};
    });
    DomainFacts facts;
    facts.nodes = settings_.nodes;
    facts.unit_bytes = settings_.cache.page_size;
    facts.chunk_bytes = settings_.domain_size_bytes;
    facts.file_bytes = settings_.first_bytes;
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

  bool others_live(uint32_t rank) const {
    for (uint32_t other = 0; other < settings_.ranks; ++other) {
      if (other != rank && alive(other)) return true;
    }
    return false;
  }
  uint32_t first_alive() const {
    uint32_t rank = 0;
    while (!alive(rank)) ++rank;
    return rank;
  }
  uint32_t leader_of(uint32_t node) const {
    for (uint32_t rank = node; rank < settings_.ranks; rank += settings_.nodes) {
      if (alive(rank)) return rank;
    }
    return settings_.ranks;
  }
  bool other_nodes_live(int node) const {
    if (leader_of(static_cast<uint32_t>(node)) == settings_.ranks) return false;
    for (uint32_t other = 0; other < settings_.nodes; ++other) {
      if (static_cast<int>(other) != node && leader_of(other) != settings_.ranks) return true;
    }
    return false;
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
    while (ok() && !all_here()) fibers_.sleep(poll_ns);
  }

  // Takes the place of ranks that die.
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
      }
      const ByteModel& model = files_[f].model;
      if (ok())
        outcome_.failure = model.check_storage(model.at_the_end(), files_[f].storage.bytes());
    }
    for (VirtualNode& node : nodes_) {
      if (ok() && node.cache().may_be_dirty()) fail("what was committed counts as dirty");
    }
  }

  const Program& program_;
  const Settings& settings_;
  Outcome outcome_;
  SeededRandom random_;
  Fibers fibers_;
  std::deque<File> files_;
  std::vector<Storage*> storages_;
  sim::VirtualTransport transport_;
  std::deque<VirtualNode> nodes_;
  std::deque<ListExchange> exchanges_;  // by node
  static constexpr uint32_t nobody = UINT32_MAX;
  std::vector<uint32_t> handing_over_;  // by node: its leader, or nobody
  std::vector<bool> node_died_;
  bool all_handed_over_ = false;
  std::vector<int64_t> round_of_;  // how often each rank came to meet the others
  std::size_t rounds_begun_ = 0;
  std::vector<bool> done_;
  std::vector<bool> reaped_;
  std::vector<Statistics> statistics_;
};

}  // namespace

Outcome run(const Program& program, uint64_t seed) { return Run(program, seed).go(); }

}  // namespace forebay::test
