#include "options/options.h"

#include <locale.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <variant>
#include <vector>

#include "domain/file_domains.h"
#include "extent/extent.h"
#include "extent/text.h"
#include "options/nearest.h"
#include "page/page_kind.h"
#include "policy/policy.h"
#include "predict/predictor.h"
#include "storage/storage.h"

extern char** environ;

namespace forebay {
namespace {

constexpr int64_t KiB = 1 << 10;
constexpr int64_t MiB = 1 << 20;
constexpr int64_t GiB = 1 << 30;
constexpr int64_t TiB = GiB << 10;

using Member = std::variant<bool Options::*, int64_t Options::*, double Options::*,
                            std::string Options::*, Scope Options::*, Consistency Options::*,
                            StepAside Options::*, Transport Options::*, CommitAtClose Options::*,
                            Keep Options::*, Awareness Options::*, trace::Times Options::*>;

// The declaration of one option. Its default is the member's initialiser in options.h. The choices
// of an enumeration are in the order of its values.
struct Declaration {
  const char* name;
  OptionType type;
  Member member;
  std::string choices;
  Settable settable;
  const char* meaning;
  int64_t minimum = 0;  // for bytes and counts
  int64_t maximum = std::numeric_limits<int64_t>::max();
  int64_t step = 1;
};

// Variables with the prefix FOREBAY_ that are no options; they are not reported as misspelt.
const std::vector<std::string>& other_variables() {
  static const auto& names = *new std::vector<std::string>{
      // `forebay run` and the preload.
      "FOREBAY_CONFIG", "FOREBAY_EVERY_RANK", "FOREBAY_MPI", "FOREBAY_RUN_DIR",
      // `forebay bench`.
      "FOREBAY_COUNT_DIR", "FOREBAY_COUNT_FILE",
      // The project's own tests.
      "FOREBAY_EMULATOR", "FOREBAY_FUZZ_EXAMPLES", "FOREBAY_LIB_DIR", "FOREBAY_MUTANT",
      "FOREBAY_SINGLE_STEP", "FOREBAY_TEST_LAYOUTS", "FOREBAY_TEST_SEED", "FOREBAY_TEST_TYPES",
      // Set by environment modules for the software that they load.
      "FOREBAY_BASE", "FOREBAY_DIR", "FOREBAY_HOME", "FOREBAY_PREFIX", "FOREBAY_ROOT",
      "FOREBAY_VERSION"};
  return names;
}

// The names of a table's entries, as "a|b|c".
template <typename Table, typename Name>
std::string names(const Table& table, Name name) {
  std::string joined;
  for (const auto& entry : table) {
    if (!joined.empty()) joined += '|';
    joined += name(entry);
  }
  return joined;
}

std::vector<Declaration> declare_options() {
  using enum OptionType;
  using enum Settable;
  const auto spec_name = [](const auto& spec) { return spec.name; };
  const auto kind_name = [](const PageKind* kind) { return kind->name(); };
  return {
      {"enable", boolean, &Options::enable, "", at_open,
       "Use the cache; false passes every call through to the MPI library."},
      {"scope", choice, &Options::scope, "process|node|job", at_open,
       "Which ranks share a cache. process: each process has its own cache; others see its writes "
       "after a sync or close. node: all ranks of a node share one; they see writes at once. job: "
       "as node, and every byte of a file that ranks of several nodes open has an owner node."},
      {"consistency", choice, &Options::consistency, "posix|mpi", at_open,
       "For files of several nodes. posix: their owners cache them (scope=job), or nobody. mpi: "
       "all nodes do, with the standard's visibility."},
      {"domain", choice, &Options::domain, names(assignments(), spec_name), at_open,
       "Owners (scope=job). region: equal parts of what is written first; dynamic: for each view. "
       "file: of the file. cyclic: chunks of domain_size. first-touch: the first writer's. stripe: "
       "the file system's."},
      {"domain_size", bytes, &Options::domain_size_bytes, "", at_open,
       "Size of a chunk of a file, with domain=cyclic or first-touch; rounded up to whole pages.",
       1, TiB},
      {"cb_nodes", count, &Options::cb_nodes, "", at_open,
       "Nodes that own bytes of a file, with scope=job; 0: all.", 0, 1 << 20},
      {"page_kind", choice, &Options::page_kind, names(page_kinds(), kind_name), at_open,
       "How a page records which of its bytes were written."},
      {"policy", choice, &Options::policy, names(policies(), spec_name), at_open,
       "Replacement policy: chooses the page to evict from a full cache."},
      {"awareness", choice, &Options::awareness, "original|aggregated", at_open,
       "Which accesses the policy sees in a collective call."},
      {"predictor", choice, &Options::predictor, names(predictors(), spec_name), any_time,
       "How read-ahead predicts the next reads."},
      {"predict_from", text, &Options::predict_from, "", at_start,
       "Folder of an earlier run's trace, whose reads read-ahead follows; empty: none."},
      {"storage", choice, &Options::storage, names(storages(), spec_name), at_open,
       "How Forebay writes committed bytes to the file."},
      {"page_size", bytes, &Options::page_size_bytes, "", at_open, "Size of a page.",
       smallest_page_size, largest_page_size, page_size_step},
      {"cache_size", bytes, &Options::cache_size_bytes, "", at_open,
       "Cache memory per process; a node's cache has this size times its ranks.", 4 * KiB, TiB},
      {"bypass", bytes, &Options::bypass_bytes, "", any_time,
       "Contiguous accesses of at least this size bypass the cache.", 1},
      {"local_bypass", bytes, &Options::local_bypass_bytes, "", any_time,
       "Like bypass, for a local file system while its calls are fast; with step_aside=auto.", 1},
      {"read_ahead", bytes, &Options::read_ahead_bytes, "", any_time,
       "How far to prefetch reads with a pattern; 0: not at all.", 0, 16 * GiB},
      {"commit_size", bytes, &Options::commit_size_bytes, "", any_time,
       "Size of the largest single request to storage.", 512, GiB},
      {"dirty_bound", fraction, &Options::dirty_bound, "", any_time,
       "Part of the cache that may hold uncommitted bytes; write-behind starts at half of it."},
      {"write_behind", boolean, &Options::write_behind, "", any_time,
       "Commit dirty pages in the background, before sync or close."},
      {"write_back_buffer", fraction, &Options::write_back_buffer, "", at_open,
       "Part of the cache, up to half, that holds evicted pages until they are committed in the "
       "background; an access then does not wait for them. Needs write_behind."},
      {"commit_at_close", choice, &Options::commit_at_close, "each|last", at_open,
       "Which close commits. each: every close commits the bytes written through its handle. last: "
       "for a file of one node, only the last close on the node commits, and reports failures."},
      {"keep", choice, &Options::keep, "never|job|stat", at_open,
       "Whether a closed file's pages serve its next open, if its times say that it is unchanged. "
       "job: on a network also only if the job knows of all opens."},
      {"step_aside", choice, &Options::step_aside, "auto|never|always", any_time,
       "When to pass calls through to the MPI library; auto: if it measures no gain."},
      {"shards", count, &Options::shards, "", at_open,
       "Parts of the cache with a lock of their own; 0 chooses by its capacity.", 0, 4096},
      {"deterministic", boolean, &Options::deterministic, "", at_open,
       "Make no decision depend on time, so that a run can be repeated exactly."},
      {"stats", boolean, &Options::stats, "", at_start,
       "Print a table of calls, hits, requests and times at the end."},
      {"stats_json", text, &Options::stats_json, "", at_start, "File for the statistics as JSON."},
      {"trace", text, &Options::trace, "", at_start,
       "Folder for a trace of each process's accesses; empty: no trace."},
      {"trace_times", choice, &Options::trace_times, "exact|histogram", at_start,
       "Times in a trace: exact times of every call, or only histograms."},
      {"trace_limit", bytes, &Options::trace_limit_bytes, "", at_start,
       "Trace size of a process above which it keeps only histograms of times.", 64 * KiB},
      {"arena_dir", text, &Options::arena_dir, "", at_start,
       "Directory for the caches in shared memory; empty: /dev/shm."},
      {"recoverable", boolean, &Options::recoverable, "", at_start,
       "Keep the data to commit the bytes of killed ranks; false: these bytes may be lost."},
      {"committer", boolean, &Options::committer, "", at_start,
       "Keep a process on each node that commits killed ranks' bytes and, with scope=job, serves "
       "other nodes."},
      {"transport", choice, &Options::transport, "tcp|libfabric", at_start,
       "How agents of nodes reach each other with scope=job: TCP, or what libfabric finds."},
      {"node", text, &Options::node, "", at_start,
       "Name of the node; processes with different names share no cache; empty: the real name."},
      {"job", text, &Options::job, "", at_start,
       "Secret name by which the processes of a job find each other; `forebay run` sets it."},
  };
}

std::string_view trim(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string lowered(text);
  for (char& c : lowered) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lowered;
}

// The locale of C: the program's may write numbers in another way. The C++ library's own functions
// for this bring tables of 100 KB.
locale_t locale_of_c() {
  static const locale_t made = newlocale(LC_ALL_MASK, "C", nullptr);
  return made;
}

// The whole of `text` as a decimal number; nothing: it is none.
std::optional<double> decimal_number(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789.eE-") != std::string_view::npos)
    return std::nullopt;
  const std::string digits(text);
  char* rest = nullptr;
  const double value = strtod_l(digits.c_str(), &rest, locale_of_c());
  return *rest == '\0' ? std::optional(value) : std::nullopt;
}

// In as few digits as tell it from other numbers.
std::string decimal_text(double value) {
  const locale_t before = uselocale(locale_of_c());
  std::array<char, 32> text{};
  for (int digits = 1; digits <= std::numeric_limits<double>::max_digits10; ++digits) {
    std::snprintf(text.data(), text.size(), "%.*g", digits, value);
    if (std::strtod(text.data(), nullptr) == value) break;
  }
  uselocale(before);
  return text.data();
}

// `value` in the largest unit that divides it: 65536 is "64KiB", 1000 is "1000".
std::string bytes_text(int64_t value) {
  constexpr struct {
    int64_t bytes;
    const char* name;
  } units[] = {{TiB, "TiB"}, {GiB, "GiB"}, {MiB, "MiB"}, {KiB, "KiB"}};
  for (const auto& unit : units) {
    if (value != 0 && value % unit.bytes == 0)
      return std::to_string(value / unit.bytes) + unit.name;
  }
  return std::to_string(value);
}

std::vector<std::string_view> split(std::string_view list, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = list.find(separator);
    parts.push_back(list.substr(0, end));
    if (end == std::string_view::npos) return parts;
    list.remove_prefix(end + 1);
  }
}

std::optional<std::size_t> choice_index(const Declaration& declaration, std::string_view text) {
  const auto choices = split(declaration.choices, '|');
  const auto found = std::find(choices.begin(), choices.end(), lower(text));
  if (found == choices.end()) return std::nullopt;
  return static_cast<std::size_t>(found - choices.begin());
}

// One overload per type of member. False: `text` is no value of the option.

bool parse(const Declaration&, std::string_view text, bool& value) {
  const std::string word = lower(text);
  const bool yes = word == "true" || word == "1" || word == "yes" || word == "on";
  const bool no = word == "false" || word == "0" || word == "no" || word == "off";
  if (yes || no) value = yes;
  return yes || no;
}

bool parse(const Declaration& declaration, std::string_view text, int64_t& value) {
  const auto number =
      declaration.type == OptionType::bytes ? parse_bytes(text) : whole_number<int64_t>(text);
  if (!number || *number < declaration.minimum || *number > declaration.maximum ||
      *number % declaration.step != 0)
    return false;
  value = *number;
  return true;
}

bool parse(const Declaration&, std::string_view text, double& value) {
  const auto number = decimal_number(text);
  if (!number || !(*number >= 0.0 && *number <= 1.0)) return false;
  value = *number;
  return true;
}

bool parse(const Declaration& declaration, std::string_view text, std::string& value) {
  if (declaration.type == OptionType::choice) {
    const auto index = choice_index(declaration, text);
    if (!index) return false;
    value = split(declaration.choices, '|')[*index];
  } else {
    value = text;
  }
  return true;
}

template <typename Enum>
requires std::is_enum_v<Enum>
bool parse(const Declaration& declaration, std::string_view text, Enum& value) {
  const auto index = choice_index(declaration, text);
  if (index) value = static_cast<Enum>(*index);
  return index.has_value();
}

// The inverse of parse.

std::string value_text(const Declaration&, bool value) { return value ? "true" : "false"; }
std::string value_text(const Declaration& declaration, int64_t value) {
  return declaration.type == OptionType::bytes ? bytes_text(value) : std::to_string(value);
}
std::string value_text(const Declaration&, double value) { return decimal_text(value); }
std::string value_text(const Declaration&, const std::string& value) { return value; }
template <typename Enum>
requires std::is_enum_v<Enum> std::string value_text(const Declaration& declaration, Enum value) {
  return std::string(split(declaration.choices, '|')[static_cast<std::size_t>(value)]);
}

std::string value_text(const Declaration& declaration, const Options& options) {
  return std::visit([&](auto member) { return value_text(declaration, options.*member); },
                    declaration.member);
}

std::string accepted(const Declaration& declaration) {
  const auto limits = [&](auto text) {
    std::string from = text(declaration.minimum);
    if (declaration.maximum == std::numeric_limits<int64_t>::max()) return "at least " + from;
    const std::string range = from + " to " + text(declaration.maximum);
    return declaration.step == 1 ? range : range + " in steps of " + text(declaration.step);
  };
  switch (declaration.type) {
    case OptionType::boolean:
      return "true or false";
    case OptionType::bytes:
      return limits(bytes_text) + ", for example 64KiB";
    case OptionType::count:
      return limits([](int64_t number) { return std::to_string(number); });
    case OptionType::fraction:
      return "0 to 1";
    case OptionType::choice: {
      std::string listed;
      for (const auto choice : split(declaration.choices, '|')) {
        listed.append(listed.empty() ? "" : ", ").append(choice);
      }
      return listed;
    }
    case OptionType::text:
      return "any text";
  }
  return "";
}

// The declarations, and the specifications made from them. The texts live as long as the process.
struct Table {
  std::vector<Declaration> declarations = declare_options();
  std::deque<std::string> defaults;
  std::vector<OptionSpec> specs;

  Table() {
    const Options standard;
    for (const Declaration& declaration : declarations) {
      const std::string& standard_text = defaults.emplace_back(value_text(declaration, standard));
      specs.push_back({declaration.name, declaration.type, standard_text.c_str(),
                       declaration.choices.c_str(), declaration.meaning, declaration.settable});
    }
  }

  const Declaration& declaration(const OptionSpec& spec) const {
    return *std::find_if(declarations.begin(), declarations.end(), [&](const Declaration& one) {
      return std::string_view(one.name) == spec.name;
    });
  }
};

// Never destroyed: MPI programs may close files while the process's exit handlers run.
const Table& table() {
  static const Table& the_table = *new Table;
  return the_table;
}

// Settings from "name=value" lines. A line without `=` has an empty value.
std::vector<Given> given_in_lines(std::string_view lines) {
  std::vector<Given> given;
  for (const std::string_view line : split(lines, '\n')) {
    if (trim(line).empty()) continue;
    const std::size_t equals = std::min(line.find('='), line.size());
    const std::string_view value = line.substr(std::min(equals + 1, line.size()));
    given.push_back({std::string(trim(line.substr(0, equals))), std::string(trim(value))});
  }
  return given;
}

std::vector<Given> given_in_environment() {
  std::vector<Given> given;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (!text.starts_with("FOREBAY_")) continue;
    Given one = given_in_lines(text.substr(0, text.find('='))).front();
    one.value = text.substr(std::min(text.find('=') + 1, text.size()));
    const auto& others = other_variables();
    if (std::find(others.begin(), others.end(), one.name) == others.end())
      given.push_back(std::move(one));
  }
  return given;
}

std::string did_you_mean(const std::string& name) { return "did you mean " + name + "?"; }

Mistake unknown(const Given& one, Notation notation) {
  const std::size_t prefix = notation == Notation::plain ? 0 : std::string_view("forebay_").size();
  std::vector<std::string> names, stems;
  for (const OptionSpec& spec : table().specs) names.push_back(written(spec, notation));
  if (notation == Notation::variable)
    names.insert(names.end(), other_variables().begin(), other_variables().end());
  for (const std::string& name : names) stems.push_back(name.substr(prefix));
  const std::string meant =
      nearest_name(std::string_view(one.name).substr(std::min(prefix, one.name.size())), stems);
  return {"there is no option '" + printable(one.name) + "'", "it is ignored",
          meant.empty() ? "see `forebay hints`" : did_you_mean(names[0].substr(0, prefix) + meant)};
}

std::string shown(const Given& one) { return one.name + "=" + printable(one.value); }

Mistake not_accepted(const Given& one, const Declaration& declaration, const Options& options) {
  std::string right = "give " + accepted(declaration);
  if (declaration.type == OptionType::choice) {
    std::vector<std::string> choices;
    for (const auto choice : split(declaration.choices, '|')) choices.emplace_back(choice);
    const std::string meant = nearest_name(one.value, choices);
    if (!meant.empty()) right = did_you_mean(meant) + " " + right;
  }
  return {shown(one) + " is not accepted", value_text(declaration, options) + " is used", right};
}

Mistake too_late(const Given& one, const OptionSpec& spec, const std::string& kept) {
  if (spec.settable == Settable::at_start)
    return {shown(one) + " holds for the whole process and is no hint", "it is ignored",
            "set " + written(spec, Notation::variable)};
  return {shown(one) + " cannot change on an open file", kept + " stays",
          "give it to MPI_File_open"};
}

void apply_one(Options& options, const Given& one, Notation notation, Settable when,
               const Complain& complain) {
  const auto spec =
      std::find_if(table().specs.begin(), table().specs.end(),
                   [&](const auto& known) { return written(known, notation) == one.name; });
  if (spec == table().specs.end()) return complain(unknown(one, notation));
  const Declaration& declaration = table().declaration(*spec);
  Options changed = options;
  const bool understood =
      std::visit([&](auto member) { return parse(declaration, trim(one.value), changed.*member); },
                 declaration.member);
  if (!understood) return complain(not_accepted(one, declaration, options));
  const std::string before = value_text(declaration, options);
  if (spec->settable >= when)
    options = std::move(changed);
  else if (value_text(declaration, changed) != before)
    complain(too_late(one, *spec, before));
}

}  // namespace

const char* const caches_apart_warning =
    "With scope=process, and with consistency=mpi on several nodes, other ranks see a rank's "
    "writes only after sync, barrier, sync, or close and open. HDF5 then needs "
    "HDF5_DO_MPI_FILE_SYNC=1, or scope=job and consistency=posix. Programs that rely on an order "
    "across collective calls, such as PnetCDF's examples fill_mode and column_wise, get wrong "
    "bytes, except with scope=job.";

std::span<const OptionSpec> option_table() { return table().specs; }

std::optional<int64_t> parse_bytes(std::string_view text) {
  text = trim(text);
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto number = decimal_number(text.substr(0, digits));
  if (!number) return std::nullopt;

  std::string unit = lower(trim(text.substr(digits)));
  for (const std::string_view ending : {"ib", "b"}) {
    if (!unit.ends_with(ending)) continue;
    unit.resize(unit.size() - ending.size());
    if (unit.empty() && ending == "ib") return std::nullopt;
    break;
  }
  if (unit.size() > 1) return std::nullopt;
  constexpr std::string_view units = "kmgt";
  const std::size_t power = unit.empty() ? 0 : units.find(unit[0]) + 1;
  if (!unit.empty() && power == 0) return std::nullopt;

  // Integers keep all their digits; a double would not.
  const int64_t factor = int64_t{1} << (10 * power);
  if (const auto whole = whole_number<int64_t>(text.substr(0, digits))) {
    if (*whole > std::numeric_limits<int64_t>::max() / factor) return std::nullopt;
    return *whole * factor;
  }
  const double value = *number * static_cast<double>(factor);
  if (value >= 0x1p63) return std::nullopt;
  return std::llround(value);
}

std::string_view name_of(OptionType type) {
  constexpr std::string_view names[] = {"boolean", "bytes", "count", "fraction", "choice", "text"};
  return names[static_cast<std::size_t>(type)];
}

std::vector<std::string_view> OptionSpec::choice_list() const {
  return *choices == '\0' ? std::vector<std::string_view>{} : split(choices, '|');
}

std::string written(const OptionSpec& spec, Notation notation) {
  if (notation == Notation::plain) return spec.name;
  std::string name = std::string("forebay_") + spec.name;
  if (notation == Notation::variable) {
    for (char& c : name) {
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    }
  }
  return name;
}

std::string printable(std::string_view text) {
  std::string shown(text);
  for (char& c : shown) {
    if (std::iscntrl(static_cast<unsigned char>(c))) c = '?';
  }
  return shown;
}

std::string Mistake::line() const { return what + "; " + instead + "; " + right; }
std::string Mistake::refusal() const { return what + "; " + right; }

void apply_options(Options& options, std::span<const Given> given, Notation notation, Settable when,
                   const Complain& complain) {
  for (const Given& one : given) apply_one(options, one, notation, when, complain);
}

void fit_sizes(Options& options, Notation notation, const Complain& complain) {
  if (options.page_size_bytes <= options.cache_size_bytes) return;
  const int64_t fits = round_down(options.cache_size_bytes, page_size_step);
  const auto& specs = table().specs;
  const auto named = [&](std::string_view name) -> const OptionSpec& {
    return *std::find_if(specs.begin(), specs.end(), [&](const auto& s) { return s.name == name; });
  };
  const auto size = [&](const OptionSpec& spec) {
    return written(spec, notation) + "=" + option_text(options, spec);
  };
  const OptionSpec &page = named("page_size"), &cache = named("cache_size");
  complain(
      {size(cache) + " holds no page of " + size(page),
       "pages of " + bytes_text(fits) + " are used",
       "give a larger " + written(cache, notation) + " or a smaller " + written(page, notation)});
  options.page_size_bytes = fits;
}

Options options_of(const std::map<std::string, std::string>& texts) {
  std::vector<Given> given;
  for (const auto& [name, value] : texts) given.push_back({name, value});
  Options options;
  const auto refuse = [](const Mistake& mistake) {
    throw std::invalid_argument(mistake.refusal());
  };
  apply_options(options, given, Notation::plain, Settable::at_start, refuse);
  fit_sizes(options, Notation::plain, refuse);
  return options;
}

void take_changeable(Options& options, const Options& changed) {
  for (const Declaration& declaration : table().declarations) {
    if (declaration.settable != Settable::any_time) continue;
    std::visit([&](auto member) { options.*member = changed.*member; }, declaration.member);
  }
}

std::string option_text(const Options& options, const OptionSpec& spec) {
  return value_text(table().declaration(spec), options);
}

Options options_from_environment(const Complain& complain) {
  Options options;
  if (const char* lines = std::getenv("FOREBAY_CONFIG")) {
    const auto in_configuration = [&](Mistake mistake) {
      mistake.what.insert(0, "FOREBAY_CONFIG: ");
      complain(mistake);
    };
    apply_options(options, given_in_lines(lines), Notation::plain, Settable::at_start,
                  in_configuration);
  }
  apply_options(options, given_in_environment(), Notation::variable, Settable::at_start, complain);
  fit_sizes(options, Notation::variable, complain);
  return options;
}

}  // namespace forebay
