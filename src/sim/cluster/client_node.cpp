#include "sim/cluster/client_node.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace forebay::sim {
namespace {

constexpr Extent whole_file{0, INT64_MAX};
constexpr uint32_t helper_of_agent = std::numeric_limits<uint32_t>::max();  // no process's number

CacheArena& created(CacheArena& arena, const LazyMemory& memory) {
  arena.create(memory.base());
  return arena;
}

}  // namespace

// The file and the driver ------------------------------------------------------------------------

ClientFileState& ClientFile::entry() const { return node_->file(slot_); }

// As runtime/cache/arena_driver.h: handles that take turns do not commit at the same time.
uint32_t ClientFile::number() const {
  return node_->settings().handles.deterministic ? 0 : number_;
}

void ClientFile::enter() {
  handle_ = entry().handles_ever++;
  entry().opened.push_back(this);
}

void ClientFile::leave() { std::erase(entry().opened, this); }

void ClientFile::ends_of_others(std::vector<HandleEnd>& ends) const {
  ends.clear();
  for (const ClientFile* other : entry().opened) {
    if (other != this) ends.push_back({other->handle_, other->end_});
  }
}

void ClientFile::next_reads_of_others(std::vector<NextReads*>& reads) const {
  reads.clear();
  for (ClientFile* const other : entry().opened) {
    if (other != this) reads.push_back(&other->next_reads_);
  }
}

Status ClientFile::storage_size(int64_t* bytes) const {
  *bytes = node_->stored_bytes(entry());
  return {};
}

void ClientNode::count_write(ClientFileState& file, int64_t end) {
  ++file.own_writes;
  file.recorded_bytes = std::max(file.recorded_bytes, end);
  file_system_.count_write(file.number);
}

Status ClientFile::write_past(Extent extent, NoBytes, bool, int64_t* storage_ns) const {
  node_->count_write(entry(), extent.end());
  const int64_t before = ClientDriver::now_ns();
  Completion done;
  node_->file_system().access(node_->host(), entry().number, true, {&extent, 1}, done.then());
  done.wait();
  if (storage_ns != nullptr) *storage_ns = ClientDriver::now_ns() - before;
  ++statistics_->write_requests;
  return {};
}

Status ClientFile::read_past(Extent extent, NoBytes, int64_t* got, int64_t* storage_ns) const {
  const int64_t before = ClientDriver::now_ns();
  const int64_t size = node_->stored_bytes(entry());
  *got = std::clamp<int64_t>(size - extent.offset, 0, extent.length);
  const Extent there{extent.offset, *got};
  if (!there.empty()) {
    Completion done;
    node_->file_system().access(node_->host(), entry().number, false, {&there, 1}, done.then());
    done.wait();
  }
  if (storage_ns != nullptr) *storage_ns = ClientDriver::now_ns() - before;
  ++statistics_->read_requests;
  return {};
}

void ClientFile::commit_in_background(WriteBehind goal) const {
  node_->submit({ClientNode::Job::commit, this, goal, {}});
}

void ClientFile::fetch_in_background(std::span<const Extent> extents) const {
  node_->submit({ClientNode::Job::fetch, this, {}, {extents.begin(), extents.end()}});
}

bool ClientFile::write_back_in_background() const {
  node_->submit({ClientNode::Job::write_back, this, {}, {}});
  return true;
}

bool ClientDriver::wait(uint32_t number, uint32_t seen) {
  Shard& shard = shards_[number];
  while (shard.events == seen) shard.waiting.wait();
  return true;
}

void ClientDriver::signal(uint32_t number) {
  ++shards_[number].events;
  shards_[number].waiting.wake_all();
}

ClientDriver::Target ClientDriver::target(const ClientFile&, uint32_t slot, uint64_t id) const {
  return const_cast<ClientFileState*>(node_.file_with(slot, id));
}

void ClientDriver::begin(const ClientFileState& file, bool writes, const IoPlan& plan,
                         Transfer& transfer) const {
  transfer.writes_ = writes;
  transfer.under_way_ = true;
  transfer.began_ns_ = now_ns();
  std::vector<Extent> extents;
  extents.reserve(plan.runs().size());
  const int64_t size = node_.stored_bytes(file);
  for (const IoPlan::Run& run : plan.runs()) {
    const int64_t there = writes
                              ? run.extent.length
                              : std::clamp<int64_t>(size - run.extent.offset, 0, run.extent.length);
    transfer.transferred_.push_back(there);
    if (there > 0) extents.push_back({run.extent.offset, there});
  }
  node_.file_system().access(node_.host(), file.number, writes, extents, transfer.done_.then());
}

void ClientDriver::begin_write(Target file, const IoPlan& plan, Transfer& transfer) const {
  int64_t end = 0;
  for (const IoPlan::Run& run : plan.runs()) end = std::max(end, run.extent.end());
  node_.count_write(*file, end);
  begin(*file, true, plan, transfer);
}

void ClientDriver::begin_read(const ClientFile& file, const IoPlan& plan, const Staging&,
                              Transfer& transfer) const {
  begin(file.entry(), false, plan, transfer);
}

Status ClientDriver::complete(Transfer& transfer, Statistics& statistics) {
  transfer.done_.wait();
  transfer.under_way_ = false;
  const int64_t requests = std::ssize(transfer.transferred_);
  if (transfer.writes_) {
    statistics.write_requests += requests;
    statistics.commit_ns += now_ns() - transfer.began_ns_;
  } else {
    statistics.read_requests += requests;
  }
  return {};
}

// The node ---------------------------------------------------------------------------------------

ClientNode::ClientNode(Kernel& kernel, FileSystem& file_system, uint32_t host,
                       const ClientCacheSettings& settings)
    : kernel_(kernel),
      file_system_(file_system),
      host_(host),
      settings_(settings),
      arena_(settings.shape, 0),
      memory_(arena_.layout().data),
      driver_(*this, arena_.shards()),
      cache_(created(arena_, memory_), driver_) {}

uint32_t ClientNode::slot_of(uint64_t number) {
  const auto known = std::ranges::find_if(files_, [number](const ClientFileState& file) {
    return file.handles > 0 && file.number == number;
  });
  if (known != files_.end()) return static_cast<uint32_t>(known - files_.begin());
  auto free = std::ranges::find_if(files_, [](const auto& file) { return file.handles == 0; });
  if (free == files_.end()) {
    files_.emplace_back();
    free = files_.end() - 1;
  }
  const auto slot = static_cast<uint32_t>(free - files_.begin());
  free->number = number;
  free->id = generation_++ * files_at_once + slot;
  free->unknown_end = 0;
  free->unstored_end = 0;
  free->recorded_bytes = 0;
  free->opened.clear();
  free->aside = 0;
  free->shares_pages = SharesPages::unknown;
  free->own_writes = 0;
  free->seen_writes = file_system_.writes(number);
  return slot;
}

ClientNode::Handle::Handle(ClientNode& node, uint64_t file, uint32_t number, Maker maker,
                           bool reads)
    : node_(node),
      file_(node, node.slot_of(file), number, maker == Maker::agent ? helper_of_agent : number,
            statistics_, node.settings_.commit_size_bytes),
      cached_(node.cache_, file_, node.settings_.handles, reads, false) {
  ClientFileState& state = file_.entry();
  const bool opened = ++state.handles > 1;
  file_.enter();
  // Pages stay good if nobody else has changed the file. Nobody else changes what this node owns.
  const int64_t others = node.file_system_.writes(file) - state.own_writes;
  const bool changed = std::exchange(state.seen_writes, others) != others;
  const ClientCacheSettings& settings = node.settings_;
  const bool keeps = settings.keeps_pages && !settings.handles.deterministic && !changed;
  if (opened && maker == Maker::program && !keeps) node_.cache_.drop(file_, whole_file, false);
}

int64_t ClientNode::Handle::access(const Access& access) {
  int64_t moved = 0;
  static_cast<void>(access.writes ? cached_.write(access, NoBytes{}, &moved)
                                  : cached_.read(access, NoBytes{}, &moved));
  return moved;
}

int64_t ClientNode::Handle::pace_bytes() const {
  const Cache<ClientDriver>& cache = node_.cache_;
  return forebay::pace_bytes(node_.settings_.handles.dirty_bound, cache.frames(),
                             cache.page_size());
}

void ClientNode::Handle::commit(bool own) {
  static_cast<void>(own ? cached_.commit_own() : cached_.commit());
}

void ClientNode::Handle::drop_clean() { node_.cache_.drop(file_, whole_file, false); }

void ClientNode::Handle::truncate(int64_t bytes) { cached_.truncate(bytes); }

void ClientNode::Handle::expect_size(int64_t bytes) {
  const int64_t known = node_.stored_bytes(file_.entry());
  if (std::max(known, file_.written_end()) < bytes) resize(bytes);
}

void ClientNode::Handle::resize(int64_t bytes) {
  ClientFileState& state = file_.entry();
  state.recorded_bytes = bytes;
  // Other caches may have met a longer file, in an order that the machine does not know.
  if (node_.settings_.handles.deterministic)
    bytes = std::max(bytes, node_.file_system_.size(state.number));
  node_.file_system_.resize(state.number, bytes);
}

void ClientNode::Handle::access_past(bool writes, Extent extent) {
  int64_t moved = 0;
  static_cast<void>(writes ? cached_.bypass_write(extent, NoBytes{})
                           : cached_.bypass_read(extent, NoBytes{}, &moved, 0));
}

void ClientNode::Handle::commit_range(Extent range) {
  static_cast<void>(node_.cache_.commit(file_, range));
}

void ClientNode::Handle::drop_range(Extent range) { node_.cache_.drop(file_, range, false); }

void ClientNode::Handle::settle(Extent range) {
  commit_range(range);
  drop_range(range);
}

void ClientNode::Handle::end_read_ahead() {
  HandleRules rules = node_.settings_.handles;
  rules.read_ahead_bytes = 0;
  cached_.change_rules(rules);
}

void ClientNode::Handle::close(bool discard, AtLeave at_leave) {
  if (discard) return leave(true);
  const bool last_commits = at_leave == AtLeave::as_option ? node_.settings_.commit_at_last_close
                                                           : at_leave == AtLeave::last;
  if (last_commits) return close_last_commits();
  node_.drain_background(file_);
  static_cast<void>(cached_.commit_own());
  leave(false);
}

void ClientNode::Handle::close_last_commits() {
  if (file_.state().handles > 1) return leave(false);
  node_.drain_background(file_);
  static_cast<void>(cached_.commit_own());
  leave(false);
}

void ClientNode::Handle::leave(bool discard) {
  node_.drain_background(file_);
  FileState& state = file_.state();
  if (state.handles == 1) {
    while (!discard && node_.cache_.lacks_commits(file_)) static_cast<void>(cached_.commit());
    node_.cache_.drop(file_, whole_file, true);
  }
  --state.handles;
  file_.leave();
  node_.statistics_.add(statistics_);
}

void ClientNode::submit(Job job) {
  Helper& helper = helpers_[job.file->helper()];
  if (job.kind != Job::fetch) {
    const bool known = std::ranges::any_of(helper.jobs, [&job](const Job& other) {
      return other.kind == job.kind && other.file == job.file;
    });
    if (known) return;
  }
  helper.jobs.push_back(std::move(job));
  if (helper.process == nullptr)
    helper.process = std::make_unique<Process>(kernel_, [this, &helper] { work(helper); });
  helper.has_jobs.wake_one();
}

void ClientNode::end_background() {
  ends_ = true;
  for (auto& [process, helper] : helpers_) helper.has_jobs.wake_one();
}

void ClientNode::work(Helper& helper) {
  for (;;) {
    while (helper.jobs.empty() && !ends_) helper.has_jobs.wait();
    if (helper.jobs.empty()) return;
    Job job = std::move(helper.jobs.front());
    helper.jobs.pop_front();
    helper.working_for = job.file;
    carry_out(job);
    helper.working_for = nullptr;
    helper.job_done.wake_all();
  }
}

void ClientNode::carry_out(Job& job) {
  ClientFile file = job.file->counted_in(statistics_);
  switch (job.kind) {
    case Job::commit:
      static_cast<void>(cache_.commit_some(file, job.goal));
      break;
    case Job::write_back:
      static_cast<void>(cache_.write_back(file));
      break;
    case Job::fetch: {
      PageCursor pages(job.extents, cache_.page_size());
      while (cache_.prefetch(file, pages)) {
      }
      break;
    }
  }
}

void ClientNode::drain_background(const ClientFile& file) {
  const auto helper = helpers_.find(file.helper());
  if (helper == helpers_.end()) return;
  // What it would fetch is of no use any more; what it would write the handle writes itself.
  std::erase_if(helper->second.jobs, [&file](const Job& job) { return job.file == &file; });
  while (helper->second.working_for == &file) helper->second.job_done.wait();
}

}  // namespace forebay::sim
