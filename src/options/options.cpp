#include "options/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <limits>
#include <type_traits>
#include <variant>
#include <vector>

#include "page/page_kind.h"
#include "policy/policy.h"
#include "predict/predictor.h"
#include "storage/storage.h"

namespace forebay {
namespace {

constexpr int64_t KiB = 1 << 10;
constexpr int64_t MiB = 1 << 20;
constexpr int64_t GiB = 1 << 30;
constexpr int64_t TiB = GiB << 10;

using Member = std::variant<bool Options::*, int64_t Options::*, double Options::*,
                            std::string Options::*, Scope Options::*, Consistency Options::*,
                            StepAside Options::*, trace::Times Options::*>;

// What is written down for an option. Its default is the member's initialiser in options.h; the
// choices of an enumeration stand in the order of its values.
struct Declaration {
  const char* name;
  OptionType type;
  Member member;
  std::string choices;
  bool per_file;
  const char* meaning;
  int64_t minimum = 0;  // of bytes and counts
  int64_t maximum = std::numeric_limits<int64_t>::max();
};

// "a|b|c" of a table whose entries have a name.
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
  const auto spec_name = [](const auto& spec) { return spec.name; };
  const auto kind_name = [](const PageKind* kind) { return kind->name(); };
  return {
      {"enable", boolean, &Options::enable, "", true,
       "Use the cache; false passes every call through to the MPI library."},
      {"scope", choice, &Options::scope, "process|node", true,
       "Who shares a cache: each process has its own, or all ranks of a node have one."},
      {"consistency", choice, &Options::consistency, "posix|mpi", true,
       "posix: what a rank wrote is visible to the other ranks of its node when the write returns; "
       "mpi: only what the MPI standard promises in nonatomic mode (sync, barrier, sync)."},
      {"page_kind", choice, &Options::page_kind, names(page_kinds(), kind_name), true,
       "What a page remembers of the bytes written to it."},
      {"policy", choice, &Options::policy, names(policies(), spec_name), true,
       "Replacement policy: which page leaves a full cache."},
      {"predictor", choice, &Options::predictor, names(predictors(), spec_name), true,
       "How read-ahead says what is read next."},
      {"storage", choice, &Options::storage, names(storages(), spec_name), true,
       "How committed bytes reach the file."},
      {"page_size", bytes, &Options::page_size_bytes, "", true, "Size of a page.", 512, 16 * MiB},
      {"cache_size", bytes, &Options::cache_size_bytes, "", true,
       "Memory of the cache for each process; a node's cache is this times its ranks.", 4 * KiB,
       TiB},
      {"bypass", bytes, &Options::bypass_bytes, "", true,
       "Contiguous accesses at least this long go to storage past the cache.", 1},
      {"local_bypass", bytes, &Options::local_bypass_bytes, "", true,
       "The same on a local file system, which the kernel caches, as long as its calls are quick; "
       "only with step_aside=auto.",
       1},
      {"read_ahead", bytes, &Options::read_ahead_bytes, "", true,
       "How far reads that follow a pattern are fetched ahead; 0 switches it off.", 0, 16 * GiB},
      {"commit_size", bytes, &Options::commit_size_bytes, "", true,
       "Largest single request handed to storage.", 512, GiB},
      {"dirty_bound", fraction, &Options::dirty_bound, "", true,
       "Part of the cache that may hold uncommitted bytes; write-behind begins at half of it."},
      {"write_behind", boolean, &Options::write_behind, "", true,
       "Commit dirty pages in the background, before sync or close."},
      {"step_aside", choice, &Options::step_aside, "auto|never|always", true,
       "Pass calls through where the cache does not pay: auto measures whether it does."},
      {"shards", count, &Options::shards, "", true,
       "Parts of the cache that are locked apart; 0 chooses from its capacity.", 0, 4096},
      {"deterministic", boolean, &Options::deterministic, "", true,
       "Let no decision depend on time, so that a run can be repeated exactly."},
      {"stats", boolean, &Options::stats, "", false,
       "Print a table of calls, hits, requests and times at the end."},
      {"stats_json", text, &Options::stats_json, "", false,
       "File to which the statistics are written as JSON."},
      {"trace", text, &Options::trace, "", false,
       "Folder that gets a trace of each process's accesses; empty for none."},
      {"trace_times", choice, &Options::trace_times, "exact|histogram", false,
       "What a trace keeps of times: those of every call, or how many calls took how long."},
      {"trace_limit", bytes, &Options::trace_limit_bytes, "", false,
       "Size of a process's trace beyond which times go into histograms.", 64 * KiB},
      {"arena_dir", text, &Options::arena_dir, "", false,
       "Directory for shared arenas; empty for /dev/shm."},
      {"recoverable", boolean, &Options::recoverable, "", false,
       "Hold what is needed to commit what killed ranks leave; false: their bytes may be lost."},
      {"committer", boolean, &Options::committer, "", false,
       "Keep a process on each node that commits what killed ranks leave."},
      {"node", text, &Options::node, "", false,
       "Name of the node: processes with different names share no cache; empty for the real one."},
      {"job", text, &Options::job, "", false,
       "Secret by which the processes of a job find each other; set by `forebay run`."},
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

// The whole of `text` as a number, or nothing. Independent of the program's locale.
template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || rest != text.data() + text.size()) return std::nullopt;
  return value;
}

template <typename Number>
std::string number_text(Number value) {
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}

// The longest unit that divides `value`: 65536 is "64KiB", 1000 is "1000".
std::string bytes_text(int64_t value) {
  constexpr struct {
    int64_t bytes;
    const char* name;
  } units[] = {{TiB, "TiB"}, {GiB, "GiB"}, {MiB, "MiB"}, {KiB, "KiB"}};
  for (const auto& unit : units) {
    if (value != 0 && value % unit.bytes == 0) return number_text(value / unit.bytes) + unit.name;
  }
  return number_text(value);
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

// parse: one overload for each type of member; false when `text` is no value of the option.

bool parse(const Declaration&, std::string_view text, bool& value) {
  const std::string word = lower(text);
  const bool yes = word == "true" || word == "1" || word == "yes" || word == "on";
  const bool no = word == "false" || word == "0" || word == "no" || word == "off";
  if (yes || no) value = yes;
  return yes || no;
}

bool parse(const Declaration& declaration, std::string_view text, int64_t& value) {
  const auto number =
      declaration.type == OptionType::bytes ? parse_bytes(text) : parse_number<int64_t>(text);
  if (!number || *number < declaration.minimum || *number > declaration.maximum) return false;
  value = *number;
  return true;
}

bool parse(const Declaration&, std::string_view text, double& value) {
  const auto number = parse_number<double>(text);
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

// value_text: the inverse of parse.

std::string value_text(const Declaration&, bool value) { return value ? "true" : "false"; }
std::string value_text(const Declaration& declaration, int64_t value) {
  return declaration.type == OptionType::bytes ? bytes_text(value) : number_text(value);
}
std::string value_text(const Declaration&, double value) { return number_text(value); }
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
    return from + " to " + text(declaration.maximum);
  };
  switch (declaration.type) {
    case OptionType::boolean:
      return "true or false";
    case OptionType::bytes:
      return limits(bytes_text) + ", for example 64KiB";
    case OptionType::count:
      return limits(number_text<int64_t>);
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

// The declarations with the specifications drawn from them; the texts live as long as the process.
struct Table {
  std::vector<Declaration> declarations = declare_options();
  std::deque<std::string> defaults;
  std::vector<OptionSpec> specs;

  Table() {
    const Options standard;
    for (const Declaration& declaration : declarations) {
      const std::string& standard_text = defaults.emplace_back(value_text(declaration, standard));
      specs.push_back({declaration.name, declaration.type, standard_text.c_str(),
                       declaration.choices.c_str(), declaration.meaning, declaration.per_file});
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

// The value of `name` in "name=value" lines; the last one counts.
std::optional<std::string> configured(std::string_view lines, std::string_view name) {
  std::optional<std::string> value;
  for (const std::string_view line : split(lines, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || trim(line.substr(0, equals)) != name) continue;
    value = trim(line.substr(equals + 1));
  }
  return value;
}

void complain_of_unknown_names(std::string_view lines,
                               const std::function<void(std::string_view)>& complain) {
  for (const std::string_view line : split(lines, '\n')) {
    if (trim(line).empty()) continue;
    const std::string_view name = trim(line.substr(0, line.find('=')));
    const auto specs = option_table();
    const bool known = std::any_of(specs.begin(), specs.end(),
                                   [&](const OptionSpec& spec) { return spec.name == name; });
    if (!known) complain("there is no option '" + std::string(name) + "'; see `forebay hints`");
  }
}

std::string variable_name(const OptionSpec& spec) {
  std::string name = std::string("FOREBAY_") + spec.name;
  for (char& c : name) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return name;
}

}  // namespace

std::span<const OptionSpec> option_table() { return table().specs; }

std::optional<int64_t> parse_bytes(std::string_view text) {
  text = trim(text);
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto number = parse_number<double>(text.substr(0, digits));
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

  // Integers keep all their digits, which a double would not.
  const int64_t factor = int64_t{1} << (10 * power);
  if (const auto whole = parse_number<int64_t>(text.substr(0, digits))) {
    if (*whole > std::numeric_limits<int64_t>::max() / factor) return std::nullopt;
    return *whole * factor;
  }
  const double value = *number * static_cast<double>(factor);
  if (value >= 0x1p63) return std::nullopt;
  return std::llround(value);
}

void apply_options(Options& options, const OptionSource& source,
                   const std::function<void(std::string_view)>& complain) {
  for (std::size_t i = 0; i < table().specs.size(); ++i) {
    const auto text = source(table().specs[i]);
    if (!text) continue;
    const Declaration& declaration = table().declarations[i];
    const bool accepted_value =
        std::visit([&](auto member) { return parse(declaration, trim(*text), options.*member); },
                   declaration.member);
    if (!accepted_value) {
      complain(std::string("option ") + declaration.name + ": '" + *text +
               "' is not accepted; give " + accepted(declaration));
    }
  }
}

std::string option_text(const Options& options, const OptionSpec& spec) {
  return value_text(table().declaration(spec), options);
}

Options options_from_environment(const std::function<void(std::string_view)>& complain) {
  Options options;
  if (const char* lines = std::getenv("FOREBAY_CONFIG")) {
    complain_of_unknown_names(lines, complain);
    apply_options(
        options, [&](const OptionSpec& spec) { return configured(lines, spec.name); }, complain);
  }
  apply_options(
      options,
      [](const OptionSpec& spec) -> std::optional<std::string> {
        const char* value = std::getenv(variable_name(spec).c_str());
        return value ? std::optional<std::string>(value) : std::nullopt;
      },
      complain);
  return options;
}

}  // namespace forebay
