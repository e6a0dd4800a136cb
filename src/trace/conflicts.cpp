#include "trace/conflicts.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace forebay::trace {

namespace {

constexpr uint32_t no_access = std::numeric_limits<uint32_t>::max();
constexpr std::size_t piece = 1 << 14;
constexpr std::size_t most_examples = 8;  // of each separation
constexpr std::size_t most_sets = 1024;   // of processes that share bytes

// Times of damaged files may be anything.
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
  // What was cut is counted there, too.
  if (other.cut_ && !kept) --left_out_;
  if (kept) cut_ = other.cut_;
  left_out_ += other.left_out_;
  for (auto& [number, process] : other.processes_) {
    Process& of = processes_[number];
    const auto append = [](std::vector<Event>& events, const std::vector<Event>& more) {
      events.insert(events.end(), more.begin(), more.end());
    };
    append(of.closes, process.closes);
    append(of.closes_and_syncs, process.closes_and_syncs);
    append(of.opens, process.opens);
    append(of.opens_and_syncs, process.opens_and_syncs);
  }
  other = ConflictFinder(most_accesses_);
}

void ConflictFinder::sync(uint32_t process, int64_t start_ns, int64_t end_ns) {
  Process& of = processes_[process];
  of.closes_and_syncs.push_back({start_ns, end_ns});
  of.opens_and_syncs.push_back({start_ns, end_ns});
}

void ConflictFinder::open(uint32_t process, int64_t start_ns, int64_t end_ns) {
  Process& of = processes_[process];
  of.opens.push_back({start_ns, end_ns});
  of.opens_and_syncs.push_back({start_ns, end_ns});
}

void ConflictFinder::close(uint32_t process, int64_t start_ns, int64_t end_ns) {
  Process& of = processes_[process];
  of.closes.push_back({start_ns, end_ns});
  of.closes_and_syncs.push_back({start_ns, end_ns});
}

void ConflictFinder::write(ByteWriter& writer) const {
  writer.varint(told_count_);
  FileAccess before;
  for (const std::vector<FileAccess>& part : told_) {
    for (const FileAccess& one : part) {
      writer.u8(static_cast<uint8_t>((one.writes ? 1 : 0) | (one.continued ? 2 : 0)));
      writer.varint(one.process);
      writer.signed_varint(minus(one.offset, before.end));
      writer.signed_varint(minus(one.end, one.offset));
      writer.signed_varint(minus(one.start_ns, before.start_ns));
      writer.signed_varint(minus(one.end_ns, one.start_ns));
      before = one;
    }
  }
  writer.u8(cut_ ? 1 : 0);
  writer.varint(left_out_);
  writer.varint(processes_.size());
  for (const auto& [number, process] : processes_) {
    writer.varint(number);
    for (const auto* events :
         {&process.closes, &process.closes_and_syncs, &process.opens, &process.opens_and_syncs}) {
      writer.varint(events->size());
      for (const Event& event : *events) {
        writer.signed_varint(event.start_ns);
        writer.signed_varint(event.end_ns);
      }
    }
  }
}

bool ConflictFinder::read(ByteReader& reader) {
  FileAccess before;
  for (uint64_t count = reader.varint(); count > 0 && reader.ok(); --count) {
    const uint8_t flags = reader.u8();
    FileAccess one{.writes = (flags & 1) != 0, .continued = (flags & 2) != 0};
    one.process = static_cast<uint32_t>(reader.varint());
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
    Process& process = processes_[static_cast<uint32_t>(reader.varint())];
    for (auto* events :
         {&process.closes, &process.closes_and_syncs, &process.opens, &process.opens_and_syncs}) {
      for (uint64_t left = reader.varint(); left > 0 && reader.ok(); --left) {
        const int64_t start = reader.signed_varint();
        events->push_back({start, reader.signed_varint()});
      }
    }
  }
  return reader.ok() && reader.at_end();
}

Conflicts ConflictFinder::finish() {
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
  found.sharing = sharing_of(std::move(touched), most_sets);
  if (writes_ && found.sharing.bytes > 0) {
    keep_shared(found.sharing.ranges);
    sweep(found);
  }
  *this = ConflictFinder(most_accesses_);
  return found;
}

// Accesses to bytes that no other process touches conflict with none.
void ConflictFinder::keep_shared(const std::vector<ByteRange>& ranges) {
  const auto shared = [&](const FileAccess& access) {
    const auto after =
        std::upper_bound(ranges.begin(), ranges.end(), access.offset,
                         [](int64_t offset, const ByteRange& range) { return offset < range.end; });
    return after != ranges.end() && after->begin < access.end;
  };
  for (std::vector<FileAccess>& part : told_) {
    std::copy_if(part.begin(), part.end(), std::back_inserter(accesses_), shared);
    part = {};
  }
}

void ConflictFinder::sweep(Conflicts& found) {
  const auto by_start = [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; };
  std::stable_sort(accesses_.begin(), accesses_.end(), by_start);
  for (auto& [number, process] : processes_) {
    for (auto* events :
         {&process.closes, &process.closes_and_syncs, &process.opens, &process.opens_and_syncs})
      std::stable_sort(events->begin(), events->end(), by_start);
  }
  latest_ = {no_access, no_access};
  latest_second_ = no_access;
  for (uint32_t i = 0; i < accesses_.size(); ++i) look(i, found);
  touched_.clear();
}

// Where the stretch that begins at `at`, or after it, is; one that reaches over it is cut in two.
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
  const FileAccess& access = accesses_[number];
  auto stretch = cut(access.offset);
  const auto last = cut(access.end);
  int64_t at = access.offset;
  const auto fill_hole = [&](int64_t end) {
    if (at < end)
      touched_.emplace(
          at, Touched{end, access.writes ? number : no_access, access.writes ? no_access : number});
  };
  for (; stretch != last; ++stretch) {
    fill_hole(stretch->first);
    Touched& touched = stretch->second;
    at = touched.end;
    if (touched.write != no_access) conflict(touched.write, number, stretch->first, at, found);
    if (access.writes) {
      if (touched.read != no_access) conflict(touched.read, number, stretch->first, at, found);
      touched.write = number;
      touched.read = no_access;
    } else if (touched.read == no_access || accesses_[touched.read].end_ns < access.end_ns) {
      touched.read = number;
    }
  }
  fill_hole(access.end);
}

void ConflictFinder::conflict(uint32_t first, uint32_t second, int64_t offset, int64_t end,
                              Conflicts& found) {
  const FileAccess& one = accesses_[first];
  const FileAccess& other = accesses_[second];
  if (one.process == other.process) return;
  const Separation apart = separation(one, other);
  // What was read before cannot change any more.
  if (!one.writes && apart != Separation::none) return;
  const auto index = static_cast<std::size_t>(apart);
  found.bytes[index] += static_cast<uint64_t>(end - offset);
  if (second != latest_second_) latest_ = {no_access, no_access};
  latest_second_ = second;
  if (latest_[one.writes] == first) return;  // another stretch of theirs
  latest_[one.writes] = first;
  const uint64_t before = found.counts[index]++;
  if (before < most_examples) found.examples.push_back({one, other, offset, end, apart});
}

Separation ConflictFinder::separation(const FileAccess& first, const FileAccess& second) const {
  if (first.end_ns > second.start_ns) return Separation::none;
  const auto releaser = processes_.find(first.process);
  const auto acquirer = processes_.find(second.process);
  if (releaser == processes_.end() || acquirer == processes_.end()) return Separation::order;
  const Process& from = releaser->second;
  const Process& to = acquirer->second;
  if (handed_over(from.closes, to.opens, first, second)) return Separation::reopened;
  if (handed_over(from.closes_and_syncs, to.opens_and_syncs, first, second))
    return Separation::synced;
  return Separation::order;
}

// Whether the first's process released the file after its access, and the second's acquired it
// after that and before its own.
bool ConflictFinder::handed_over(const std::vector<Event>& releases,
                                 const std::vector<Event>& acquires, const FileAccess& first,
                                 const FileAccess& second) {
  const auto from = [](const std::vector<Event>& events, int64_t ns) {
    return std::lower_bound(events.begin(), events.end(), ns,
                            [](const Event& event, int64_t at) { return event.start_ns < at; });
  };
  const auto release = from(releases, first.end_ns);
  if (release == releases.end()) return false;
  const auto acquire = from(acquires, release->end_ns);
  return acquire != acquires.end() && acquire->end_ns <= second.start_ns;
}

}  // namespace forebay::trace
