// forebay._core: what the runtime's caches count, from traces of it. A binding only; the meaning of
// everything here stands in the headers it includes.
#include "replay_binding.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "columns.h"
#include "options/options.h"
#include "runtime/trace_reader.h"
#include "sim/replay.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace forebay {

namespace {

using sim::Replayed;
using sim::ReplayedCache;
using sim::RuntimeSettings;

Options parse(const std::map<std::string, std::string>& texts) {
  std::vector<Given> given;
  for (const auto& [name, value] : texts) given.push_back({name, value});
  Options options;
  const auto refuse = [](const Mistake& mistake) {
    throw std::invalid_argument(mistake.what + "; " + mistake.right);
  };
  apply_options(options, given, Notation::plain, Settable::at_start, refuse);
  fit_sizes(options, Notation::plain, refuse);
  return options;
}

constexpr int64_t page_unit_bytes = 64;  // page/page_kind.h

RuntimeSettings settings_of(const Options& options) {
  RuntimeSettings settings;
  settings.page_size = options.page_size_bytes;
  settings.capacity_bytes = options.cache_size_bytes;
  settings.shards = options.shards;
  settings.page_kind = find_page_kind(options.page_kind);
  settings.policy = find_policy(options.policy);
  settings.predictor = find_predictor(options.predictor);
  settings.bypass_bytes = options.bypass_bytes;
  settings.read_ahead_bytes = options.read_ahead_bytes;
  settings.commit_size_bytes = options.commit_size_bytes;
  settings.dirty_bound = options.dirty_bound;
  settings.write_behind = options.write_behind;
  return settings;
}

// All accesses of a trace, read once, replayed with as many settings as are asked for.
class Replay {
 public:
  explicit Replay(std::shared_ptr<const runtime::TraceReader> reader) : reader_(std::move(reader)) {
    const nb::gil_scoped_release release;
    runtime::AccessStream stream(reader_);
    std::vector<runtime::BadBlock> bad;
    stream.next(0, table_, bad);
  }

  // Name and text of each that there still is, as the first process recorded them.
  std::map<std::string, std::string> options() const {
    std::map<std::string, std::string> named;
    if (reader_->job().processes().empty()) return named;
    std::istringstream lines(reader_->job().processes().front().options);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t equals = line.find('=');
      if (equals == std::string::npos) continue;
      const std::string name = line.substr(0, equals);
      const auto known = option_table();
      if (std::any_of(known.begin(), known.end(),
                      [&](const auto& spec) { return spec.name == name; }))
        named[name] = line.substr(equals + 1);
    }
    return named;
  }

  std::vector<ReplayedCache> run(const std::map<std::string, std::string>& changes) const {
    const Options options = parse(changes);
    expect(options.page_size_bytes > 0 && options.page_size_bytes % page_unit_bytes == 0,
           "pages are multiples of 64 bytes");
    const nb::gil_scoped_release release;
    Replayed replayed =
        sim::replay(reader_->job(), table_, settings_of(options),
                    options.scope == Scope::process ? sim::Sharing::process : sim::Sharing::node);
    if (!replayed.problem.empty()) throw std::invalid_argument(replayed.problem);
    return std::move(replayed.caches);
  }

 private:
  std::shared_ptr<const runtime::TraceReader> reader_;
  trace::Table table_;
};

}  // namespace

void bind_replay(nb::module_& module) {
  nb::class_<ReplayedCache>(module, "ReplayedCache", "What one cache counted.")
      .def_ro("name", &ReplayedCache::name)
      .def_ro("processes", &ReplayedCache::processes)
      .def_ro("steps", &ReplayedCache::steps)
      .def_prop_ro("hits", [](const ReplayedCache& c) { return c.counts.hits; })
      .def_prop_ro("misses", [](const ReplayedCache& c) { return c.counts.misses; })
      .def_prop_ro("evictions", [](const ReplayedCache& c) { return c.counts.evictions; })
      .def_prop_ro("committed_bytes",
                   [](const ReplayedCache& c) { return c.counts.committed_bytes; })
      .def_prop_ro("fetched_bytes", [](const ReplayedCache& c) { return c.counts.fetched_bytes; })
      .def_prop_ro("bypass_bytes", [](const ReplayedCache& c) { return c.counts.bypass_bytes; });
  nb::class_<Replay>(module, "Replay", "The accesses of a trace, to be done again.")
      .def(nb::init<std::shared_ptr<const runtime::TraceReader>>(), "reader"_a)
      .def("options", &Replay::options)
      .def("run", &Replay::run, "options"_a);
}

}  // namespace forebay
