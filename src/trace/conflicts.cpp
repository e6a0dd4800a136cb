#include "trace/conflicts.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace forebay::trace {

namespace {

constexpr uint32_t no_access = std::numeric_limits<uint32_t>::max();
constexpr uint32_t never = std::numeric_limits<uint32_t>::max();
constexpr std::size_t piece = 1 << 14;
constexpr std::size_t most_examples = 8;         // per separation
constexpr std::size_t most_sharing_sets = 1024;  // sets of processes that share bytes

// Wraps around: times of damaged files may be anything.
int64_t minus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
int64_t plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

}  // namespace

bool ConflictFinder::access(const FileAccess& access) {
  if (access.end <= access.offset) return true;
  if (told_count_ < std::min<uint64_t>(most_accesses_, no_access)) {
    if (told_count_++ % piece == 0) told_.emplace_back().reserve(piece);
    told_.back().push_back(access);
    writes_ = writes_ || access.writes;
    return true;
  }
  if (access.continued && left_out_ == 0) cut_ = true;
  ++left_out_;
  return false;
}

void ConflictFinder::merge(ConflictFinder&& other) {
  bool kept = true;
  for (const std::vector<FileAccess>& part : other.told_) {
    for (const FileAccess& one : part) {
      if (kept || !one.continued) kept = access(one);
    }
  }
  // An access that was cut in the other finder is counted there, too.
  if (other.cut_ && !kept) --left_out_;
  if (kept) cut_ = other.cut_;
  left_out_ += other.left_out_;
  for (const auto& [who, handle] : other.handles_) {
    Handle& of = handles_[who];
    const auto append = [](std::vector<uint32_t>& moments, const std::vector<uint32_t>& more) {
      moments.insert(moments.end(), more.begin(), more.end());
    };
    append(of.closes, handle.closes);
    append(of.closes_and_syncs, handle.closes_and_syncs);
    append(of.opens, handle.opens);
    append(of.opens_and_syncs, handle.opens_and_syncs);
  }
  other = ConflictFinder(most_accesses_);
}

void ConflictFinder::sync(const FileMoment& sync) {
  if (sync.open < 0) return;
  Handle& of = handles_[{sync.process, sync.thread, sync.open}];
  of.closes_and_syncs.push_back(sync.moment);
  of.opens_and_syncs.push_back(sync.moment);
}

void ConflictFinder::open(const FileMoment& open) {
  if (open.open < 0) return;
  Handle& of = handles_[{open.process, open.thread, open.open}];
  of.opens.push_back(open.moment);
  of.opens_and_syncs.push_back(open.moment);
}

void ConflictFinder::close(const FileMoment& close) {
  if (close.open < 0) return;
  Handle& of = handles_[{close.process, close.thread, close.open}];
  of.closes.push_back(close.moment);
  of.closes_and_syncs.push_back(close.moment);
}

void ConflictFinder::write(ByteWriter& writer) const {
  writer.varint(told_count_);
  FileAccess before;
  for (const std::vector<FileAccess>& part : told_) {
    for (const FileAccess& one : part) {
      writer.u8(static_cast<uint8_t>((one.writes ? 1 : 0) | (one.continued ? 2 : 0) |
                                     static_cast<uint8_t>(one.ending) << 2));
      writer.varint(one.process);
      writer.varint(one.thread);
      writer.signed_varint(one.open);
      writer.signed_varint(int64_t{one.moment} - before.moment);
      writer.signed_varint(minus(one.offset, before.end));
      writer.signed_varint(minus(one.end, one.offset));
      writer.signed_varint(minus(one.start_ns, before.start_ns));
      writer.signed_varint(minus(one.end_ns, one.start_ns));
      before = one;
    }
  }
  writer.u8(cut_ ? 1 : 0);
  writer.varint(left_out_);
  writer.varint(handles_.size());
  for (const auto& [who, handle] : handles_) {
    writer.varint(std::get<0>(who));
    writer.varint(std::get<1>(who));
    writer.signed_varint(std::get<2>(who));
    for (const auto* moments :
         {&handle.closes, &handle.closes_and_syncs, &handle.opens, &handle.opens_and_syncs}) {
      writer.varint(moments->size());
      for (const uint32_t moment : *moments) writer.varint(moment);
    }
  }
}

bool ConflictFinder::read(ByteReader& reader) {
  FileAccess before;
  for (uint64_t count = reader.varint(); count > 0 && reader.ok(); --count) {
    const uint8_t flags = reader.u8();
    FileAccess one;
    one.writes = (flags & 1) != 0;
    one.continued = (flags & 2) != 0;
    one.ending =
        static_cast<Ending>(std::min(flags >> 2, int{static_cast<uint8_t>(Ending::unknown)}));
    one.process = static_cast<uint32_t>(reader.varint());
    one.thread = static_cast<uint32_t>(reader.varint());
    one.open = static_cast<int32_t>(reader.signed_varint());
    one.moment = static_cast<uint32_t>(before.moment + reader.signed_varint());
    one.offset = plus(before.end, reader.signed_varint());
    one.end = plus(one.offset, reader.signed_varint());
    one.start_ns = plus(before.start_ns, reader.signed_varint());
    one.end_ns = plus(one.start_ns, reader.signed_varint());
    access(one);
    before = one;
  }
  cut_ = reader.u8() != 0;
  left_out_ = reader.varint();
  for (uint64_t count = reader.varint(); count > 0 && reader.ok(); --count) {
    const auto process = static_cast<uint32_t>(reader.varint());
    const auto thread = static_cast<uint32_t>(reader.varint());
    Handle& handle = handles_[{process, thread, static_cast<int32_t>(reader.signed_varint())}];
    for (auto* moments :
         {&handle.closes, &handle.closes_and_syncs, &handle.opens, &handle.opens_and_syncs}) {
      for (uint64_t left = reader.varint(); left > 0 && reader.ok(); --left)
        moments->push_back(static_cast<uint32_t>(reader.varint()));
    }
  }
  return reader.ok();
}

Conflicts ConflictFinder::finish(const Order& order) {
  Conflicts found;
  found.accesses_left_out = left_out_;
  std::map<uint32_t, std::vector<ByteRange>> touched;
  std::vector<ByteRange>* ranges = nullptr;
  uint32_t process = no_access;
  for (const std::vector<FileAccess>& part : told_) {
    for (const FileAccess& access : part) {
      if (ranges == nullptr || access.process != process) ranges = &touched[access.process];
      process = access.process;
      if (!ranges->empty() && ranges->back().end == access.offset)
        ranges->back().end = access.end;
      else
        ranges->push_back({access.offset, access.end});
    }
  }
  found.sharing = sharing_of(std::move(touched), most_sharing_sets);
  if (writes_ && found.sharing.bytes > 0) {
    keep_shared(found.sharing.ranges, order);
    order_ = &order;
    sweep(found);
  }
  *this = ConflictFinder(most_accesses_);
  return found;
}

// Keeps the accesses to shared bytes; other accesses conflict with none.
void ConflictFinder::keep_shared(const std::vector<ByteRange>& ranges, const Order& order) {
  const auto shared = [&](const FileAccess& access) {
    const auto after =
        std::upper_bound(ranges.begin(), ranges.end(), access.offset,
                         [](int64_t offset, const ByteRange& range) { return offset < range.end; });
    return after != ranges.end() && after->begin < access.end;
  };
  const auto last_moment = [&](const FileAccess& access) {
    switch (access.ending) {
      case Ending::with_call:
        return access.moment;
      case Ending::later:
        return std::max(access.moment,
                        order.last_moment_before(access.process, access.thread, access.end_ns));
      default:
        return never;
    }
  };
  for (std::vector<FileAccess>& part : told_) {
    for (const FileAccess& one : part) {
      if (!shared(one)) continue;
      accesses_.push_back(
          {one, order.place(one.process, one.thread, one.moment, one.start_ns), last_moment(one)});
    }
    part = {};
  }
}

// Goes through the accesses by time. Order::place moves times, so that no access comes before one
// that it is known to follow.
void ConflictFinder::sweep(Conflicts& found) {
  std::stable_sort(accesses_.begin(), accesses_.end(), [](const Placed& a, const Placed& b) {
    return a.at.time_ns != b.at.time_ns ? a.at.time_ns < b.at.time_ns : a.at.rank < b.at.rank;
  });
  met_.assign(accesses_.size(), no_access);
  for (uint32_t i = 0; i < accesses_.size(); ++i) look(i, found);
}

// The stretch that begins at `at`, or the first one after it. Cuts a stretch that reaches across
// `at` in two.
ConflictFinder::Map::iterator ConflictFinder::cut(int64_t at) {
  auto after = touched_.lower_bound(at);
  if (after == touched_.begin()) return after;
  auto before = std::prev(after);
  if (before->second.end <= at) return after;
  const Touched rest = before->second;
  before->second.end = at;
  return touched_.emplace_hint(after, at, rest);
}

void ConflictFinder::look(uint32_t number, Conflicts& found) {
  const FileAccess& access = accesses_[number].access;
  read_before_ = read_after_ = nullptr;
  auto stretch = cut(access.offset);
  const auto last = cut(access.end);
  int64_t at = access.offset;
  const auto fill_hole = [&](int64_t end) {
    if (at >= end) return;
    Touched& untouched = touched_.emplace(at, Touched{end, no_access, nullptr}).first->second;
    look(number, at, untouched, found);
  };
  for (; stretch != last; ++stretch) {
    fill_hole(stretch->first);
    at = stretch->second.end;
    look(number, stretch->first, stretch->second, found);
  }
  fill_hole(access.end);
}

// Compares the access with those to the stretch at `offset`, all of which it touches.
void ConflictFinder::look(uint32_t number, int64_t offset, Touched& touched, Conflicts& found) {
  const bool writes = accesses_[number].access.writes;
  if (touched.write != no_access) conflict(touched.write, number, offset, touched.end, found);
  if (touched.others != nullptr && (writes || touched.others->writes)) {
    for (const uint32_t other : touched.others->accesses) {
      if (writes || accesses_[other].access.writes)
        conflict(other, number, offset, touched.end, found);
    }
  }
  if (writes)
    write_on(touched, number);
  else
    read_on(touched, number);
}

void ConflictFinder::read_on(Touched& touched, uint32_t number) {
  if (read_after_ != nullptr && touched.others == read_before_) {
    touched.others = read_after_;
    return;
  }
  if (touched.others.use_count() == 1) {  // no other stretch shares it
    add(*touched.others, number);
    return;
  }
  auto others = touched.others != nullptr ? std::make_shared<Others>(*touched.others)
                                          : std::make_shared<Others>();
  add(*others, number);
  read_before_ = std::exchange(touched.others, others);
  read_after_ = std::move(others);
}

// Forgets accesses before this write that need no more comparison: whatever follows the write also
// follows the accesses that are known to precede it, and an access in conflict with the write has
// been reported. Keeps accesses of the write's own process that are not known to precede it.
void ConflictFinder::write_on(Touched& touched, uint32_t number) const {
  std::shared_ptr<Others> kept;
  const auto keep = [&](uint32_t other) {
    const Placed &before = accesses_[other], &write = accesses_[number];
    if (before.access.process != write.access.process || precedes(before, write)) return;
    if (kept == nullptr) kept = std::make_shared<Others>();
    add(*kept, other);
  };
  if (touched.write != no_access) keep(touched.write);
  if (touched.others != nullptr) {
    for (const uint32_t other : touched.others->accesses) keep(other);
  }
  touched.write = number;
  touched.others = std::move(kept);
}

void ConflictFinder::add(Others& others, uint32_t number) const {
  const Placed& added = accesses_[number];
  others.writes = others.writes || added.access.writes;
  auto at = std::lower_bound(
      others.accesses.begin(), others.accesses.end(), added.at.thread,
      [&](uint32_t one, uint32_t thread) { return accesses_[one].at.thread < thread; });
  for (; at != others.accesses.end() && accesses_[*at].at.thread == added.at.thread; ++at) {
    const Placed& known = accesses_[*at];
    if (known.access.writes != added.access.writes) continue;
    if (known.ended <= added.ended) *at = number;
    return;
  }
  others.accesses.insert(at, number);
}

void ConflictFinder::conflict(uint32_t first, uint32_t second, int64_t offset, int64_t end,
                              Conflicts& found) {
  const Placed &one = accesses_[first], &other = accesses_[second];
  if (one.access.process == other.access.process) return;
  const Separation apart = separation(one, other);
  // A write that is known to follow a read cannot change what was read.
  if (!one.access.writes && apart >= Separation::order) return;
  const auto index = static_cast<std::size_t>(apart);
  found.bytes[index] += static_cast<uint64_t>(end - offset);
  // The pair was counted for another stretch.
  if (std::exchange(met_[first], second) == second) return;
  const uint64_t before = found.counts[index]++;
  if (before < most_examples)
    found.examples.push_back({one.access, other.access, offset, end, apart});
}

bool ConflictFinder::precedes(const Placed& first, const Placed& second) {
  const bool same_thread =
      first.access.process == second.access.process && first.access.thread == second.access.thread;
  return same_thread ? first.ended <= second.access.moment
                     : Order::past(second.at.clock, first.at.thread, first.ended);
}

Separation ConflictFinder::separation(const Placed& first, const Placed& second) const {
  if (!precedes(first, second))
    return first.access.end_ns > second.access.start_ns ? Separation::none : Separation::chance;
  const Handle* const from = handle_of(first.access);
  const Handle* const to = handle_of(second.access);
  if (from == nullptr || to == nullptr) return Separation::order;
  if (handed_over(from->closes, to->opens, first, second)) return Separation::reopened;
  if (handed_over(from->closes_and_syncs, to->opens_and_syncs, first, second))
    return Separation::synced;
  return Separation::order;
}

const ConflictFinder::Handle* ConflictFinder::handle_of(const FileAccess& access) const {
  const auto found = handles_.find({access.process, access.thread, access.open});
  return found == handles_.end() ? nullptr : &found->second;
}

// Whether the first thread released the file after its access, and the second thread then acquired
// it before its own access. It suffices to compare the earliest such release with the latest such
// acquire.
bool ConflictFinder::handed_over(const std::vector<uint32_t>& releases,
                                 const std::vector<uint32_t>& acquires, const Placed& first,
                                 const Placed& second) const {
  const auto release = std::upper_bound(releases.begin(), releases.end(), first.ended);
  const auto after = std::upper_bound(acquires.begin(), acquires.end(), second.access.moment);
  if (release == releases.end() || after == acquires.begin()) return false;
  const FileAccess& to = second.access;
  const Order::Place acquire = order_->place(to.process, to.thread, *(after - 1), to.start_ns);
  return Order::past(acquire.clock, first.at.thread, *release);
}

}  // namespace forebay::trace
