#include "trace/sharing.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace forebay::trace {

namespace {

bool begins_first(const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; }

// Sorts the ranges and merges those that overlap or meet.
void put_in_order(std::vector<ByteRange>& ranges) {
  if (!std::is_sorted(ranges.begin(), ranges.end(), begins_first))
    std::sort(ranges.begin(), ranges.end(), begins_first);
  std::size_t kept = 0;
  for (const ByteRange& range : ranges) {
    if (kept > 0 && range.begin <= ranges[kept - 1].end)
      ranges[kept - 1].end = std::max(ranges[kept - 1].end, range.end);
    else
      ranges[kept++] = range;
  }
  ranges.resize(kept);
}

// A pseudorandom number for a process (splitmix64). The sum over a set of processes identifies the
// set.
uint64_t scattered(uint64_t number) {
  number += 0x9e3779b97f4a7c15;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

// Goes through the file by offset.
class Sweep {
 public:
  Sweep(const std::map<uint32_t, std::vector<ByteRange>>& touched, std::size_t most_sets)
      : most_sets_(most_sets) {
    for (const auto& [process, ranges] : touched) {
      if (!ranges.empty()) waiting_.push_back({ranges.front().begin, process, &ranges, 0});
    }
    std::make_heap(waiting_.begin(), waiting_.end(), later<Waiting>);
  }

  Sharing run() {
    int64_t at = 0;
    while (!waiting_.empty() || !active_.empty()) {
      const int64_t begin = waiting_.empty() ? never : waiting_.front().at;
      const int64_t end = active_.empty() ? never : active_.front().at;
      const int64_t next = std::min(begin, end);
      if (active_.size() > 1 && next > at) share(at, next);
      at = next;
      if (end <= begin)
        leave();
      else
        enter();
    }
    std::sort(sharing_.sets.begin(), sharing_.sets.end(), [](const auto& a, const auto& b) {
      return a.bytes != b.bytes ? a.bytes > b.bytes : a.within.begin < b.within.begin;
    });
    return std::move(sharing_);
  }

 private:
  static constexpr int64_t never = std::numeric_limits<int64_t>::max();

  struct Waiting {
    int64_t at;  // begin of the process's next range
    uint32_t process;
    const std::vector<ByteRange>* ranges;
    std::size_t next;
  };
  struct Active {
    int64_t at;  // end of the process's range
    uint32_t process;
  };
  template <typename Entry>
  static bool later(const Entry& a, const Entry& b) {
    return a.at > b.at;
  }

  void leave() {
    set_ -= scattered(active_.front().process);
    std::pop_heap(active_.begin(), active_.end(), later<Active>);
    active_.pop_back();
  }

  void enter() {
    std::pop_heap(waiting_.begin(), waiting_.end(), later<Waiting>);
    Waiting& one = waiting_.back();
    active_.push_back({(*one.ranges)[one.next].end, one.process});
    std::push_heap(active_.begin(), active_.end(), later<Active>);
    set_ += scattered(one.process);
    if (++one.next == one.ranges->size()) {
      waiting_.pop_back();
    } else {
      one.at = (*one.ranges)[one.next].begin;
      std::push_heap(waiting_.begin(), waiting_.end(), later<Waiting>);
    }
  }

  void share(int64_t begin, int64_t end) {
    const auto bytes = static_cast<uint64_t>(end - begin);
    sharing_.bytes += bytes;
    if (!sharing_.ranges.empty() && sharing_.ranges.back().end == begin)
      sharing_.ranges.back().end = end;
    else
      sharing_.ranges.push_back({begin, end});
    auto known = numbers_.find(set_);
    if (known == numbers_.end()) {
      if (sharing_.sets.size() == most_sets_) {
        sharing_.left_out += bytes;
        return;
      }
      known = numbers_.emplace(set_, sharing_.sets.size()).first;
      SharedBytes& added = sharing_.sets.emplace_back();
      for (const Active& one : active_) added.processes.push_back(one.process);
      std::sort(added.processes.begin(), added.processes.end());
      added.within = {begin, begin};
    }
    SharedBytes& set = sharing_.sets[known->second];
    set.bytes += bytes;
    if (set.within.end != begin || set.ranges == 0) ++set.ranges;
    set.within.end = end;
  }

  std::size_t most_sets_;
  std::vector<Waiting> waiting_;  // heap
  std::vector<Active> active_;    // heap
  uint64_t set_ = 0;              // sum of scattered() over the active processes
  std::unordered_map<uint64_t, std::size_t> numbers_;
  Sharing sharing_;
};

}  // namespace

Sharing sharing_of(std::map<uint32_t, std::vector<ByteRange>> touched, std::size_t most_sets) {
  for (auto& [process, ranges] : touched) put_in_order(ranges);
  std::vector<ByteRange> wholes;
  for (const auto& [process, ranges] : touched) {
    if (!ranges.empty()) wholes.push_back({ranges.front().begin, ranges.back().end});
  }
  std::sort(wholes.begin(), wholes.end(), begins_first);
  int64_t end = std::numeric_limits<int64_t>::min();
  for (const ByteRange& whole : wholes) {
    if (whole.begin < end) return Sweep(touched, most_sets).run();
    end = std::max(end, whole.end);
  }
  return {};
}

}  // namespace forebay::trace
