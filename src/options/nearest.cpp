#include "options/nearest.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <vector>

namespace forebay {
namespace {

std::string lowered(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// The optimal string alignment distance, computed row by row.
std::size_t changes_between(std::string_view from, std::string_view to) {
  std::vector<std::size_t> before, last(to.size() + 1), row(to.size() + 1);
  for (std::size_t j = 0; j <= to.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const bool same = from[i - 1] == to[j - 1];
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = last;
    last = row;
  }
  return last.back();
}

}  // namespace

std::string nearest_name(std::string_view text, std::span<const std::string> candidates) {
  const std::string wanted = lowered(text);
  std::string nearest;
  std::size_t fewest = std::max<std::size_t>(wanted.size() / 3, 1) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t changes = changes_between(wanted, lowered(candidate));
    if (changes >= fewest) continue;
    fewest = changes;
    nearest = candidate;
  }
  return nearest;
}

}  // namespace forebay
