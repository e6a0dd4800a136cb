#include "sim/cluster/server_storage.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string>

namespace forebay::sim {

namespace {
constexpr uint64_t storage_timer = UINT64_MAX;
constexpr int64_t largest_batch_bytes = 1 << 20;   // of a device request
constexpr int64_t storage_queue_requests = 128;    // writes under way; Linux's own figure
constexpr int64_t object_turn_bytes = 4 << 20;     // written back before another object is
constexpr int64_t first_window_blocks = 4;         // of read-ahead, at least
constexpr int64_t largest_part_bytes = 128 << 20;  // of the device; objects begin so far apart

const ServerProfile& checked_server(const ServerProfile& profile) {
  if (profile.block_bytes <= 0 || profile.cache_bytes < profile.block_bytes ||
      profile.cache_bytes / profile.block_bytes >= ServerCache::none ||
      profile.copy_bytes_per_second <= 0) {
    throw std::invalid_argument("a server needs blocks, a cache of at least one, a copy rate");
  }
  return profile;
}
}  // namespace

// --- ServerStorage: calls ---

ServerStorage::ServerStorage(Kernel& kernel, BlockDevice& device, const ServerProfile& profile)
    : kernel_(kernel),
      device_(device),
      profile_(checked_server(profile)),
      space_(device.bytes() / profile.block_bytes, largest_part_bytes / profile.block_bytes),
      cache_(profile.cache_bytes / profile.block_bytes),
      dirty_limit_(std::clamp<int64_t>(
          static_cast<int64_t>(profile.dirty_threshold * static_cast<double>(cache_.capacity())), 1,
          cache_.capacity())),
      batch_blocks_(std::max<int64_t>(1, largest_batch_bytes / profile.block_bytes)) {}

uint32_t ServerStorage::object_of(uint64_t id) const {
  const auto found = object_numbers_.find(id);
  return found != object_numbers_.end() ? found->second : none;
}

uint32_t ServerStorage::object_made(uint64_t id) {
  const auto [found, is_new] = object_numbers_.try_emplace(id, none);
  if (!is_new) return found->second;
  if (free_objects_.empty()) {
    found->second = static_cast<uint32_t>(objects_.size());
    objects_.emplace_back();
  } else {
    found->second = free_objects_.back();
    free_objects_.pop_back();
  }
  return found->second;
}

uint32_t ServerStorage::begin(Kind kind, uint64_t object, Extent place, Then done) {
  const uint32_t call = free_call_ != none ? free_call_ : static_cast<uint32_t>(calls_.size());
  if (free_call_ == none) calls_.emplace_back();
  if (free_call_ != none) free_call_ = calls_[call].next;
  calls_[call] = {done, object, place, place.offset, 0, none, kind};
  return call;
}

void ServerStorage::finish(uint32_t number) {
  Call& call = calls_[number];
  processor_free_ = std::max(processor_free_, kernel_.now()) + profile_.system_call +
                    time_of(call.place.length, profile_.copy_bytes_per_second);
  kernel_.at(processor_free_, call.done);
  call.next = free_call_;
  free_call_ = number;
}

void ServerStorage::write(uint64_t object, Extent place, Then done) {
  if (place.offset < 0 || place.length < 0 || place.end() / profile_.block_bytes >= none) {
    throw std::invalid_argument("a write of bytes " + std::to_string(place.offset) + " to " +
                                std::to_string(place.end()) + " of an object of a server");
  }
  ++counts_.writes;
  counts_.written_bytes += place.length;
  const uint32_t number = object_made(object);
  const uint32_t call = begin(Kind::write, object, place, done);
  if (!fill_edges(call, number)) proceed_write(call);
}

void ServerStorage::read(uint64_t object, Extent place, Then done) {
  ++counts_.reads;
  const uint32_t number = object_of(object);
  const int64_t object_size = number != none ? objects_[number].size : 0;
  place = intersect({std::max<int64_t>(place.offset, 0), place.length}, {0, object_size});
  counts_.read_bytes += place.length;
  const uint32_t call = begin(Kind::read, object, place, done);
  if (place.empty()) return finish(call);
  const int64_t first = place.offset / profile_.block_bytes;
  const int64_t end = round_up(place.end(), profile_.block_bytes) / profile_.block_bytes;
  proceed_read(call);
  if (profile_.read_ahead_bytes > 0) read_ahead(number, first, end);
}

void ServerStorage::flush(uint64_t object, Then done) {
  ++counts_.flushes;
  const uint32_t call = begin(Kind::flush, object, {}, done);
  const uint32_t number = object_of(object);
  if (number == none || objects_[number].unwritten == 0) return finish(call);
  Object& of = objects_[number];
  calls_[call].next = of.flush_waiters;
  of.flush_waiters = call;
  if (of.dirty.first != none && !of.in_flush_queue) {
    of.in_flush_queue = true;
    flush_queue_.push_back(number);
  }
  write_back();
}

void ServerStorage::proceed(uint32_t call) {
  calls_[call].kind == Kind::read ? proceed_read(call) : proceed_write(call);
}

void ServerStorage::proceed_read(uint32_t number) {
  const Call call = calls_[number];
  const uint32_t object = object_of(call.object);
  const int64_t size_now = object != none ? objects_[object].size : 0;
  const int64_t bytes_end = std::min(call.place.end(), size_now);
  int64_t block = call.cursor / profile_.block_bytes;
  const int64_t end =
      bytes_end > 0 ? round_up(bytes_end, profile_.block_bytes) / profile_.block_bytes : 0;
  uint32_t waited_for = none;
  while (block < end) {
    const uint32_t frame = cache_.find(object, block);
    if (frame == none) {
      uint32_t request = none;
      const int64_t count = fill(object, block, end - block, request);
      counts_.misses += static_cast<uint64_t>(count);
      if (request != none) wait_for(request, number);
      block += count;
      if (count > 0) continue;
      calls_[number].cursor = block * profile_.block_bytes;
      return wait_for_room(number);
    }
    ++counts_.hits;
    ++block;
    if (cache_[frame].state == State::clean) {
      cache_.unlink(cache_.clean, frame);
      cache_.append(cache_.clean, frame);
    } else if (cache_[frame].state == State::filling && cache_[frame].request() != waited_for) {
      waited_for = cache_[frame].request();
      wait_for(waited_for, number);
    }
  }
  calls_[number].cursor = call.place.end();
  if (calls_[number].pending == 0) finish(number);
}

void ServerStorage::proceed_write(uint32_t number) {
  const Call call = calls_[number];
  const uint32_t object = object_made(call.object);
  int64_t cursor = call.cursor;
  while (cursor < call.place.end()) {
    const int64_t block = cursor / profile_.block_bytes;
    const int64_t end = std::min((block + 1) * profile_.block_bytes, call.place.end());
    calls_[number].cursor = cursor;
    if (!write_block(number, object, block, end)) return;
    cursor = end;
    if (cursor > objects_[object].size) objects_[object].size = cursor;
  }
  finish(number);
  if (pressing_) write_back();
}

bool ServerStorage::write_block(uint32_t number, uint32_t object, int64_t block, int64_t end) {
  uint32_t frame = cache_.find(object, block);
  if (frame != none) {
    const State state = cache_[frame].state;
    if (state == State::dirty || state == State::written) return true;
    if (state == State::writing) {
      cache_[frame].state = State::written;
      return true;
    }
    if (state == State::filling) {
      wait_for(cache_[frame].request(), number);
      return false;
    }
  }
  if (unwritten_ >= dirty_limit_) {
    wait_for_room(number);
    return false;
  }
  if (frame != none) {
    cache_.unlink(cache_.clean, frame);
  } else {
    const int64_t cursor = calls_[number].cursor;
    if (must_fill(objects_[object], block, {cursor, end - cursor})) {
      uint32_t request = none;
      if (fill(object, block, 1, request) == 1) {
        ++counts_.blocks_read_to_write;
        wait_for(request, number);
      } else {
        wait_for_room(number);
      }
      return false;
    }
    frame = cache_.insert(object, block);
    if (frame == none) {
      wait_for_room(number);
      return false;
    }
  }
  ++unwritten_;
  ++objects_[object].unwritten;
  make_dirty(object, frame);
  return true;
}

// Whether a write of `place` within a block leaves bytes of it that only the device has.
bool ServerStorage::must_fill(const Object& object, int64_t block, Extent place) const {
  const Extent there =
      intersect({block * profile_.block_bytes, profile_.block_bytes}, {0, object.size});
  if (there.empty() || (place.offset <= there.offset && place.end() >= there.end())) return false;
  return run_at(object, block).device >= 0;
}

// Begins to read the first and the last block of a write at once, if it must. False: need not.
bool ServerStorage::fill_edges(uint32_t call, uint32_t object) {
  const Extent place = calls_[call].place;
  if (place.empty()) return false;
  const int64_t first = place.offset / profile_.block_bytes;
  const int64_t last = (place.end() - 1) / profile_.block_bytes;
  bool fills = false;
  for (int64_t block : {first, last}) {
    const Extent here = intersect(place, {block * profile_.block_bytes, profile_.block_bytes});
    if (here.length == profile_.block_bytes || !must_fill(objects_[object], block, here) ||
        cache_.find(object, block) != none) {
      continue;
    }
    uint32_t request = none;
    if (fill(object, block, 1, request) == 0) continue;
    ++counts_.blocks_read_to_write;
    wait_for(request, call);
    fills = true;
  }
  return fills;
}

// --- ServerStorage: reading ---

void ServerStorage::read_ahead(uint32_t number, int64_t first, int64_t end) {
  Object& object = objects_[number];
  const bool in_order = first == object.next_read || first + 1 == object.next_read;
  object.next_read = end;
  if (!in_order) {
    object.window = object.ahead_end = 0;
    return;
  }
  const int64_t largest = std::max<int64_t>(1, profile_.read_ahead_bytes / profile_.block_bytes);
  if (object.ahead_end - end > object.window / 2) return;
  object.window = std::min(
      largest, object.window > 0 ? 2 * object.window : std::max(first_window_blocks, end - first));
  const int64_t blocks = round_up(object.size, profile_.block_bytes) / profile_.block_bytes;
  const int64_t until = std::min(blocks, end + object.window);
  int64_t block = std::max(end, object.ahead_end);
  while (block < until) {
    if (cache_.find(number, block) != none) {
      ++block;
      continue;
    }
    uint32_t request = none;
    const int64_t count = fill(number, block, until - block, request);
    if (count == 0) break;
    counts_.blocks_read_ahead += static_cast<uint64_t>(count);
    block += count;
  }
  object.ahead_end = std::max(object.ahead_end, block);
}

int64_t ServerStorage::fill(uint32_t object, int64_t first, int64_t most, uint32_t& request) {
  BlockRun run = run_at(objects_[object], first);
  most = std::min({most, run.length, batch_blocks_});
  const bool on_device = run.device >= 0;
  run.length = 0;
  for (; run.length < most; ++run.length) {
    if (run.length > 0 && cache_.find(object, first + run.length) != none) break;
    const uint32_t frame = cache_.insert(object, first + run.length);
    if (frame == none) break;
    if (!on_device) {
      // A hole of the object: zeros.
      cache_[frame].state = State::clean;
      cache_.append(cache_.clean, frame);
      continue;
    }
    if (request == none) request = new_request(object, run, false);
    cache_[frame].previous = request;
  }
  if (request != none) submit(request, run);
  return run.length;
}

void ServerStorage::wait_for(uint32_t request, uint32_t call) {
  const uint32_t waiter =
      free_waiter_ != none ? free_waiter_ : static_cast<uint32_t>(waiters_.size());
  if (free_waiter_ == none) waiters_.emplace_back();
  if (free_waiter_ != none) free_waiter_ = waiters_[waiter].next;
  waiters_[waiter] = {call, requests_[request].waiters};
  requests_[request].waiters = waiter;
  ++calls_[call].pending;
}

void ServerStorage::filled(uint32_t number) {
  const Request request = requests_[number];
  for (uint32_t i = 0; i < request.count; ++i) {
    const uint32_t frame = cache_.find(request.object, int64_t{request.first} + i);
    if (frame == none || cache_[frame].state != State::filling ||
        cache_[frame].request() != number) {
      continue;
    }
    cache_[frame].state = State::clean;
    cache_.append(cache_.clean, frame);
  }
  uint32_t first = none;  // the waiters, the first one first
  for (uint32_t waiter = request.waiters; waiter != none;) {
    const uint32_t next = waiters_[waiter].next;
    waiters_[waiter].next = first;
    first = waiter;
    waiter = next;
  }
  while (first != none) {
    const auto [call, next] = waiters_[first];
    waiters_[first].next = free_waiter_;
    free_waiter_ = first;
    first = next;
    if (--calls_[call].pending > 0) continue;
    if (calls_[call].kind == Kind::write) proceed_write(call);
    // A read that waits for room, too, goes on from there.
    else if (calls_[call].cursor == calls_[call].place.end())
      finish(call);
  }
  wake_for_room();
  write_back();
}

// --- ServerStorage: room in the cache ---

void ServerStorage::wait_for_room(uint32_t call) {
  if (waking_) {
    // It was the first and is again.
    calls_[call].next = first_for_room_;
    first_for_room_ = call;
    if (last_for_room_ == none) last_for_room_ = call;
  } else {
    ++counts_.waits;
    calls_[call].next = none;
    (last_for_room_ == none ? first_for_room_ : calls_[last_for_room_].next) = call;
    last_for_room_ = call;
    write_back();
  }
}

void ServerStorage::wake_for_room() {
  waking_ = true;
  while (first_for_room_ != none) {
    const uint32_t call = first_for_room_;
    first_for_room_ = calls_[call].next;
    if (first_for_room_ == none) last_for_room_ = none;
    proceed(call);
    if (first_for_room_ == call) break;
  }
  waking_ = false;
}

// --- ServerStorage: write-back ---

// The frame is in no list.
void ServerStorage::make_dirty(uint32_t number, uint32_t frame) {
  Object& object = objects_[number];
  cache_[frame].state = State::dirty;
  cache_.append(object.dirty, frame);
  counts_.dirty_peak_bytes = std::max(counts_.dirty_peak_bytes, unwritten_ * profile_.block_bytes);
  if (unwritten_ >= dirty_limit_) pressing_ = true;
  if (object.flush_waiters != none && !object.in_flush_queue) {
    object.in_flush_queue = true;
    flush_queue_.push_back(number);
  }
  if (object.in_dirty_list) return;
  object.in_dirty_list = true;
  object.dirty_since = kernel_.now();
  object.turn_blocks = 0;
  object.previous_dirty = last_dirty_;
  object.next_dirty = none;
  (last_dirty_ == none ? first_dirty_ : objects_[last_dirty_].next_dirty) = number;
  last_dirty_ = number;
  if (profile_.write_back_interval > 0 && !timer_set_) {
    timer_set_ = true;
    kernel_.after(profile_.write_back_interval, {this, storage_timer});
  }
}

void ServerStorage::leave_dirty_list(uint32_t number) {
  Object& object = objects_[number];
  if (!object.in_dirty_list) return;
  object.in_dirty_list = false;
  const uint32_t previous = object.previous_dirty, next = object.next_dirty;
  (previous == none ? first_dirty_ : objects_[previous].next_dirty) = next;
  (next == none ? last_dirty_ : objects_[next].previous_dirty) = previous;
}

void ServerStorage::written(uint32_t number) {
  Object& object = objects_[number];
  --unwritten_;
  if (--object.unwritten > 0) return;
  for (uint32_t call = object.flush_waiters; call != none;) {
    const uint32_t next = calls_[call].next;
    finish(call);
    call = next;
  }
  object.flush_waiters = none;
}

void ServerStorage::write_back() {
  while (writes_under_way_ < storage_queue_requests) {
    const uint32_t object = next_to_write();
    if (object == none) return;
    write_batch(object);
  }
}

uint32_t ServerStorage::next_to_write() {
  while (!flush_queue_.empty()) {
    const uint32_t object = flush_queue_.front();
    if (objects_[object].dirty.first != none) return object;
    objects_[object].in_flush_queue = false;
    flush_queue_.erase(flush_queue_.begin());
  }
  // At the threshold, an eighth of it is written, so that requests are large.
  if (unwritten_ - writing_ <= dirty_limit_ - dirty_limit_ / 8 - 1) pressing_ = false;
  if (first_dirty_ == none) return none;
  const bool stuck = first_for_room_ != none && writes_under_way_ == 0;
  if (pressing_ || stuck || objects_[first_dirty_].dirty_since <= expired_) return first_dirty_;
  return none;
}

// Writes the object's oldest dirty block and its neighbours.
void ServerStorage::write_batch(uint32_t number) {
  const auto is_dirty = [&](int64_t block) {
    const uint32_t frame = block >= 0 ? cache_.find(number, block) : none;
    return frame != none && cache_[frame].state == State::dirty;
  };
  BlockRun batch{cache_[objects_[number].dirty.first].block, 1, 0};
  while (batch.length < batch_blocks_ && is_dirty(batch.first - 1)) --batch.first, ++batch.length;
  while (batch.length < batch_blocks_ && is_dirty(batch.end())) ++batch.length;
  for (int64_t block = batch.first; block < batch.end();) {
    const BlockRun run = place_run(number, block, batch.end() - block);
    write_run(number, run);
    block = run.end();
  }
  Object& object = objects_[number];
  object.turn_blocks += batch.length;
  const bool turn_over = object.turn_blocks * profile_.block_bytes >= object_turn_bytes;
  if (object.dirty.first == none) {
    leave_dirty_list(number);
  } else if (turn_over && object.next_dirty != none) {
    leave_dirty_list(number);
    object.in_dirty_list = true;
    object.dirty_since = kernel_.now();
    object.turn_blocks = 0;
    object.previous_dirty = last_dirty_;
    object.next_dirty = none;
    objects_[last_dirty_].next_dirty = number;
    last_dirty_ = number;
  }
}

void ServerStorage::write_run(uint32_t object, BlockRun run) {
  const uint32_t request = new_request(object, run, true);
  for (int64_t block = run.first; block < run.end(); ++block) {
    const uint32_t frame = cache_.find(object, block);
    cache_.unlink(objects_[object].dirty, frame);
    cache_[frame].state = State::writing;
    cache_[frame].previous = request;
  }
  writing_ += run.length;
  ++writes_under_way_;
  counts_.blocks_written_back += static_cast<uint64_t>(run.length);
  submit(request, run);
}

void ServerStorage::written_back(uint32_t number) {
  const Request request = requests_[number];
  --writes_under_way_;
  for (uint32_t i = 0; i < request.count; ++i) {
    const uint32_t frame = cache_.find(request.object, int64_t{request.first} + i);
    if (frame == none) continue;
    const State state = cache_[frame].state;
    if ((state != State::writing && state != State::written) || cache_[frame].request() != number) {
      continue;
    }
    --writing_;
    if (state == State::written) {
      make_dirty(request.object, frame);
    } else {
      cache_[frame].state = State::clean;
      cache_.append(cache_.clean, frame);
      written(request.object);
    }
  }
  wake_for_room();
  write_back();
}

void ServerStorage::expire() {
  timer_set_ = false;
  expired_ = kernel_.now() - profile_.write_back_expire;
  write_back();
  if (unwritten_ == 0) return;
  timer_set_ = true;
  kernel_.after(profile_.write_back_interval, {this, storage_timer});
}

void ServerStorage::happen(uint64_t word) {
  if (word == storage_timer) return expire();
  const auto request = static_cast<uint32_t>(word);
  requests_[request].writes ? written_back(request) : filled(request);
  // Only now may the number be used again: frames refer to it.
  requests_[request].next = free_request_;
  free_request_ = request;
}

uint32_t ServerStorage::new_request(uint32_t object, BlockRun run, bool writes) {
  const uint32_t request =
      free_request_ != none ? free_request_ : static_cast<uint32_t>(requests_.size());
  if (free_request_ == none) requests_.emplace_back();
  if (free_request_ != none) free_request_ = requests_[request].next;
  requests_[request] = {object, static_cast<uint32_t>(run.first), 0, none, none, writes};
  return request;
}

void ServerStorage::submit(uint32_t number, BlockRun run) {
  Request& request = requests_[number];
  request.count = static_cast<uint32_t>(run.length);
  ++(request.writes ? counts_.device_writes : counts_.device_reads);
  device_.submit(request.writes,
                 {run.device * profile_.block_bytes, run.length * profile_.block_bytes},
                 {this, number});
}

// --- ServerStorage: objects and their places ---

// From `block` on: where it is, and how many blocks follow there. The device is -1 in a hole.
BlockRun ServerStorage::run_at(const Object& object, int64_t block) const {
  const auto after = std::ranges::upper_bound(object.runs, block, {}, &BlockRun::first);
  if (after != object.runs.begin()) {
    const BlockRun& run = *std::prev(after);
    if (block < run.end()) {
      return {block, run.end() - block, run.device + block - run.first};
    }
  }
  const int64_t end = after != object.runs.end() ? after->first : INT64_MAX;
  return {block, end - block, -1};
}

// The same, but gives blocks of a hole a place.
BlockRun ServerStorage::place_run(uint32_t number, int64_t block, int64_t most) {
  Object& object = objects_[number];
  BlockRun found = run_at(object, block);
  found.length = std::min(found.length, most);
  if (found.device >= 0) return found;
  auto after = std::ranges::upper_bound(object.runs, block, {}, &BlockRun::first);
  // Where it would be if the object had no holes.
  int64_t goal = 0;
  if (object.runs.empty()) {
    goal = space_.fresh_goal();
  } else {
    const BlockRun& near = after != object.runs.begin() ? *std::prev(after) : *after;
    goal = near.device + block - near.first;
  }
  const Extent taken = space_.take(goal, found.length);
  found = {block, taken.length, taken.offset};
  if (after != object.runs.begin()) {
    BlockRun& before = *std::prev(after);
    if (before.end() == block && before.device + before.length == found.device) {
      before.length += found.length;
      if (after != object.runs.end() && after->first == before.end() &&
          after->device == before.device + before.length) {
        before.length += after->length;
        object.runs.erase(after);
      }
      return found;
    }
  }
  if (after != object.runs.end() && after->first == found.end() &&
      after->device == found.device + found.length) {
    *after = {found.first, found.length + after->length, found.device};
  } else {
    object.runs.insert(after, found);
  }
  return found;
}

int64_t ServerStorage::size(uint64_t object) const {
  const uint32_t number = object_of(object);
  return number != none ? objects_[number].size : 0;
}

std::vector<BlockRun> ServerStorage::runs(uint64_t object) const {
  const uint32_t number = object_of(object);
  return number != none ? objects_[number].runs : std::vector<BlockRun>{};
}

void ServerStorage::lay_out(uint64_t id, int64_t bytes) {
  const uint32_t number = object_made(id);
  const int64_t end = bytes > 0 ? round_up(bytes, profile_.block_bytes) / profile_.block_bytes : 0;
  for (int64_t block = 0; block < end;) block = place_run(number, block, end - block).end();
  objects_[number].size = std::max(objects_[number].size, bytes);
}

void ServerStorage::truncate(uint64_t id, int64_t bytes) {
  const uint32_t number = object_made(id);
  const int64_t first =
      bytes > 0 ? round_up(bytes, profile_.block_bytes) / profile_.block_bytes : 0;
  forget_blocks(number, first);
  free_space_from(objects_[number], first);
  objects_[number].size = bytes;
  objects_[number].ahead_end = std::min(objects_[number].ahead_end, first);
  wake_for_room();
  write_back();
}

void ServerStorage::remove(uint64_t id) {
  const uint32_t number = object_of(id);
  if (number == none) return;
  forget_blocks(number, 0);
  free_space_from(objects_[number], 0);
  std::erase(flush_queue_, number);
  objects_[number] = {};
  object_numbers_.erase(id);
  free_objects_.push_back(number);
  wake_for_room();
  write_back();
}

void ServerStorage::drop_caches() {
  while (cache_.clean.first != none) forget_frame(cache_.clean.first);
  wake_for_room();
  write_back();
}

// Forgets what is cached of an object from a block on: looks for each such block, or goes through
// the cache, whichever is shorter.
void ServerStorage::forget_blocks(uint32_t number, int64_t first) {
  Object& object = objects_[number];
  const int64_t size = std::max<int64_t>(object.size, 1);
  const int64_t end = round_up(size, profile_.block_bytes) / profile_.block_bytes;
  if (end - first <= cache_.used()) {
    for (int64_t block = first; block < end; ++block) {
      const uint32_t frame = cache_.find(number, block);
      if (frame != none) forget_frame(frame);
    }
  } else {
    for (uint32_t frame = 0; frame < cache_.used(); ++frame) {
      if (!cache_.holds(frame)) continue;
      if (cache_[frame].object == number && cache_[frame].block >= first) forget_frame(frame);
    }
  }
  if (object.dirty.first == none) leave_dirty_list(number);
}

void ServerStorage::forget_frame(uint32_t frame) {
  const uint32_t object = cache_[frame].object;
  const State state = cache_[frame].state;
  if (state == State::clean) cache_.unlink(cache_.clean, frame);
  if (state == State::dirty) cache_.unlink(objects_[object].dirty, frame);
  if (state == State::writing || state == State::written) --writing_;
  cache_.erase(frame);
  if (state != State::clean && state != State::filling) written(object);
}

void ServerStorage::free_space_from(Object& object, int64_t first) {
  while (!object.runs.empty() && object.runs.back().end() > first) {
    BlockRun& run = object.runs.back();
    const int64_t kept = std::max<int64_t>(0, first - run.first);
    space_.give_back({run.device + kept, run.length - kept});
    run.length = kept;
    if (kept == 0) object.runs.pop_back();
  }
}

}  // namespace forebay::sim
