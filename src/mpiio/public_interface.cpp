// The functions of include/forebay/forebay.h.
#include <forebay/forebay.h>

#include <deque>
#include <string>

#include "mpiio/file/file_statistics.h"
#include "options/options.h"

#define FOREBAY_PUBLIC extern "C" [[gnu::visibility("default")]]

using namespace forebay;

namespace {

// The per-file options with their names as hints. Made once and never destroyed, since callers keep
// pointers to the names.
const std::deque<std::pair<std::string, const OptionSpec*>>& hints() {
  static const auto& all = *[] {
    auto* named = new std::deque<std::pair<std::string, const OptionSpec*>>;
    for (const OptionSpec& option : option_table())
      if (option.per_file()) named->emplace_back(written(option, Notation::hint), &option);
    return named;
  }();
  return all;
}

}  // namespace

FOREBAY_PUBLIC void forebay_get_statistics(forebay_statistics* statistics) {
  Statistics total;
  for (const mpiio::FileStatistics& file : mpiio::statistics_by_file()) total.add(file.cached);
  *statistics = {total.write_calls,     total.read_calls,     total.write_bytes,
                 total.read_bytes,      total.hits,           total.misses,
                 total.evictions,       total.write_requests, total.read_requests,
                 total.committed_bytes, total.io_ns};
}

FOREBAY_PUBLIC int forebay_describe_hint(size_t index, forebay_hint* hint) {
  if (index >= hints().size()) return -1;
  const auto& [name, option] = hints()[index];
  *hint = {name.c_str(), option->fallback, option->choices, option->meaning};
  return 0;
}

FOREBAY_PUBLIC const char* forebay_abi() { return mpiio::abi_name(); }
