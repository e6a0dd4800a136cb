// The name that somebody may have meant who wrote another one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace forebay {

// The candidate that takes the fewest changes of a letter (one replaced, left out or added, or two
// neighbours swapped; capitals count as small letters) to come to from `text`: the first of those.
// "" where all take more than one change for three letters.
std::string nearest_name(std::string_view text, std::span<const std::string> candidates);

}  // namespace forebay
