#include "sim/virtual_node.h"

#include <numeric>
#include <utility>

namespace forebay::sim {
namespace {

// As the runtime's waits, which look for the dead now and then.
constexpr int64_t lock_wait_ns = 100'000;
constexpr int64_t event_wait_ns = 100'000'000;
constexpr int64_t drain_wait_ns = 1'000;

}  // namespace

// Files ----------------------------------------------------------------------------------------

VirtualFileState& VirtualFile::entry() const { return node_->file(seat_->file); }

void VirtualFile::begin_use(uint64_t word) const {
  seat_->busy = word;
  Fibers::current()->step();
}

void VirtualFile::end_use() const {
  Fibers::current()->step();
  seat_->busy = 0;
}

int64_t VirtualFile::written_end() const {
  int64_t end = state().unstored_end.load();
  for (const VirtualSeat& seat : node_->seats()) {
    if (seat.taken && seat.file == seat_->file) end = std::max(end, seat.end);
  }
  return end;
}

void VirtualFile::ends_of_others(std::vector<HandleEnd>& ends) const {
  ends.clear();
  for (uint32_t s = 0; s < node_->seats().size(); ++s) {
    const VirtualSeat& seat = node_->seats()[s];
    if (&seat != seat_ && seat.taken && seat.file == seat_->file && seat.end > 0)
      ends.push_back({s, seat.end});
  }
}

void VirtualFile::next_reads_of_others(std::vector<NextReads*>& reads) const {
  reads.clear();
  for (VirtualSeat& seat : node_->seats()) {
    if (&seat != seat_ && seat.taken && seat.file == seat_->file) reads.push_back(&seat.next_reads);
  }
}

void VirtualFile::pause() const { Fibers::current()->sleep(200'000); }

void VirtualFile::truncate_ends(int64_t bytes) const {
  for (VirtualSeat& seat : node_->seats()) {
    if (seat.file == seat_->file) seat.end = std::min(seat.end, bytes);
  }
}

Status VirtualFile::storage_size(int64_t* bytes) const { return entry().storage->size(bytes); }

Status VirtualFile::write_past(Extent extent, const std::byte* bytes, bool,
                               int64_t* storage_ns) const {
  const Segment segment{const_cast<std::byte*>(bytes), extent.length};
  const forebay::Request request{extent.offset, {&segment, 1}};
  StorageCounters counters;
  const int64_t before = VirtualDriver::now_ns();
  const Status status = entry().storage->write({&request, 1}, counters);
  if (storage_ns != nullptr) *storage_ns = VirtualDriver::now_ns() - before;
  statistics_->write_requests += counters.requests;
  return status;
}

Status VirtualFile::read_past(Extent extent, std::byte* bytes, int64_t* got,
                              int64_t* storage_ns) const {
  const Segment segment{bytes, extent.length};
  const forebay::Request request{extent.offset, {&segment, 1}};
  StorageCounters counters;
  const int64_t before = VirtualDriver::now_ns();
  const Status status = entry().storage->read({&request, 1}, {got, 1}, counters);
  if (storage_ns != nullptr) *storage_ns = VirtualDriver::now_ns() - before;
  statistics_->read_requests += counters.requests;
  return status;
}

// The driver -----------------------------------------------------------------------------------

bool VirtualDriver::lock(uint32_t number) {
  Fibers& fibers = *Fibers::current();
  fibers.step();
  Shard& shard = shards_[number];
  while (shard.held) {
    if (!alive(shard.owner)) {
      shard.owner = process();
      node_.tear(number);
      return true;
    }
    fibers.wait(shard.for_lock, lock_wait_ns);
  }
  shard.held = true;
  shard.owner = process();
  return false;
}

void VirtualDriver::unlock(uint32_t number) {
  Fibers& fibers = *Fibers::current();
  fibers.step(Fibers::Spot::in_lock);  // the owner may die here, too
  Shard& shard = shards_[number];
  shard.held = false;
  fibers.wake(shard.for_lock);
}

bool VirtualDriver::wait(uint32_t number, uint32_t seen) {
  Shard& shard = shards_[number];
  if (shard.events == seen) Fibers::current()->wait(shard.for_event, event_wait_ns);
  if (shard.events == seen) ++waits_in_vain_;
  return shard.events != seen;
}

void VirtualDriver::signal(uint32_t number) {
  ++shards_[number].events;
  Fibers::current()->wake(shards_[number].for_event);
}

void VirtualDriver::drain(FrameIndex frame) {
  Fibers& fibers = *Fibers::current();
  fibers.step();
  const uint64_t word = use_word(frame);
  for (VirtualSeat& seat : node_.seats()) {
    while (seat.busy == word) {
      if (!alive(seat.process)) {
        seat.busy = 0;
        break;
      }
      fibers.sleep(drain_wait_ns);
      fibers.step(Fibers::Spot::in_wait);  // who waits may die
    }
  }
}

bool VirtualDriver::reserve(FrameIndex, uint32_t frames) const {
  if (node_.frames_given_ + frames > node_.most_frames_) return false;
  node_.frames_given_ += frames;
  return true;
}

std::byte* VirtualDriver::page_bytes(FrameIndex frame) const {
  return node_.arena_.page_data(frame);
}

int64_t VirtualDriver::page_size() const { return node_.arena_.page_size(); }

void VirtualDriver::move(std::byte* to, const std::byte* from, int64_t length) {
  Fibers& fibers = *Fibers::current();
  const auto half = static_cast<std::size_t>(length / 2);
  fibers.step();
  std::memcpy(to, from, half);
  fibers.step();
  std::memcpy(to + half, from + half, static_cast<std::size_t>(length) - half);
  fibers.step();
}

VirtualDriver::Target VirtualDriver::target(const VirtualFile&, uint32_t slot, uint64_t id) const {
  const VirtualFileState& file = node_.files_[slot];
  return file.id == id ? file.storage : nullptr;
}

void VirtualDriver::begin(Storage& storage, forebay::Transfer::Direction direction,
                          Transfer& transfer) {
  transfer.began_ns_ = now_ns();
  transfer.storage_ = &storage;
  transfer.in_storage_.set(direction, transfer.requests_.list());
  storage.submit(transfer.in_storage_);
  Fibers::current()->step();  // others run, and the process may die, while it is under way
}

void VirtualDriver::to_requests(const IoPlan& plan, PlanRequests& requests) const {
  requests.set(plan, [this](const IoPlan::Part& part) { return memory_of(part, nullptr); });
}

void VirtualDriver::begin_write(Target storage, const IoPlan& plan, Transfer& transfer) const {
  to_requests(plan, transfer.requests_);
  begin(*storage, forebay::Transfer::Direction::write, transfer);
}

void VirtualDriver::begin_write(Target storage, const IoPlan& plan,
                                std::span<const std::byte* const> messages,
                                Transfer& transfer) const {
  transfer.requests_.set(plan, [&](const IoPlan::Part& part) {
    return part.staged == IoPlan::in_frame
               ? memory_of(part, nullptr)
               : const_cast<std::byte*>(messages[part.staged]) + part.in_page;
  });
  begin(*storage, forebay::Transfer::Direction::write, transfer);
}

void VirtualDriver::begin_read(const VirtualFile& file, const IoPlan& plan, Staging& staging,
                               Transfer& transfer) const {
  transfer.requests_.set(plan, [&](const IoPlan::Part& part) { return memory_of(part, &staging); });
  begin(*file.entry().storage, forebay::Transfer::Direction::read, transfer);
}

Status VirtualDriver::complete(Transfer& transfer, Statistics& statistics) {
  const Status status = transfer.storage_->complete(transfer.in_storage_);
  const int64_t requests = transfer.in_storage_.counters().requests;
  if (transfer.in_storage_.direction() == forebay::Transfer::Direction::write) {
    statistics.write_requests += requests;
    statistics.commit_ns += now_ns() - transfer.began_ns_;
  } else {
    statistics.read_requests += requests;
  }
  return status;
}

// The node -------------------------------------------------------------------------------------

VirtualNode::VirtualNode(Fibers& fibers, const CacheShape& shape,
                         std::span<Storage* const> storages, uint32_t most_frames)
    : fibers_(fibers),
      arena_(shape, 0),
      memory_(arena_.layout().total + alignof(Frame)),
      most_frames_(most_frames),
      driver_(*this, arena_.shards()),
      cache_(arena_, driver_) {
  void* base = memory_.data();
  std::size_t room = memory_.size();
  arena_.create(
      static_cast<std::byte*>(std::align(alignof(Frame), arena_.layout().total, base, room)));
  for (Storage* const storage : storages) {
    const auto slot = static_cast<uint32_t>(files_.size());
    VirtualFileState& file = files_.emplace_back();
    file.id = slot;
    file.storage = storage;
  }
}

// Held while processes open and close files. Who takes it from one that died counts the handles
// again.
class VirtualNode::RegistryLock {
 public:
  explicit RegistryLock(VirtualNode& node) : node_(node) {
    while (node.registry_held_ && !node.fibers_.is_dead(node.registry_owner_))
      node.fibers_.sleep(lock_wait_ns);
    if (node.registry_held_) node.count_handles();
    node.registry_held_ = true;
    node.registry_owner_ = node.fibers_.group();
  }
  ~RegistryLock() { node_.registry_held_ = false; }
  RegistryLock(const RegistryLock&) = delete;
  RegistryLock& operator=(const RegistryLock&) = delete;

 private:
  VirtualNode& node_;
};

void VirtualNode::count_handles() {
  for (VirtualFileState& file : files_) file.handles = 0;
  for (const VirtualSeat& seat : seats_) files_[seat.file].handles += seat.taken ? 1 : 0;
}

void VirtualNode::tear(uint32_t number) {
  auto& shard = const_cast<ShardState&>(arena_.shard(number).state());
  for (FrameIndex f = shard.first_frame; f < shard.first_frame + shard.usable; ++f)
    arena_.frame(f).hash_next = no_frame;
  shard.free_head = no_frame;
  shard.resident = 0;
}

VirtualSeat& VirtualNode::take_seat(uint32_t slot, uint32_t process, bool* joined) {
  const RegistryLock lock(*this);
  VirtualFileState& file = files_[slot];
  *joined = file.handles > 0;
  const bool wakes = std::exchange(file.rests, false);
  if (!*joined) {
    if (!wakes) file.id += files_at_once;
    file.unstored_end = 0;
    file.write_through = 0;
    file.aside = 0;
    file.shares_pages = SharesPages::unknown;
  }
  VirtualSeat& seat = seats_.emplace_back();
  seat.file = slot;
  seat.process = process;
  seat.taken = true;
  ++file.handles;
  if (wakes) {
    Statistics none;
    kept_pages_ += cache_.wake(VirtualFile(*this, seat, 0, none, 0));
  }
  return seat;
}

bool VirtualNode::give_back(const VirtualFile& file) {
  const RegistryLock lock(*this);
  FileState& state = file.state();
  if (state.handles == 1 && cache_.lacks_commits(file)) return false;
  VirtualSeat& seat = file.seat();
  state.unstored_end = std::max(state.unstored_end.load(), seat.end);
  seat.taken = false;
  if (state.handles == 1) {
    if (keeps_pages_)
      cache_.rest(file);
    else
      cache_.drop(file, {0, INT64_MAX}, true);
    files_[file.slot()].rests = keeps_pages_;
  }
  --state.handles;
  return true;
}

Status VirtualNode::reap(uint32_t process) {
  cache_.end_io_of(process);
  Status result;
  for (std::size_t s = 0; s < seats_.size(); ++s) {
    VirtualSeat& seat = seats_[s];
    if (!seat.taken || seat.process != process) continue;
    seat.busy = 0;
    VirtualFileState& file = files_[seat.file];
    if (std::exchange(seat.past, false)) --file.direct_writers;
    Statistics statistics;
    VirtualFile left(*this, seat, 0, statistics, 4 << 20);
    const Status status = cache_.commit(left, {0, INT64_MAX});
    if (!status.ok()) {
      result = status;
      continue;
    }
    const RegistryLock lock(*this);
    seat.taken = false;
    --file.handles;
  }
  return result;
}

}  // namespace forebay::sim
