#include "sim/cluster/disk.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace forebay::sim {

namespace {
constexpr int64_t largest_merged_sectors = (int64_t{1} << 20) / DiskProfile::sector_bytes;

DiskProfile checked_disk(DiskProfile profile) {
  bool sound = !profile.zones.empty() && profile.heads > 0 && profile.revolutions_per_minute > 0 &&
               profile.interface_bytes_per_second > 0;
  for (const DiskZone& zone : profile.zones) {
    sound = sound && zone.cylinders > 0 && zone.sectors_per_track > 0;
  }
  if (!sound) throw std::invalid_argument("a disk needs zones, heads, a speed and an interface");
  return profile;
}
}  // namespace

int64_t DiskProfile::cylinders() const {
  int64_t sum = 0;
  for (const DiskZone& zone : zones) sum += zone.cylinders;
  return sum;
}

int64_t DiskProfile::bytes() const {
  int64_t tracks_sectors = 0;
  for (const DiskZone& zone : zones) tracks_sectors += zone.cylinders * zone.sectors_per_track;
  return tracks_sectors * heads * sector_bytes;
}

// Stated by the maker: 80 GB, 7,200 rpm, 8 MB of cache, mean seeks of 8.9 ms (read) and 10.9 ms
// (write), 2.0 ms track to track, SATA at 150 MB/s, and 748 Mbit/s at most from the medium: 1,521
// sectors pass in a revolution. Stated for the WD400BB of the same family: 0.3 ms controller
// overhead. Assumed: one platter with two heads; the stated rate is that under the head, without
// track switches; sixteen zones of the same width, the inmost with 55 % of the outmost one's
// sectors; a head switch of 1.0 ms; the write cache is on, as such drives were sold.
DiskProfile wd800jd() {
  constexpr int64_t zones = 16, capacity = 80'026'361'856;
  constexpr double outer = 748e6 / 8 / 120 / DiskProfile::sector_bytes, inner_share = 0.55;
  DiskProfile profile;
  int64_t sectors = 0;  // of a cylinder of each zone
  for (int64_t i = 0; i < zones; ++i) {
    const double inwards = static_cast<double>(i) / (zones - 1);
    const auto track = static_cast<int64_t>(outer * (1 - inwards * (1 - inner_share)));
    profile.zones.push_back({0, track});
    sectors += track * profile.heads;
  }
  const int64_t cylinders = round_up(capacity, sectors * DiskProfile::sector_bytes) /
                            (sectors * DiskProfile::sector_bytes);
  for (DiskZone& zone : profile.zones) zone.cylinders = cylinders;
  profile.read_seek_mean = 8'900 * microsecond;
  profile.write_seek_mean = 10'900 * microsecond;
  profile.track_to_track = 2 * millisecond;
  profile.head_switch = 1 * millisecond;
  profile.controller_overhead = 300 * microsecond;
  profile.track_cache_bytes = int64_t{8} << 20;
  profile.write_cache = true;
  return profile;
}

// Configured there: 16,383 cylinders, two heads, 63 sectors a track, mean seeks of 8.8 ms (read)
// and 10.3 ms (write). Assumed: all else; neither cache nor scheduler.
DiskProfile published_simulator_disk() {
  DiskProfile profile;
  profile.zones = {{16'383, 63}};
  profile.read_seek_mean = 8'800 * microsecond;
  profile.write_seek_mean = 10'300 * microsecond;
  profile.track_to_track = 2 * millisecond;
  profile.head_switch = 1 * millisecond;
  profile.controller_overhead = 300 * microsecond;
  profile.scheduler = DiskScheduler::fcfs;
  return profile;
}

SeekCurve::SeekCurve(int64_t cylinders, Picoseconds track_to_track, Picoseconds mean)
    : bend_(std::max(1.0, static_cast<double>(cylinders) / 3)),
      shortest_(static_cast<double>(track_to_track)) {
  // Of two random cylinders, `cylinders - distance` pairs are so far apart.
  double pairs = 0, sum = 0;
  for (int64_t distance = 1; distance < cylinders; ++distance) {
    const auto weight = static_cast<double>(cylinders - distance);
    pairs += weight;
    sum += weight * shape(distance);
  }
  if (sum > 0) factor_ = std::max(0.0, (static_cast<double>(mean) - shortest_) / (sum / pairs));
}

// 0 at distance 1.
double SeekCurve::shape(int64_t distance) const {
  const auto d = static_cast<double>(distance);
  const double root = std::sqrt(std::min(d, bend_));
  return d <= bend_ ? root - 1 : (root + d / root) / 2 - 1;
}

Picoseconds SeekCurve::operator()(int64_t distance) const {
  if (distance == 0) return 0;
  return static_cast<Picoseconds>(shortest_ + factor_ * shape(distance) + 0.5);
}

Disk::Disk(Kernel& kernel, DiskProfile profile)
    : kernel_(kernel),
      profile_(checked_disk(std::move(profile))),
      read_seek_(profile_.cylinders(), profile_.track_to_track, profile_.read_seek_mean),
      write_seek_(profile_.cylinders(), profile_.track_to_track, profile_.write_seek_mean),
      revolution_(static_cast<Picoseconds>(60e12 / profile_.revolutions_per_minute + 0.5)),
      cylinder_time_(profile_.heads * revolution_ + (profile_.heads - 1) * profile_.head_switch +
                     profile_.track_to_track) {
  int64_t cylinder = 0;
  for (const DiskZone& zone : profile_.zones) {
    zones_.push_back({sectors_, cylinder, zone.sectors_per_track, cylinder * cylinder_time_});
    sectors_ += zone.cylinders * profile_.heads * zone.sectors_per_track;
    cylinder += zone.cylinders;
  }
}

void Disk::submit(bool writes, Extent place, Then done) {
  accept_request(counts_, bytes(), writes, place);
  if (place.empty()) {
    kernel_.after(profile_.controller_overhead, done);
    return;
  }
  const int64_t first = place.offset / DiskProfile::sector_bytes;
  const int64_t end = round_up(place.end(), DiskProfile::sector_bytes) / DiskProfile::sector_bytes;
  const int64_t key = profile_.scheduler == DiskScheduler::fcfs ? 0 : first;
  const bool cached = writes && profile_.write_cache;
  const Request request{key, submitted_++, first, end, writes, cached, done};
  if (cached) {
    for_cache_.push_back(request);
    fill_write_cache();
  } else {
    queue_.insert(request);
  }
  counts_.longest_queue = std::max<uint64_t>(counts_.longest_queue,
                                             queue_.size() + serving_.size() + for_cache_.size());
  if (!busy_) start_next();
}

// Takes the data of writes into the drive's cache, in order, while there is room. A write that is
// larger than the cache is taken when the cache is empty.
void Disk::fill_write_cache() {
  while (!for_cache_.empty()) {
    Request request = for_cache_.front();
    const int64_t size = request.bytes();
    if (cached_writes_ > 0 && cached_writes_ + size > profile_.track_cache_bytes / 2) return;
    for_cache_.pop_front();
    cached_writes_ += size;
    link_free_ = std::max(link_free_, kernel_.now()) + profile_.controller_overhead +
                 time_of(size, profile_.interface_bytes_per_second);
    kernel_.at(link_free_, request.done);
    request.done = {};
    queue_.insert(request);
  }
}

// The request under way is done. What follows from it may submit more: that waits in the queue, so
// that the scheduler sees it before it chooses.
void Disk::happen(uint64_t) {
  cached_writes_ -= serving_cached_;
  fill_write_cache();
  for (const Then& done : serving_) done.happen();
  serving_.clear();
  busy_ = false;
  start_next();
}

void Disk::start_next() {
  if (queue_.empty()) return;
  const auto chosen = choose();
  Request request = *chosen;
  queue_.erase(chosen);
  busy_ = true;
  serving_.push_back(request.done);
  if (profile_.scheduler == DiskScheduler::elevator) merge_followers(request);
  serving_cached_ = request.cached ? request.bytes() : 0;
  const Picoseconds end = serve(request);
  arm_sector_ = request.end;
  counts_.busy += end - kernel_.now();
  busy_until_ = end;
  kernel_.at(end, {this, 0});
}

Disk::Queue::iterator Disk::choose() {
  if (profile_.scheduler == DiskScheduler::fcfs) return queue_.begin();
  if (profile_.scheduler == DiskScheduler::sstf) return nearest();
  // The place only grows until the sweep is over, so that every request's turn comes.
  const auto next = queue_.lower_bound({.key = arm_sector_, .order = 0});
  return next != queue_.end() ? next : queue_.begin();
}

Disk::Queue::iterator Disk::nearest() {
  const auto above = queue_.lower_bound({.key = arm_sector_, .order = 0});
  if (above == queue_.begin()) return above;
  // Of several requests for one place, the oldest.
  const auto below = queue_.lower_bound({.key = std::prev(above)->key, .order = 0});
  if (above == queue_.end()) return below;
  const int64_t up = position(above->first).cylinder - arm_cylinder_;
  const int64_t down = arm_cylinder_ - position(below->first).cylinder;
  return up <= down ? above : below;
}

void Disk::merge_followers(Request& into) {
  for (;;) {
    const auto next = queue_.lower_bound({.key = into.end, .order = 0});
    if (next == queue_.end() || next->first != into.end || next->writes != into.writes ||
        next->cached != into.cached || next->end - into.first > largest_merged_sectors) {
      return;
    }
    into.end = next->end;
    serving_.push_back(next->done);
    queue_.erase(next);
  }
}

// The time when the request is done. A transfer over the interface overlaps that of the medium.
Picoseconds Disk::serve(const Request& request) {
  if (request.cached) return serve_by_arm(request, kernel_.now());
  const Picoseconds begin = kernel_.now() + profile_.controller_overhead;
  const Picoseconds sent = begin + time_of(request.bytes(), profile_.interface_bytes_per_second);
  const Picoseconds in_cache = request.writes ? INT64_MAX : cached_at(request, begin);
  if (in_cache == INT64_MAX) return std::max(sent, serve_by_arm(request, begin));
  return std::max(sent, in_cache);
}

Picoseconds Disk::serve_by_arm(const Request& request, Picoseconds begin) {
  stop_reading_ahead();
  const Position first = position(request.first), last = position(request.end - 1);
  const Picoseconds arrives = begin + seek(request.writes, first);
  if (first.cylinder != arm_cylinder_) ++counts_.seeks;
  const Picoseconds starts = arrives + wait_for_pass(first.pass, arrives);
  arm_cylinder_ = last.cylinder;
  arm_head_ = last.head;
  if (request.writes) {
    forget(request.first, request.end);
  } else if (profile_.track_cache_bytes > 0) {
    const int64_t half = profile_.track_cache_bytes / 2 / DiskProfile::sector_bytes;
    ahead_ = {request.first, std::min(request.end + half, sectors_), request.first, starts, true};
  }
  return starts + last.pass_end - first.pass;
}

Picoseconds Disk::cached_at(const Request& request, Picoseconds begin) {
  Ahead next = ahead_;
  if (request.first < next.begin || request.first >= next.limit) return INT64_MAX;
  if (!next.reading) return request.end <= next.limit ? begin : INT64_MAX;
  const Position limit = position(next.limit - 1);
  const Position last = position(request.end - 1);
  Picoseconds from_pass = position(next.from).pass;
  if (next.since + limit.pass_end - from_pass <= kernel_.now()) {
    // The drive has stopped at the limit and reads on from there.
    if (next.limit == sectors_) return request.end <= next.limit ? begin : INT64_MAX;
    next.from = next.limit;
    from_pass = position(next.from).pass;
    next.since = begin + wait_for_pass(from_pass, begin);
  }
  Picoseconds read = begin;
  if (request.end > next.from) read = std::max(begin, next.since + last.pass_end - from_pass);
  // A read far ahead comes sooner if the arm goes there.
  const Position first = position(request.first);
  const Picoseconds arrives = begin + seek(false, first);
  const Picoseconds by_arm =
      arrives + wait_for_pass(first.pass, arrives) + last.pass_end - first.pass;
  if (read > by_arm) return INT64_MAX;
  const int64_t whole = profile_.track_cache_bytes / DiskProfile::sector_bytes;
  next.limit = std::max(next.limit, std::min(request.end + whole / 2, sectors_));
  next.begin = std::max(next.begin, next.limit - whole);
  ahead_ = next;
  arm_cylinder_ = last.cylinder;
  arm_head_ = last.head;
  return read;
}

// The arm is needed elsewhere. The cache keeps what has been read by now.
void Disk::stop_reading_ahead() {
  if (!ahead_.reading) return;
  ahead_.reading = false;
  const Picoseconds time = std::max<Picoseconds>(0, kernel_.now() - ahead_.since);
  const int64_t reached = sector_of_pass(position(ahead_.from).pass + time);
  ahead_.limit = std::min(ahead_.limit, std::max(ahead_.from, reached));
}

void Disk::forget(int64_t first, int64_t end) {
  if (first < ahead_.limit && end > ahead_.begin) ahead_ = {};
}

const Disk::Zone& Disk::zone_of_sector(int64_t sector) const {
  const auto after = std::ranges::upper_bound(zones_, sector, {}, &Zone::first_sector);
  return *std::prev(after);
}

Disk::Position Disk::position(int64_t sector) const {
  const Zone& zone = zone_of_sector(sector);
  const int64_t track = (sector - zone.first_sector) / zone.sectors_per_track;
  const int64_t in_track = (sector - zone.first_sector) % zone.sectors_per_track;
  const int64_t cylinder = track / profile_.heads, head = track % profile_.heads;
  const Picoseconds pass =
      zone.first_pass + cylinder * cylinder_time_ + head * (revolution_ + profile_.head_switch);
  return {zone.first_cylinder + cylinder, head,
          pass + in_track * revolution_ / zone.sectors_per_track,
          pass + (in_track + 1) * revolution_ / zone.sectors_per_track};
}

// The number of the sector that is under the head, or the next one if it is between two tracks.
int64_t Disk::sector_of_pass(Picoseconds pass) const {
  const auto after = std::ranges::upper_bound(zones_, pass, {}, &Zone::first_pass);
  const Zone& zone = *std::prev(after);
  const Picoseconds in_zone = pass - zone.first_pass;
  const int64_t cylinder = in_zone / cylinder_time_;
  const Picoseconds track_time = revolution_ + profile_.head_switch;
  const int64_t head = std::min(in_zone % cylinder_time_ / track_time, profile_.heads - 1);
  const Picoseconds in_track = std::min(in_zone % cylinder_time_ - head * track_time, revolution_);
  const int64_t track = cylinder * profile_.heads + head;
  const int64_t sector = zone.first_sector + track * zone.sectors_per_track +
                         in_track * zone.sectors_per_track / revolution_;
  return std::min(sector, sectors_);
}

Picoseconds Disk::seek(bool writes, const Position& to) const {
  const int64_t distance = std::abs(to.cylinder - arm_cylinder_);
  if (distance == 0) return to.head != arm_head_ ? profile_.head_switch : 0;
  return writes ? write_seek_(distance) : read_seek_(distance);
}

Picoseconds Disk::wait_for_pass(Picoseconds pass, Picoseconds from) const {
  const Picoseconds difference = (pass - from) % revolution_;
  return difference < 0 ? difference + revolution_ : difference;
}

}  // namespace forebay::sim
