// Texts cut into parts, and numbers read from them, without streams: an interposer that linked the
// C++ library's streams and locales would be a third larger.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>
#include <system_error>

namespace forebay {

// Removes the text up to the next `separator`, or all of it, from the front of `text`, together
// with the separator. Returns it without the separator.
inline std::string_view cut(std::string_view& text, char separator) {
  const std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(part.size() < text.size() ? part.size() + 1 : part.size());
  return part;
}

// The number that the text begins with; nothing: it begins with none, or with too large a one.
template <std::integral Number>
std::optional<Number> leading_number(std::string_view text) {
  Number number{};
  const std::errc error = std::from_chars(text.data(), text.data() + text.size(), number).ec;
  return error == std::errc{} ? std::optional(number) : std::nullopt;
}

// The number that the whole text is; nothing: it is none, or too large a one.
template <std::integral Number>
std::optional<Number> whole_number(std::string_view text) {
  Number number{};
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && rest == text.data() + text.size() ? std::optional(number)
                                                                   : std::nullopt;
}

}  // namespace forebay
