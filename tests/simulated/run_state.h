// What a run of a program consists of: nodes in virtual time, their files in storage and in the
// byte model, the ranks that have them open, and what is known of each rank.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "channel/list_exchange.h"
#include "sim/virtual_transport.h"
#include "simulated/byte_model.h"
#include "simulated/faulty_storage.h"
#include "simulated/program.h"

namespace forebay::test {

using sim::Fibers;
using sim::VirtualFile;
using sim::VirtualNode;

// One process's second fiber: commits and fetches in the background.
class Helper final : public sim::VirtualHelper {
 public:
  // `file` is open as the rank has it, but counts for itself.
  Helper(VirtualNode& node, const VirtualFile& file, bool writes_back)
      : node_(node), file_(file), writes_back_(writes_back) {}
  void commit(WriteBehind goal) override {
    commit_goal_ = goal;
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
        static_cast<void>(node_.cache().commit_some(file_, commit_goal_));
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
  WriteBehind commit_goal_;
  std::vector<Extent> to_fetch_;
  bool stop_ = false;
  bool stopped_ = false;
};

class RunState {
 public:
  RunState(const Program& program, uint64_t seed)
      : program_(program),
        settings_(program.settings),
        random_(seed),
        fibers_(random_.next(), settings_.steps_a_switch, settings_.steps_a_pause),
        storages_(make_files()),
        transport_(fibers_, settings_.nodes, most_message_ns, random_.next()),
        round_of_(settings_.ranks, 0),
        done_(settings_.ranks, false),
        reaped_(settings_.ranks, false),
        meets_(settings_.ranks, false),
        statistics_(settings_.ranks),
        places_(settings_.ranks),
        background_(settings_.ranks),
        through_(settings_.files, 0),
        writes_through_(has_kind(program, Operation::Kind::write_through)) {
    for (uint32_t node = 0; node < settings_.nodes; ++node) {
      nodes_.emplace_back(fibers_, settings_.cache, storages_, settings_.most_frames);
      if (settings_.keeps_pages) nodes_.back().keep_pages();
      exchanges_.emplace_back(transport_.channel(node), node, settings_.nodes);
    }
    handing_over_.resize(settings_.nodes, nobody);
    node_died_.resize(settings_.nodes, false);
  }

 protected:
  using Handle = CacheHandle<sim::VirtualDriver>;
  static constexpr int64_t poll_ns = 500'000;
  static constexpr int64_t most_message_ns = 2'000'000;

  struct File {
    File(RunState& run, const std::vector<std::byte>& first_bytes)
        : model(first_bytes, run.settings_.file_bytes, run.settings_.nodes),
          storage(run.fibers_, first_bytes, run.settings_.fails_one_in, run.random_.next(),
                  [&run, this](int64_t offset, std::span<const std::byte> bytes) {
                    run.stored_bytes_ += std::ssize(bytes);
                    if (run.ok()) run.outcome_.failure = model.check_stored(offset, bytes);
                  }) {}
    ByteModel model;
    FaultyStorage storage;
    std::vector<std::optional<FileDomains>> domains;  // by node
  };

  // Where a rank is in an access.
  struct Place {
    bool under_way = false;
    uint32_t node = 0;
    uint32_t file = 0;
    int64_t offset = 0;
  };

  // A file as a rank has it open.
  struct Opened {
    Opened(RunState& run, uint32_t opener, sim::VirtualSeat& seat)
        : rank(opener),
          node(run.nodes_[run.node_of(rank)]),
          file(node, seat, rank, run.statistics_[rank], run.settings_.commit_size_bytes),
          helper(node, counting_in(run, seat, run.background_[rank]),
                 run.settings_.handles.write_behind),
          handle(node.cache(), with_helper(run), run.settings_.handles, true, run.settings_.local) {
    }
    VirtualFile counting_in(RunState& run, sim::VirtualSeat& seat, Statistics& statistics) const {
      return {node, seat, rank, statistics, run.settings_.commit_size_bytes};
    }
    VirtualFile& with_helper(const RunState& run) {
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
    // The page on which the last access ended, as the policy counts accesses.
    int64_t last_page = -1;
    bool last_page_known = true;
    int64_t last_touched_page = -1;  // in rounds
    bool last_touched_known = true;
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

  static std::vector<std::byte> random_bytes(int64_t count, SeededRandom& random) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(count));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(256));
    return bytes;
  }

  static uint32_t process_of(uint32_t rank) { return rank + 1; }
  uint32_t node_of(uint32_t rank) const { return rank % settings_.nodes; }
  bool ok() const { return outcome_.failure.empty(); }
  void fail(const std::string& why) {
    if (ok()) outcome_.failure = why;
  }
  bool alive(uint32_t rank) const { return !fibers_.is_dead(process_of(rank)); }
  static bool has_kind(const Program& program, Operation::Kind kind) {
    return std::ranges::any_of(program.rounds, [&](const Round& round) {
      return std::ranges::any_of(round.operations,
                                 [&](const Operation& op) { return op.kind == kind; });
    });
  }
  int64_t capacity() const { return nodes_.front().cache().capacity_bytes(); }
  bool sound() const { return settings_.fails_one_in == 0; }
  // What was called has ended so.
  bool ends_well(const Status& status, const char* what) {
    if (!status.ok() && sound()) fail(std::string(what) + " fails, though storage is sound");
    return status.ok();
  }

  // The pace of the accesses of several pieces that are under way on a node: each waits for those
  // that are more than a page behind.
  class KeptPace final : public Pace {
   public:
    KeptPace(RunState& run, const Operation& op) : run_(run), mine_(run.places_[op.rank]) {
      mine_ = {true, run.node_of(op.rank), op.file, op.extent.offset};
    }
    ~KeptPace() override { mine_.under_way = false; }
    KeptPace(const KeptPace&) = delete;
    KeptPace& operator=(const KeptPace&) = delete;
    bool come_to(int64_t offset) override {
      mine_.offset = offset;
      return !anybody_is_behind();
    }
    void wait() override {
      while (anybody_is_behind()) run_.fibers_.sleep(poll_ns);
    }
    int64_t next_stop() const override { return mine_.offset + 1; }

   private:
    bool anybody_is_behind() const {
      for (uint32_t rank = 0; rank < run_.settings_.ranks; ++rank) {
        const Place& other = run_.places_[rank];
        if (other.under_way && run_.alive(rank) && other.node == mine_.node &&
            other.file == mine_.file &&
            other.offset + run_.settings_.cache.page_size < mine_.offset)
          return true;
      }
      return false;
    }
    RunState& run_;
    Place& mine_;
  };
  // An access in rounds, in each of which its handle first touches all pages.
  class Rounds final : public Pace {
   public:
    Rounds(RunState& run, const Operation& op, Opened& opened)
        : writes_(op.kind == Operation::Kind::write),
          bytes_(1 + run.settings_.domain_size_bytes),
          last_(op.extent.end() + (op.pieces - 1) * op.stride),
          opened_(opened),
          end_(op.extent.offset) {}
    bool come_to(int64_t offset) override {
      offset_ = offset;
      return offset < end_;
    }
    void wait() override {
      while (offset_ >= end_) {
        const Extent round{end_, std::min(bytes_, last_ - end_)};
        end_ = round.end();
        const Statistics& now = opened_.file.statistics();
        const int64_t before = now.hits + now.misses;
        well_ = opened_.handle.touch(round, writes_).ok() && well_;
        counted_ += now.hits + now.misses - before;
        touched_.push_back(round);
      }
    }
    int64_t next_stop() const override { return end_; }
    int64_t round_end() const override { return end_; }
    // What was touched, how many hits and misses that was, and whether no touch failed.
    const std::vector<Extent>& touched() const { return touched_; }
    int64_t counted() const { return counted_; }
    bool well() const { return well_; }

   private:
    const bool writes_;
    const int64_t bytes_, last_;
    Opened& opened_;
    int64_t end_, offset_ = 0;
    bool well_ = true;
    int64_t counted_ = 0;
    std::vector<Extent> touched_;
  };

  bool goes_in_rounds(const Operation& op) const {
    return settings_.in_rounds && op.pieces > 1 &&
           settings_.handles.step_aside != SteppingAside::always;
  }
  std::unique_ptr<KeptPace> pace_of(const Operation& op) {
    if (!settings_.keeps_pace || op.pieces == 1) return nullptr;
    return std::make_unique<KeptPace>(*this, op);
  }

  // The pieces of an operation are one access, through a view where there are several.
  static Tiling view_of(const Operation& op) {
    return {Layout::block(op.extent.length), op.extent.offset, op.stride};
  }
  Access access_of(const Operation& op, const Tiling& view, Pace* pace) const {
    const bool writes = op.kind == Operation::Kind::write;
    if (op.pieces == 1) return {writes, false, nullptr, op.extent.offset, op.extent.length};
    return {writes, false, &view, 0, op.extent.length * op.pieces, pace, !goes_in_rounds(op)};
  }
  static Extent piece_of(const Operation& op, int piece) {
    return {op.extent.offset + piece * op.stride, op.extent.length};
  }

  // Half of the accesses with one piece are no Access.
  static bool is_one_run(const Operation& op) {
    return op.pieces == 1 && (op.extent.offset + op.extent.length) % 2 == 0;
  }

  // Whether all calls of these pieces use pages, as far as there is memory.
  bool never_past(int64_t length) const {
    return settings_.handles.step_aside == SteppingAside::never && !writes_through_ &&
           length < least_past(settings_.handles.bypass_bytes, capacity());
  }

  // Nothing happens beside an access.
  bool is_alone() const {
    return settings_.ranks == 1 && !settings_.handles.write_behind &&
           settings_.handles.read_ahead_bytes == 0;
  }
  bool memory_is_short() const { return settings_.most_frames < nodes_.front().cache().frames(); }

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
  std::vector<bool> meets_;             // waits for the others
  std::vector<Statistics> statistics_;  // by rank
  std::vector<Place> places_;           // by rank
  std::vector<Statistics> background_;  // of their helpers
  std::vector<uint32_t> through_;       // handles that want writing through, by file
  const bool writes_through_;           // the program does
  int64_t stored_bytes_ = 0;
  int64_t settled_bytes_ = 0;  // of these, by settle()
};

}  // namespace forebay::test
