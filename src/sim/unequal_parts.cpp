#include "sim/unequal_parts.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

namespace forebay::sim {
namespace {

// The dense accesses, by place; larger ones before those that they hold.
std::vector<Part> parts_by_place(const AccessLog& log, std::span<const Member> members) {
  std::vector<Part> single;
  for (uint32_t m = 0; m < members.size(); ++m) {
    for (const uint32_t number : members[m].accesses) {
      const DataAccess& access = log.accesses()[number];
      if (access.bytes > 0 && access.end - access.offset == access.bytes)
        single.push_back({m, {access.offset, access.bytes}, {number}});
    }
  }
  const auto place = [](const Part& part) {
    return std::tuple(part.at.offset, -part.at.length, part.member);
  };
  std::stable_sort(single.begin(), single.end(),
                   [&](const Part& a, const Part& b) { return place(a) < place(b); });
  std::vector<Part> parts;
  for (Part& part : single) {
    if (!parts.empty() && place(parts.back()) == place(part))
      parts.back().accesses.push_back(part.accesses[0]);
    else
      parts.push_back(std::move(part));
  }
  return parts;
}

// Without the parts that hold a smaller one: accesses to more than a part.
std::vector<Part> without_holders(std::vector<Part> parts) {
  std::vector<bool> holds(parts.size());
  std::vector<std::size_t> around;  // the parts that the place is in, the smallest last
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Extent at = parts[i].at;
    while (!around.empty() && parts[around.back()].at.end() <= at.offset) around.pop_back();
    if (!around.empty()) {
      const Extent outer = parts[around.back()].at;
      if (at.end() <= outer.end() && at.length < outer.length) holds[around.back()] = true;
    }
    around.push_back(i);
  }
  std::vector<Part> left;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!holds[i]) left.push_back(std::move(parts[i]));
  }
  return left;
}

// How many parts the first member has in front of its own: those that it has more than the others,
// if these all have equally many.
std::size_t headers_of(const std::map<uint32_t, std::size_t>& counts) {
  const std::size_t first = counts.begin()->second, second = std::next(counts.begin())->second;
  const bool alike = std::all_of(std::next(counts.begin()), counts.end(),
                                 [second](const auto& count) { return count.second == second; });
  return alike && first > second ? first - second : 0;
}

// Adds the parts as a sequence, if they are one.
void add_sequence(std::vector<PartSequence>& sequences, std::vector<Part> parts,
                  std::size_t members) {
  std::map<uint32_t, std::size_t> counts;
  for (const Part& part : parts) ++counts[part.member];
  if (counts.size() < 2 || 2 * counts.size() < members) return;
  parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(headers_of(counts)));
  PartSequence sequence{std::move(parts), std::vector<int64_t>(members)};
  for (const Part& part : sequence.parts) sequence.member_bytes[part.member] += part.at.length;
  sequences.push_back(std::move(sequence));
}

double bytes_of(std::span<const Part> parts) {
  double bytes = 0;
  for (const Part& part : parts)
    bytes += static_cast<double>(part.at.length) * static_cast<double>(part.accesses.size());
  return bytes;
}

}  // namespace

PartSequences find_part_sequences(const AccessLog& log, std::span<const Member> members) {
  double all_bytes = 0;
  for (const Member& member : members) {
    for (const uint32_t number : member.accesses)
      all_bytes += static_cast<double>(log.accesses()[number].bytes);
  }
  std::vector<Part> parts = parts_by_place(log, members);
  const double with_holders = bytes_of(parts);
  parts = without_holders(std::move(parts));
  const double holders_bytes = with_holders - bytes_of(parts);
  PartSequences found;
  std::vector<Part> open;
  int64_t covered = 0;  // the end of all parts so far
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Extent at = parts[i].at;
    const bool alone =
        at.offset >= covered && (i + 1 == parts.size() || parts[i + 1].at.offset >= at.end());
    const bool continues = alone && !open.empty() && open.back().at.end() == at.offset &&
                           open.back().member <= parts[i].member;
    if (!continues) {
      add_sequence(found.all, std::move(open), members.size());
      open.clear();
    }
    covered = std::max(covered, at.end());
    if (alone) open.push_back(std::move(parts[i]));
  }
  add_sequence(found.all, std::move(open), members.size());
  for (const PartSequence& sequence : found.all) found.bytes += bytes_of(sequence.parts);
  found.others_bytes = all_bytes - holders_bytes - found.bytes;
  return found;
}

}  // namespace forebay::sim
