#include "trace/routine.h"

#include <array>
#include <string>

namespace forebay::trace {

namespace {

struct Named {
  std::string_view name;
  RoutineKind kind;
};

// Routines that move no data.
constexpr std::array others = {
    Named{"open", {Operation::open, true}},        Named{"close", {Operation::close, true}},
    Named{"delete", {Operation::other, false}},    Named{"seek", {Operation::seek, false}},
    Named{"seek_shared", {Operation::seek, true}}, Named{"set_view", {Operation::view, true}},
    Named{"sync", {Operation::sync, true}},        Named{"set_size", {Operation::size, true}},
    Named{"preallocate", {Operation::size, true}}, Named{"set_atomicity", {Operation::other, true}},
    Named{"set_info", {Operation::other, true}},
};

bool take_prefix(std::string& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.erase(0, prefix.size());
  return true;
}

}  // namespace

RoutineKind kind_of_routine(std::string_view name) {
  if (name.starts_with("forebay_cache_")) return {Operation::step};
#define FOREBAY_PART(part) \
  if (name == "forebay_" #part) return {Operation::part, true};
  FOREBAY_PARTS(FOREBAY_PART)
#undef FOREBAY_PART
  std::string rest;
  for (const char letter : name) {
    const bool capital = letter >= 'A' && letter <= 'Z';
    rest += static_cast<char>(capital ? letter - 'A' + 'a' : letter);
  }
  if (rest.starts_with("pmpi_")) rest.erase(0, 1);
  take_prefix(rest, "mpi_");
  take_prefix(rest, "file_");
  if (rest.ends_with("_c")) rest.resize(rest.size() - 2);
  for (const Named& other : others) {
    if (other.name == rest) return other.kind;
  }
  const bool nonblocking = take_prefix(rest, "i");
  const bool reads = take_prefix(rest, "read");
  if (!reads && !take_prefix(rest, "write")) return {};
  if (!rest.empty() && rest[0] != '_') return {};
  const bool collective =
      rest.find("_all") != std::string::npos || rest.find("_ordered") != std::string::npos;
  return {reads ? Operation::read : Operation::write, collective, nonblocking};
}

}  // namespace forebay::trace
