// Runs a program's ranks, their helpers, and who takes the place of the dead, as fibers of one node
// in virtual time, and holds what they see, and what storage gets, against the byte model.

#include <algorithm>
#include <utility>

#include "simulated/byte_model.h"
#include "simulated/program.h"

namespace forebay::test {
namespace {

using sim::Fibers;
using sim::SeededRandom;
using sim::VirtualFile;
using sim::VirtualNode;

constexpr int64_t poll_ns = 500'000;
constexpr uint64_t most_steps = 1'000'000;

// Takes its time, in pieces, and fails now and then.
class FaultyStorage final : public sim::VirtualStorage {
 public:
  FaultyStorage(std::vector<std::byte> bytes, int64_t fails_one_in, uint64_t seed, ByteModel& model,
                std::string& failure)
      : bytes_(std::move(bytes)),
        fails_one_in_(fails_one_in),
        random_(seed),
        model_(model),
        failure_(failure) {}

  Status write(int64_t offset, std::span<const std::byte> bytes) override {
    for (std::size_t done = 0; done < bytes.size();) {
      const std::size_t piece = next_piece(bytes.size() - done);
      if (fails()) return {random_.one_in(2) ? Code::io : Code::no_space, EIO, offset};
      const auto at = static_cast<std::size_t>(offset) + done;
      if (failure_.empty())
        failure_ = model_.check_stored(static_cast<int64_t>(at), bytes.subspan(done, piece));
      bytes_.resize(std::max(bytes_.size(), at + piece));
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(done), piece,
                  bytes_.begin() + static_cast<std::ptrdiff_t>(at));
      done += piece;
    }
    return {};
  }
  Status read(int64_t offset, std::span<std::byte> bytes, int64_t* got) override {
    *got = 0;
    for (std::size_t done = 0; done < bytes.size();) {
      std::size_t piece = next_piece(bytes.size() - done);
      if (fails()) return {Code::io, EIO, offset};
      const auto at = static_cast<std::size_t>(offset) + done;
      if (at >= bytes_.size()) break;
      piece = std::min(piece, bytes_.size() - at);
      std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(at), piece,
                  bytes.begin() + static_cast<std::ptrdiff_t>(done));
      done += piece;
      *got = static_cast<int64_t>(done);
    }
    return {};
  }
  Status size(int64_t* bytes) override {
    Fibers::current()->step();
    *bytes = std::ssize(bytes_);
    return {};
  }
  void truncate(int64_t bytes) { bytes_.resize(static_cast<std::size_t>(bytes)); }
  void heal() { fails_one_in_ = 0; }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  // Waits for it, too.
  std::size_t next_piece(std::size_t left) {
    Fibers::current()->sleep(1 + random_.below(random_.one_in(4) ? 2'000'000 : 100'000));
    if (!random_.one_in(3)) return left;
    return 1 + static_cast<std::size_t>(random_.below(static_cast<int64_t>(left)));
  }
  // Some time or other it has failed often enough: many small requests would never all succeed.
  bool fails() {
    if (fails_one_in_ == 0 || failures_left_ == 0 || !random_.one_in(fails_one_in_)) return false;
    --failures_left_;
    return true;
  }

  std::vector<std::byte> bytes_;
  int64_t fails_one_in_;
  int64_t failures_left_ = 40;
  SeededRandom random_;
  ByteModel& model_;
  std::string& failure_;
};

// One process's second fiber: commits and fetches in the background.
class Helper final : public sim::VirtualHelper {
 public:
  Helper(VirtualNode& node, const VirtualFile& file) : node_(node), file_(file) {}
  void commit(uint32_t target) override {
    commit_target_ = target;
    wants_commit_ = true;
    node_.fibers().wake(work_);
  }
  void fetch(std::span<const Extent> extents) override {
    to_fetch_.insert(to_fetch_.end(), extents.begin(), extents.end());
    node_.fibers().wake(work_);
  }
  void serve() {
    while (!stop_) {
      if (std::exchange(wants_commit_, false)) {
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
 public:
  Run(const Program& program, uint64_t seed)
      : program_(program),
        settings_(program.settings),
        random_(seed),
        first_bytes_(random_bytes(settings_.first_bytes, random_)),
        fibers_(random_.next(), settings_.steps_a_switch),
        model_(first_bytes_, settings_.file_bytes),
        storage_(first_bytes_, settings_.fails_one_in, random_.next(), model_, outcome_.failure),
        node_(fibers_, settings_.cache, storage_, settings_.most_frames),
        round_of_(settings_.ranks, 0),
        done_(settings_.ranks, false),
        reaped_(settings_.ranks, false),
        statistics_(settings_.ranks) {}

  Outcome go() {
    for (uint32_t rank = 0; rank < settings_.ranks; ++rank)
      fibers_.spawn(process_of(rank), [this, rank] { live(rank); });
    fibers_.spawn(0, [this] { take_care(); });
    if (!fibers_.run(most_steps) && ok()) fail("it never ends");
    if (ok()) {
      storage_.heal();
      fibers_.spawn(0, [this] { settle(); });
      if (!fibers_.run(most_steps) && ok()) fail("the last commit never ends");
    }
    outcome_.digest = fibers_.digest();
    outcome_.steps = fibers_.steps();
    for (const Statistics& statistics : statistics_) outcome_.statistics.add(statistics);
    return std::move(outcome_);
  }

 private:
  static uint32_t process_of(uint32_t rank) { return rank + 1; }
  bool ok() const { return outcome_.failure.empty(); }
  void fail(const std::string& why) {
    if (ok()) outcome_.failure = why;
  }
  bool alive(uint32_t rank) const { return !fibers_.is_dead(process_of(rank)); }

  // A rank's life.
  void live(uint32_t rank) {
    const bool joined = node_.file().handles > 0;
    sim::VirtualSeat& seat = node_.take_seat(process_of(rank));
    VirtualFile file(node_, seat, rank, statistics_[rank], settings_.commit_size_bytes);
    Helper helper(node_, file);
    file.use_helper(helper);
    fibers_.spawn(process_of(rank), [&helper] { helper.serve(); });
    CacheHandle<sim::VirtualDriver> handle(node_.cache(), file, settings_.handles, true,
                                           settings_.local);
    if (joined) node_.cache().drop(file, {0, INT64_MAX}, false);
    bool through = false;
    for (std::size_t r = 0; r < program_.rounds.size() && ok(); ++r) {
      const Round& round = program_.rounds[r];
      if (round.dies == static_cast<int>(rank) && others_live(rank))
        fibers_.kill_after(process_of(rank), round.dies_after_steps);
      for (const Operation& operation : round.operations) {
        if (operation.rank == rank && ok()) carry_out(operation, handle, file, through);
      }
      if (round.dies == static_cast<int>(rank)) fibers_.kill_after(process_of(rank), -1);
      meet(rank);
      if (round.truncate_to >= 0 && first_alive() == rank) truncate(handle, round.truncate_to);
      meet(rank);
    }
    helper.stop();
    while (ok() && !commit(handle)) fibers_.sleep(poll_ns);
    if (through) handle.end_write_through();
    seat.taken = false;
    if (--node_.file().handles == 0) node_.cache().drop(file, {0, INT64_MAX}, true);
    done_[rank] = true;
  }

  void carry_out(const Operation& op, CacheHandle<sim::VirtualDriver>& handle, VirtualFile& file,
                 bool& through) {
    using Kind = Operation::Kind;
    ++outcome_.accesses;
    switch (op.kind) {
      case Kind::write:
        return write(op, handle);
      case Kind::read:
        return read(op, handle);
      case Kind::commit:
        commit(handle);
        return;
      case Kind::drop_clean:
        return node_.cache().drop(file, {0, INT64_MAX}, false);
      case Kind::write_through:
        if (!std::exchange(through, true)) static_cast<void>(handle.begin_write_through());
        return;
      case Kind::write_back:
        if (std::exchange(through, false)) handle.end_write_through();
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

  void write(const Operation& op, CacheHandle<sim::VirtualDriver>& handle) {
    std::vector<std::byte> bytes;
    for (int piece = 0; piece < op.pieces; ++piece) {
      const std::vector<std::byte> values = model_.begin_write(piece_of(op, piece));
      bytes.insert(bytes.end(), values.begin(), values.end());
    }
    const Tiling view = view_of(op);
    const std::byte* const source = bytes.data();
    int64_t moved = 0;
    const Status status = handle.write(access_of(op, view), source, &moved);
    if (status.ok() != (moved == std::ssize(bytes)))
      fail("a write says that it moved less or more");
    for (int piece = 0; (piece + 1) * op.extent.length <= moved; ++piece)
      model_.end_write(piece_of(op, piece));
  }

  void read(const Operation& op, CacheHandle<sim::VirtualDriver>& handle) {
    std::vector<ByteModel::Moment> moments;
    for (int piece = 0; piece < op.pieces; ++piece)
      moments.push_back(model_.now(piece_of(op, piece)));
    const auto length = static_cast<std::size_t>(op.extent.length);
    std::vector<std::byte> bytes(length * moments.size(), std::byte{0xee});
    const Tiling view = view_of(op);
    int64_t moved = 0;
    if (!handle.read(access_of(op, view), bytes.data(), &moved).ok()) return;
    bytes.resize(static_cast<std::size_t>(moved));
    for (std::size_t piece = 0; piece < moments.size() && ok(); ++piece) {
      const std::size_t begin = std::min(piece * length, bytes.size());
      const std::size_t count = std::min(length, bytes.size() - begin);
      outcome_.failure = model_.check_read(moments[piece], std::span(bytes).subspan(begin, count));
    }
  }

  bool commit(CacheHandle<sim::VirtualDriver>& handle) {
    const ByteModel::Moment moment = model_.now({0, settings_.file_bytes});
    if (!handle.commit().ok()) return false;
    if (ok()) outcome_.failure = model_.check_storage(moment, storage_.bytes());
    return true;
  }

  // No rank accesses the file, and none dies, meanwhile.
  void truncate(CacheHandle<sim::VirtualDriver>& handle, int64_t bytes) {
    handle.truncate(bytes);
    storage_.truncate(bytes);
    handle.truncate(bytes);
    model_.truncate(bytes);
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
      for (uint32_t rank = 0; rank < settings_.ranks; ++rank) {
        if (alive(rank) || reaped_[rank]) continue;
        reaped_[rank] = node_.reap(process_of(rank)).ok();
        outcome_.deaths += reaped_[rank] ? 1 : 0;
      }
    }
  }

  // When all have left: nothing was lost.
  void settle() {
    Statistics statistics;
    sim::VirtualSeat none;
    VirtualFile left(node_, none, 0, statistics, settings_.commit_size_bytes);
    const ByteModel::Moment moment = model_.now({0, settings_.file_bytes});
    if (!node_.cache().commit(left, {0, INT64_MAX}).ok()) fail("sound storage refuses a commit");
    if (ok()) outcome_.failure = model_.check_storage(moment, storage_.bytes());
    if (ok() && node_.cache().may_be_dirty()) fail("what was committed counts as dirty");
  }

  const Program& program_;
  const Settings& settings_;
  Outcome outcome_;
  SeededRandom random_;
  std::vector<std::byte> first_bytes_;
  Fibers fibers_;
  ByteModel model_;
  FaultyStorage storage_;
  VirtualNode node_;
  std::vector<int64_t> round_of_;  // how often each rank came to meet the others
  std::vector<bool> done_;
  std::vector<bool> reaped_;
  std::vector<Statistics> statistics_;
};

}  // namespace

Outcome run(const Program& program, uint64_t seed) { return Run(program, seed).go(); }

}  // namespace forebay::test
