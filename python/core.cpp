// forebay._core: the tables of the runtime (traces: trace_binding.cpp). Only a binding; the headers
// that it includes say what everything means.
#include <nanobind/nanobind.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "activity_binding.h"
#include "bytes.h"
#include "cluster_binding.h"
#include "conflict_binding.h"
#include "options/nearest.h"
#include "options/options.h"
#include "page/page_kind.h"
#include "pattern_binding.h"
#include "policy/policy.h"
#include "predict/predictor.h"
#include "replay_binding.h"
#include "runtime/node/memory_groups.h"
#include "runtime/node/recover.h"
#include "sim_binding.h"
#include "storage/storage.h"
#include "storage/system_calls.h"
#include "sums_binding.h"
#include "touch_binding.h"
#include "trace_binding.h"
#include "trace_writing_binding.h"

namespace nb = nanobind;

namespace {

// An entry of a table of variants.
struct Variant {
  std::string name, meaning;
};

std::vector<forebay::OptionSpec> options() {
  const auto table = forebay::option_table();
  return {table.begin(), table.end()};
}

template <typename Table>
std::vector<Variant> variants(const Table& table) {
  std::vector<Variant> named;
  for (const auto& entry : table) named.push_back({entry.name, entry.meaning});
  return named;
}

std::vector<Variant> page_kinds() {
  std::vector<Variant> named;
  for (const forebay::PageKind* kind : forebay::page_kinds())
    named.push_back({std::string(kind->name()), std::string(kind->meaning())});
  return named;
}

using Given = std::map<std::string, std::string>;

forebay::Options options_of(const Given& texts, const forebay::Complain& complain) {
  std::vector<forebay::Given> given;
  for (const auto& [name, value] : texts) given.push_back({name, value});
  forebay::Options options;
  forebay::apply_options(options, given, forebay::Notation::plain, forebay::Settable::at_start,
                         complain);
  return options;
}

std::vector<std::string> mistakes(const Given& texts) {
  std::vector<std::string> found;
  options_of(texts, [&](const forebay::Mistake& mistake) { found.push_back(mistake.refusal()); });
  return found;
}

std::optional<std::string> misfit(const Given& texts) {
  std::optional<std::string> found;
  forebay::Options options = options_of(texts, [](const forebay::Mistake&) {});
  forebay::fit_sizes(options, forebay::Notation::plain,
                     [&](const forebay::Mistake& mistake) { found = mistake.refusal(); });
  return found;
}

std::vector<std::string> environment_mistakes() {
  std::vector<std::string> lines;
  forebay::options_from_environment(
      [&](const forebay::Mistake& mistake) { lines.push_back(mistake.line()); });
  return lines;
}

std::optional<int64_t> memory_limit() {
  using forebay::runtime::MemoryGroups;
  const int64_t bytes = MemoryGroups::mine().limit_bytes();
  return bytes == MemoryGroups::unlimited ? std::nullopt : std::optional(bytes);
}

std::string nearest(const std::string& text, const std::vector<std::string>& candidates) {
  return forebay::nearest_name(text, candidates);
}

// A note of a job's own change (forebay::runtime::OwnChange), in the order of its members.
using NoteTuple = std::tuple<nb::bytes, nb::bytes, uint64_t, int64_t, int64_t, int64_t, bool>;
using ExchangeTuples = std::function<std::vector<NoteTuple>(const std::vector<NoteTuple>&)>;

forebay::runtime::Exchange exchange_by(const ExchangeTuples& exchange) {
  using forebay::runtime::OwnChange;
  return [exchange](const std::vector<OwnChange>& mine) {
    const nb::gil_scoped_acquire acquire;
    std::vector<NoteTuple> given;
    for (const OwnChange& n : mine)
      given.emplace_back(forebay::bytes_of(n.job), forebay::bytes_of(n.path), n.inode, n.birth_ns,
                         n.modified_ns, n.written_ns, n.being_written);
    std::vector<OwnChange> all;
    for (const auto& [job, path, inode, birth, modified, written, being_written] : exchange(given))
      all.push_back({forebay::text_of(job), forebay::text_of(path), inode, birth, modified, written,
                     being_written});
    return all;
  };
}

}  // namespace

NB_MODULE(_core, module) {
  module.doc() = "Tables of the Forebay runtime, and the reading of traces.";
  module.attr("version") = FOREBAY_VERSION;
  module.attr("caches_apart_warning") = forebay::caches_apart_warning;

  using forebay::OptionSpec;
  nb::class_<OptionSpec>(module, "Option", "The declaration of an option (src/options/options.h).")
      .def_prop_ro("name", [](const OptionSpec& o) { return o.name; })
      .def_prop_ro("type", [](const OptionSpec& o) { return name_of(o.type); })
      .def_prop_ro(
          "fallback", [](const OptionSpec& o) { return o.fallback; },
          "The default, as a user would write it.")
      .def_prop_ro("choices", &OptionSpec::choice_list,
                   "The accepted values; empty if the option is not a choice.")
      .def_prop_ro("meaning", [](const OptionSpec& o) { return o.meaning; })
      .def_prop_ro("per_file", &OptionSpec::per_file, "Whether MPI_Info may give it for one file.")
      .def_prop_ro("changeable", &OptionSpec::changeable, "Whether it may change on an open file.");
  nb::class_<Variant>(module, "Variant", "An entry of a table of variants.")
      .def_ro("name", &Variant::name)
      .def_ro("meaning", &Variant::meaning);

  module.def("options", options, "Every option, in the order of declaration.");
  module.def("page_kinds", page_kinds, "Every page kind.");
  module.def(
      "policies", [] { return variants(forebay::policies()); }, "Every replacement policy.");
  module.def(
      "predictors", [] { return variants(forebay::predictors()); }, "Every predictor.");
  module.def(
      "storages", [] { return variants(forebay::storages()); }, "Every storage.");
  using forebay::bytes_of;
  using forebay::text_of;
  using forebay::runtime::LeftCache;
  using forebay::runtime::LeftFile;
  nb::class_<LeftFile>(module, "LeftFile", "A file that lacked bytes of a killed job.")
      .def_prop_ro("path", [](const LeftFile& f) { return bytes_of(f.path); })
      .def_ro("bytes", &LeftFile::bytes, "The number of bytes it lacked.")
      .def_ro("problem", &LeftFile::problem, "Why it still lacks them, or empty.");
  nb::class_<LeftCache>(module, "LeftCache", "A cache that processes left on this node.")
      .def_prop_ro("registry", [](const LeftCache& c) { return bytes_of(c.registry); })
      .def_prop_ro(
          "job", [](const LeftCache& c) { return bytes_of(c.job); }, "The name of the job.")
      .def_ro("in_use", &LeftCache::in_use, "Processes of the job live, so nothing was done.")
      .def_ro("cared_for", &LeftCache::cared_for, "A committer or a recovery is working on it.")
      .def_ro("problem", &LeftCache::problem, "Why it could not be examined, or empty.")
      .def_ro("files", &LeftCache::files);
  module.def(
      "recover",
      [](const nb::bytes& arena_dir, const nb::bytes& job, bool commit, bool force,
         const std::optional<ExchangeTuples>& exchange) {
        forebay::runtime::RecoverSettings settings{
            text_of(arena_dir), text_of(job), "", commit, force, {}};
        if (exchange) settings.exchange = exchange_by(*exchange);
        const nb::gil_scoped_release release;
        return forebay::runtime::recover(settings);
      },
      nb::arg("arena_dir"), nb::arg("job"), nb::arg("commit"), nb::arg("force"),
      nb::arg("exchange") = nb::none(),
      "Commits (or only lists) the bytes that killed processes of this user left on this node.\n\n"
      "`exchange` joins recoveries of several nodes: it gives its notes to all, and returns the\n"
      "notes of all, when each node has called it.");
  module.def(
      "discard",
      [](const nb::bytes& arena_dir, const std::vector<std::pair<nb::bytes, nb::bytes>>& chosen) {
        forebay::runtime::Chosen pairs;
        for (const auto& [registry, path] : chosen)
          pairs.emplace_back(text_of(registry), text_of(path));
        const std::string folder = text_of(arena_dir);
        const nb::gil_scoped_release release;
        return forebay::runtime::discard(folder, pairs);
      },
      nb::arg("arena_dir"), nb::arg("chosen"),
      "Drops bytes of files, given by registry and path. An empty path stands for a whole cache.");
  module.def("mistakes", mistakes, nb::arg("options"),
             "What is wrong with the names and values of these options, one line each.");
  module.def("misfit", misfit, nb::arg("options"),
             "The sizes, given or default, that contradict each other, as a sentence; or None.");
  module.def(
      "environment_mistakes", environment_mistakes,
      "What is wrong with the options in the environment, one line each, as a job reports it.");
  module.def("memory_limit", memory_limit,
             "Bytes that the control groups of this process allow; None: no limit.");
  module.def(
      "is_local", [](int descriptor) { return forebay::SystemCalls::real().local(descriptor); },
      nb::arg("descriptor"), "Whether the open file is on a file system of this machine alone.");
  module.def("nearest", nearest, nb::arg("text"), nb::arg("candidates"),
             "The candidate that was probably meant, or an empty string.");
  module.def("parse_bytes", forebay::parse_bytes, nb::arg("text"),
             "The bytes of a text such as 16MiB; None: it is no number of bytes.");
  forebay::bind_trace(module);
  forebay::bind_pattern(module);
  forebay::bind_conflicts(module);
  forebay::bind_sim(module);
  forebay::bind_replay(module);
  forebay::bind_cluster(module);
  forebay::bind_touches(module);
  forebay::bind_trace_writing(module);
  forebay::bind_sums(module);
  forebay::bind_activity(module);
}
