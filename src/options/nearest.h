// Finds the name that the user of a misspelt name may have meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace forebay {

// The first of the candidates nearest to `text`, by the number of changed letters (one replaced,
// left out or added, or two neighbours swapped; upper and lower case count as equal). "" if all
// candidates need more than one change per three letters.
std::string nearest_name(std::string_view text, std::span<const std::string> candidates);

}  // namespace forebay
