#include "agent/file_terms.h"

#include <algorithm>
#include <string_view>

#include "extent/text.h"

namespace forebay::agent {
namespace {

constexpr char end_of_text = '\0';

void add(std::vector<std::byte>& bytes, std::string_view text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  bytes.insert(bytes.end(), first, first + text.size());
  bytes.push_back(std::byte{end_of_text});
}

}  // namespace

// The number of bytes that tell the owners, and these; the mode, the path, and a name and a value
// for the inode and each option, each ended by a zero.
std::vector<std::byte> FileTerms::encoded() const {
  std::vector<std::byte> bytes;
  add(bytes, std::to_string(owners.size()));
  bytes.insert(bytes.end(), owners.begin(), owners.end());
  add(bytes, std::to_string(static_cast<int>(mode)));
  add(bytes, path);
  add(bytes, "inode");
  add(bytes, std::to_string(inode));
  for (const OptionSpec& spec : option_table()) {
    if (!spec.per_file()) continue;
    add(bytes, spec.name);
    add(bytes, option_text(options, spec));
  }
  return bytes;
}

std::optional<FileTerms> FileTerms::decoded(std::span<const std::byte> bytes) {
  const auto number_end = std::ranges::find(bytes, std::byte{end_of_text});
  const auto digits = static_cast<std::size_t>(number_end - bytes.begin());
  const auto owners_bytes =
      leading_number<std::size_t>({reinterpret_cast<const char*>(bytes.data()), digits});
  if (number_end == bytes.end() || !owners_bytes) return std::nullopt;
  bytes = bytes.subspan(digits + 1);
  if (*owners_bytes > bytes.size()) return std::nullopt;
  const std::span<const std::byte> owners = bytes.first(*owners_bytes);
  bytes = bytes.subspan(*owners_bytes);
  if (!Owners::decoded(owners)) return std::nullopt;
  if (bytes.empty() || bytes.back() != std::byte{end_of_text}) return std::nullopt;
  std::vector<std::string> texts;
  for (const char *at = reinterpret_cast<const char*>(bytes.data()), *const end = at + bytes.size();
       at < end; at += texts.back().size() + 1)
    texts.emplace_back(at);
  if (texts.size() % 2 != 0 || texts.size() < 4 || texts[2] != "inode") return std::nullopt;
  FileTerms terms;
  const auto inode = whole_number<decltype(terms.inode)>(texts[3]);
  if (!inode) return std::nullopt;
  terms.inode = *inode;
  terms.owners.assign(owners.begin(), owners.end());
  if (texts[0] != "0" && texts[0] != "1" && texts[0] != "2") return std::nullopt;
  terms.mode = static_cast<runtime::OpenMode>(texts[0][0] - '0');
  terms.path = texts[1];
  if (terms.path.empty() || terms.path.front() != '/') return std::nullopt;
  std::vector<Given> given;
  for (std::size_t t = 4; t < texts.size(); t += 2) given.push_back({texts[t], texts[t + 1]});
  bool understood = true;
  apply_options(terms.options, given, Notation::plain, Settable::at_start,
                [&](const Mistake&) { understood = false; });
  if (!understood) return std::nullopt;
  return terms;
}

}  // namespace forebay::agent
