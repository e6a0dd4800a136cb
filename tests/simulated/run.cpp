// Runs a program's ranks, their helpers, and who takes the place of the dead, as fibers of nodes in
// virtual time, and holds what they see, and what storage gets, against the byte model.

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "channel/plan_exchange.h"
#include "sim/virtual_transport.h"
#include "simulated/byte_model.h"
#include "simulated/faulty_storage.h"
#include "simulated/program.h"

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
  // `file` is open as the rank has it, but counts for itself.
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
        meets_(settings_.ranks, false),
        statistics_(settings_.ranks),
        background_(settings_.ranks),
        through_(settings_.files, 0),
        writes_through_(has_kind(program, Operation::Kind::write_through)) {
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
    for (const Statistics& statistics : background_) outcome_.background.add(statistics);
    check_sums();
    return std::move(outcome_);
  }

 private:
  struct File {
    File(Run& run, const std::vector<std::byte>& first_bytes)
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

  // A file as a rank has it open.
  struct Opened {
    Opened(Run& run, uint32_t opener, sim::VirtualSeat& seat)
        : rank(opener),
          node(run.nodes_[run.node_of(rank)]),
          file(node, seat, rank, run.statistics_[rank], run.settings_.commit_size_bytes),
          helper(node, counting_in(run, seat, run.background_[rank]),
                 run.settings_.handles.write_behind),
          handle(node.cache(), with_helper(run), run.settings_.handles, true, run.settings_.local) {
    }
    VirtualFile counting_in(Run& run, sim::VirtualSeat& seat, Statistics& statistics) const {
      return {node, seat, rank, statistics, run.settings_.commit_size_bytes};
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
    // The page on which the last access ended, as the policy counts accesses.
    int64_t last_page = -1;
    bool last_page_known = true;
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

  // Half of the accesses with one piece are no Access.
  static bool is_one_run(const Operation& op) {
    return op.pieces == 1 && (op.extent.offset + op.extent.length) % 2 == 0;
  }

  void write(const Operation& op, Opened& opened) {
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
    const Statistics before = statistics_[op.rank];
    int64_t moved = -1;
    Status status;
    if (is_one_run(op)) {
      status = opened.handle.write(op.extent, source);
      moved = status.ok() ? op.extent.length : 0;
    } else {
      status = opened.handle.write(access_of(op, view), source, &moved);
    }
    if (ends_well(status, "a write") != (moved == std::ssize(bytes)))
      fail("a write says that it moved less or more");
    for (int piece = 0; (piece + 1) * op.extent.length <= moved; ++piece)
      model.end_write(piece_of(op, piece));
    if (opened.through && status.ok()) check_written_through(op);
    if (status.ok()) check_dirty(op);
    check_counts(op, opened, before, status.ok(), moved);
  }

  void read(const Operation& op, Opened& opened) {
    const ByteModel& model = files_[op.file].model;
    std::vector<ByteModel::Moment> moments;
    for (int piece = 0; piece < op.pieces; ++piece)
      moments.push_back(model.now(piece_of(op, piece), node_of(op.rank)));
    const auto length = static_cast<std::size_t>(op.extent.length);
    std::vector<std::byte> bytes(length * moments.size(), std::byte{0xee});
    const Tiling view = view_of(op);
    const Statistics before = statistics_[op.rank];
    int64_t moved = -1;
    const Status status = is_one_run(op)
                              ? opened.handle.read(op.extent, bytes.data(), &moved)
                              : opened.handle.read(access_of(op, view), bytes.data(), &moved);
    check_counts(op, opened, before, ends_well(status, "a read"), moved);
    if (!status.ok()) return;
    bytes.resize(static_cast<std::size_t>(moved));
    for (std::size_t piece = 0; piece < moments.size() && ok(); ++piece) {
      const std::size_t begin = std::min(piece * length, bytes.size());
      const std::size_t count = std::min(length, bytes.size() - begin);
      outcome_.failure = model.check_read(moments[piece], std::span(bytes).subspan(begin, count));
    }
  }

  // Who wants every write committed at once has it in storage.
  void check_written_through(const Operation& op) {
    const File& file = files_[op.file];
    for (int piece = 0; piece < op.pieces && ok(); ++piece) {
      const ByteModel::Moment moment = file.model.now(piece_of(op, piece), node_of(op.rank));
      outcome_.failure = file.model.check_storage(moment, file.storage.bytes());
    }
  }

  // Writers keep to the bound themselves, but for pages that waited for their frames.
  void check_dirty(const Operation& op) {
    if (settings_.ranks > 1 || settings_.files > 1 || !sound() || !settings_.handles.write_behind)
      return;
    const DirtyBound bound(settings_.handles.dirty_bound, nodes_.front().cache().frames());
    const int64_t pages = op.pieces * (op.extent.length / settings_.cache.page_size + 2);
    if (nodes_.front().cache().dirty_frames() > bound.most() + pages)
      fail("too many frames are dirty");
  }

  // Whether all calls of these pieces use pages, as far as there is memory.
  bool never_past(int64_t length) const {
    return settings_.handles.step_aside == SteppingAside::never && !writes_through_ &&
           length < least_past(settings_.handles.bypass_bytes, capacity());
  }

  // What a write or read has counted.
  void check_counts(const Operation& op, Opened& opened, const Statistics& before, bool well,
                    int64_t moved) {
    const bool writes = op.kind == Operation::Kind::write;
    const int64_t total = op.extent.length * op.pieces;
    // Pieces that touch are one.
    const int64_t piece = op.stride == op.extent.length ? total : op.extent.length;
    const auto counted = [&](int64_t Statistics::*count) {
      return statistics_[op.rank].*count - before.*count;
    };
    const auto expect = [&](bool right, const char* what) {
      if (!right) fail(std::string(writes ? "a write" : "a read") + " counts wrong " + what);
    };
    expect(counted(&Statistics::write_calls) == (writes ? 1 : 0), "calls that write");
    expect(counted(&Statistics::read_calls) == (writes ? 0 : 1), "calls that read");
    expect(writes || counted(&Statistics::read_bytes) == moved, "bytes that are read");
    expect(!(writes && well) || counted(&Statistics::write_bytes) == total, "written bytes");
    const int64_t past_calls = counted(&Statistics::bypass_calls);
    const int64_t past_bytes = counted(&Statistics::bypass_bytes);
    const int64_t aside = counted(&Statistics::aside_calls);
    const int64_t local = counted(&Statistics::local_calls);
    const int64_t no_page = counted(&Statistics::no_page_calls);
    expect(past_calls == (past_bytes > 0 ? 1 : 0), "calls past the cache");
    expect(past_bytes <= total, "bytes past the cache");
    expect(counted(&Statistics::bypass_written_bytes) == (writes ? past_bytes : 0),
           "bytes written past the cache");
    // A read that shall step aside finds its bytes in the cache at times.
    expect(aside <= (writes && well ? past_calls : 1), "calls that step aside");
    expect(local <= aside && (settings_.local || local == 0), "calls to local storage");
    expect(no_page <= (memory_is_short() ? 1 : 0), "calls without a page");
    expect(settings_.handles.step_aside != SteppingAside::never || aside == 0, "steps aside");
    if (well && moved == total && settings_.handles.step_aside == SteppingAside::always &&
        settings_.handles.read_ahead_bytes == 0)
      expect(past_bytes == total, "bytes past a cache that is never used");
    if (well && moved == total && piece > settings_.cache.page_size &&
        piece >= least_past(settings_.handles.bypass_bytes, capacity()))
      expect(past_bytes == total, "bytes of large accesses");
    if (never_past(piece) && well)
      expect(no_page == past_calls, "calls for which there was no page");
    if (!never_past(piece) || memory_is_short()) {
      opened.last_page_known = false;
      return;
    }
    expect(past_bytes == 0, "bytes of small accesses");
    if (writes && well) check_fill(op, counted(&Statistics::fetched_bytes));
    check_pages(op, opened, well && moved == total,
                counted(&Statistics::hits) + counted(&Statistics::misses),
                counted(&Statistics::fetched_bytes));
  }

  // Pages of some kinds are filled before a part of them is written. Others, and those that are
  // written as a whole, are not fetched.
  void check_fill(const Operation& op, int64_t fetched) {
    const int64_t page_size = settings_.cache.page_size;
    const bool partial =
        op.pieces > 1 || op.extent.offset % page_size != 0 || op.extent.length % page_size != 0;
    if (fetched > 0 && !(partial && settings_.cache.page_kind->fill_before_write()))
      fail("a write fetches pages");
  }

  // The policy counts each page once for successive accesses.
  void check_pages(const Operation& op, Opened& opened, bool complete, int64_t counted,
                   int64_t fetched) {
    if (!complete) opened.last_page_known = false;
    if (!opened.last_page_known) return;
    const int64_t page_size = settings_.cache.page_size;
    int64_t pages = 0;
    for (int piece = 0; piece < op.pieces; ++piece) {
      const Extent extent = piece_of(op, piece);
      for (int64_t page = extent.offset / page_size; page * page_size < extent.end(); ++page)
        pages += std::exchange(opened.last_page, page) == page ? 0 : 1;
    }
    // A read of several pages may look at one again, after it has committed its victims.
    const bool exact = op.kind == Operation::Kind::write || (is_alone() && pages <= 1);
    if (counted < pages || (exact && counted > pages))
      fail("the policy counts " + std::to_string(counted) + " pages, not " + std::to_string(pages));
    if (is_alone() && fetched > (pages + 1) * page_size) fail("a call fetches more than its pages");
  }

  // Nothing happens beside an access.
  bool is_alone() const {
    return settings_.ranks == 1 && !settings_.handles.write_behind &&
           settings_.handles.read_ahead_bytes == 0;
  }
  bool memory_is_short() const { return settings_.most_frames < nodes_.front().cache().frames(); }

  bool commit(Opened& opened) {
    File& file = file_of(opened);
    const ByteModel::Moment moment =
        file.model.now({0, settings_.file_bytes}, node_of(opened.rank));
    if (!ends_well(opened.handle.commit(), "a commit")) return false;
    if (opened.file.seat().end != 0) fail("a commit does not know that storage has the end");
    if (ok()) outcome_.failure = file.model.check_storage(moment, file.storage.bytes());
    return true;
  }

  bool commit_own(Opened& opened) {
    File& file = file_of(opened);
    ByteModel::Moment moment = file.model.now({0, settings_.file_bytes}, node_of(opened.rank));
    file.model.only_of(opened.rank, moment);
    if (!ends_well(opened.handle.commit_own(), "a commit")) return false;
    if (opened.file.seat().end != 0) fail("a commit does not know that storage has the end");
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

  // No rank accesses a file, and none dies, meanwhile. Nothing is wrong with the bytes if this
  // fails, but they are moved in vain.
  void look_closely(Opened& opened) {
    for (uint32_t rank = 0; rank < settings_.ranks; ++rank) {
      if (!alive(rank) && !reaped_[rank]) return;
    }
    check_size(opened);
    if (opened.file.state().direct_writers != 0) fail("writes past the cache count as under way");
    if (outcome_.deaths == 0 && opened.file.state().write_through != through_[opened.file.slot()])
      fail("handles want writing through that do not say so");
    if (random_.one_in(4)) commit_twice(opened);
    if (random_.one_in(2)) check_leaving(opened);
    if (!settings_.handles.write_behind && settings_.handles.read_ahead_bytes == 0 &&
        random_.one_in(4))
      drop_clean(opened);
    if (opened.file.state().write_through != 0 || settings_.handles.read_ahead_bytes != 0 ||
        leaves_in_background() || settings_.handles.step_aside != SteppingAside::never ||
        memory_is_short())
      return;
    const int64_t page_size = settings_.cache.page_size;
    const int64_t page = random_.below((settings_.file_bytes + page_size - 1) / page_size);
    if (random_.one_in(2)) prefetch(opened, page);
    read_twice(opened, page);
  }

  bool leaves_in_background() const {
    return settings_.handles.write_behind && settings_.cache.write_back_buffer > 0;
  }

  void check_size(Opened& opened) {
    int64_t bytes = 0;
    if (!ends_well(opened.handle.size(&bytes), "a look at the size")) return;
    if (ok()) outcome_.failure = file_of(opened).model.check_size(bytes);
  }

  // A commit leaves nothing to commit.
  void commit_twice(Opened& opened) {
    if (!commit(opened) || !ok()) return;
    const uint64_t id = opened.file.state().id;
    if (opened.file.state().unstored_end != 0)
      fail("a commit does not know that storage has the end that closed handles wrote");
    if (opened.node.cache().unsaved_bytes(id) != 0) fail("after a commit storage lacks bytes");
    if (opened.node.cache().lacks_commits(opened.file))
      fail("a commit leaves a frame to be committed");
    const int64_t before = statistics_[opened.rank].write_requests;
    if (commit(opened) && statistics_[opened.rank].write_requests != before)
      fail("a commit writes what the one before has written");
  }

  // Clean bytes that are dropped are gone.
  void drop_clean(Opened& opened) {
    Cache<sim::VirtualDriver>& cache = opened.node.cache();
    cache.drop(opened.file, {0, INT64_MAX}, false);
    const uint64_t id = opened.file.state().id;
    int64_t valid = 0;
    for (FrameIndex f = 0; f < cache.frames(); ++f) {
      if (opened.node.arena().frame(f).key.file != id) continue;
      Regions missing;
      cache.kind().missing(opened.node.arena().page_state(f), cache.page_size(),
                           {0, cache.page_size()}, missing);
      valid += cache.page_size();
      for (const Extent& gap : missing) valid -= gap.length;
      if (valid == 0) fail("a page without bytes keeps its frame");
    }
    if (valid != cache.unsaved_bytes(id)) fail("bytes that are dropped stay");
  }

  // The pages that leave are gone before long.
  void check_leaving(Opened& opened) {
    for (int wait = 0; pages_leave() && wait < 100; ++wait) {
      if (!ends_well(opened.node.cache().write_back(opened.file), "a write-back")) return;
      fibers_.sleep(poll_ns);  // some may be under commit
    }
    if (pages_leave()) fail("pages that leave stay");
  }
  bool pages_leave() {
    for (uint32_t s = 0; s < nodes_.front().arena().shards(); ++s) {
      if (nodes_.front().arena().shard(s).state().leaving != 0) return true;
    }
    return false;
  }

  // What has been read is in the cache.
  void read_twice(Opened& opened, int64_t page) {
    const int64_t page_size = settings_.cache.page_size;
    const Extent extent{page * page_size + random_.below(page_size), 1 + random_.below(page_size)};
    const Operation op{Operation::Kind::read, opened.rank, opened.file.slot(),
                       intersect(extent, {page * page_size, page_size})};
    if (!never_past(op.extent.length) || op.extent.end() > settings_.file_bytes) return;
    const Statistics& now = statistics_[opened.rank];
    const int64_t before = now.read_bytes;
    read(op, opened);
    if (now.read_bytes - before != op.extent.length) return;
    const int64_t requests = now.read_requests;
    read(op, opened);
    if (now.read_requests != requests) fail("what has been read is not in the cache");
  }

  // Pages that are absent, and for which there are frames, are in the cache afterwards.
  void prefetch(Opened& opened, int64_t first_page) {
    const Cache<sim::VirtualDriver>& cache = opened.node.cache();
    const int64_t page_size = settings_.cache.page_size;
    const int64_t end = std::ssize(file_of(opened).storage.bytes());
    // As many as are fetched at once keep no others from their frames.
    const bool many =
        opened.node.arena().shards() == 1 && cache.frames() >= 16 && !memory_is_short();
    const Extent wanted{first_page * page_size, (many ? 3 : 1) * page_size};
    const bool has_frames = !cache.may_be_dirty();
    std::vector<Extent> absent;  // bytes that storage has, by page
    for (int64_t at = wanted.offset; at < wanted.end(); at += page_size) {
      const PageKey key{opened.file.state().id, at / page_size};
      CacheArena& arena = opened.node.arena();
      if (arena.shard(shard_of(key, arena.shards())).find(key) == no_frame)
        absent.push_back(intersect({at, page_size}, {0, end}));
    }
    Statistics statistics;
    VirtualFile file = opened.counting_in(*this, opened.file.seat(), statistics);
    PageCursor pages({&wanted, 1}, page_size);
    while (opened.node.cache().prefetch(file, pages)) {
    }
    if (statistics.hits + statistics.misses > 0) fail("a prefetch counts as an access");
    if (absent.empty() && statistics.read_requests > 0)
      fail("pages that are there are fetched ahead");
    if (!has_frames || !sound()) return;
    if (!pages.done()) fail("a prefetch ends before its last page");
    std::vector<std::byte> bytes(static_cast<std::size_t>(page_size));
    Translation<sim::VirtualDriver> ignored;
    for (const Extent& stored : absent) {
      if (!stored.empty() &&
          !opened.node.cache().read_resident(opened.file, stored, bytes.data(), false, &ignored))
        fail("what was fetched ahead is not in the cache");
    }
  }

  // All bytes that storage got are counted.
  void check_sums() {
    if (ok() && !settings_.handles.write_behind && outcome_.background.commit_lists > 0)
      fail("commits go on in the background");
    if (!ok() || !sound() || outcome_.deaths > 0) return;
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
  std::vector<Statistics> background_;  // of their helpers
  std::vector<uint32_t> through_;       // handles that want writing through, by file
  const bool writes_through_;           // the program does
  int64_t stored_bytes_ = 0;
  int64_t settled_bytes_ = 0;  // of these, by settle()
};

}  // namespace

Outcome run(const Program& program, uint64_t seed) { return Run(program, seed).go(); }

}  // namespace forebay::test
