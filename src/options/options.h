// Every option of the runtime, declared once: its name, type, default and meaning. The hints of
// MPI_Info ("forebay_page_size"), the environment ("FOREBAY_PAGE_SIZE"), the TOML file, `forebay
// hints` and the documentation all come from this table (options.cpp).
//
// Precedence: MPI_Info over environment over TOML file over default. `forebay run` reads the TOML
// file and passes its values on in FOREBAY_CONFIG ("name=value" lines).
//
// Something given that is no option, no value of its option, or not accepted from its source is a
// Mistake. It changes nothing, and the caller reports it to the user.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/access.h"

namespace forebay {

enum class OptionType : uint8_t { boolean, bytes, count, fraction, choice, text };
std::string_view name_of(OptionType type);

// The latest time at which an option may be given. It may also be given earlier.
enum class Settable : uint8_t {
  at_start,  // holds for the whole process; no hint
  at_open,   // in the MPI_Info of MPI_File_open
  any_time,  // also in the MPI_Info of MPI_File_set_info and MPI_File_set_view: it may change on an
             // open file
};

struct OptionSpec {
  const char* name;  // "page_size"; as hint "forebay_page_size", as variable FOREBAY_PAGE_SIZE
  OptionType type;
  const char* fallback;  // the default, as a user would write it
  const char* choices;   // "process|node" for OptionType::choice, else ""
  const char* meaning;   // one sentence
  Settable settable;
  bool per_file() const { return settable != Settable::at_start; }  // whether it is a hint
  bool changeable() const { return settable == Settable::any_time; }
  std::vector<std::string_view> choice_list() const;
};

std::span<const OptionSpec> option_table();

// What programs must not rely on if the ranks of a file have separate caches.
extern const char* const caches_apart_warning;

// On one node, `job` is `node`.
enum class Scope : uint8_t { process, node, job };
enum class Consistency : uint8_t { posix, mpi };
enum class StepAside : uint8_t { automatic, never, always };
enum class Transport : uint8_t { tcp, libfabric };
enum class CommitAtClose : uint8_t { each, last };
enum class Keep : uint8_t { never, job, stat };
// The accesses of a collective call that the replacement policy learns of: each rank's own, or one
// of all ranks.
enum class Awareness : uint8_t { original, aggregated };
// Who opens a file together: ranks of a job that has others on other nodes, all ranks of a job on
// one node, or all of a job on several nodes; or a node's agent, for a rank of another node.
enum class Openers : uint8_t { some, all_here, all, agent };

// The parsed values: one set per file handle, and one per process for the options that are not per
// file.
struct Options {
  bool enable = true;  // false: everything passes through to the MPI library
  Scope scope = Scope::job;
  Consistency consistency = Consistency::posix;
  std::string domain = "region";        // a name from assignments()
  int64_t domain_size_bytes = 4 << 20;  // of a chunk, for domain "cyclic"
  int64_t cb_nodes = 0;                 // nodes that own bytes of a file, at most; 0: all
  std::string page_kind = "mask";       // a name from page_kinds()
  std::string policy = "lru";           // a name from policies()
  Awareness awareness = Awareness::original;
  std::string predictor = "signature";  // a name from predictors()
  std::string predict_from;             // folder of an earlier run's trace; "": none
  std::string storage = "posix";        // a name from storages()
  int64_t page_size_bytes = 64 << 10;
  int64_t cache_size_bytes = 64 << 20;  // per process; the cache of a node has this times its ranks
  int64_t bypass_bytes = 1 << 20;  // contiguous accesses of at least so many bytes bypass the cache
  int64_t local_bypass_bytes = 4 << 10;  // on a local file system, with StepAside::automatic
  int64_t read_ahead_bytes = 4 << 20;    // 0: off
  int64_t commit_size_bytes = 4 << 20;   // largest single request handed to storage
  double dirty_bound = 0.5;              // fraction of the cache; write-behind begins at half of it
  bool write_behind = true;
  double write_back_buffer = 0;  // fraction of the cache, at most a half
  CommitAtClose commit_at_close = CommitAtClose::each;
  Keep keep = Keep::job;
  StepAside step_aside = StepAside::automatic;
  int64_t shards = 0;  // 0: chosen from the capacity
  bool deterministic = false;
  bool stats = false;
  std::string stats_json;   // name of a file; "": none
  std::string arena_dir;    // "": /dev/shm
  bool recoverable = true;  // the bytes of killed ranks can be committed
  Transport transport = Transport::tcp;
  bool committer = true;  // start the process that commits the bytes of killed ranks
  std::string trace;      // folder for the trace; "": none
  trace::Times trace_times = trace::Times::exact;
  int64_t trace_limit_bytes = int64_t{1} << 30;  // of a process's file; then times are folded
  std::string node;                     // name of the node; "": the real one (tests set it)
  int64_t local_processes = 1;          // ranks of the job on this node, once known; no option
  Openers openers = Openers::all_here;  // no option
  std::string job;                      // the job's secret, set by `forebay run`
};

// How a source writes the names of options.
enum class Notation : uint8_t {
  plain,
  hint,
  variable
};  // page_size, forebay_page_size, FOREBAY_...

std::string written(const OptionSpec& spec, Notation notation);

// One setting of a source: a name in the source's notation, and a value.
struct Given {
  std::string name;
  std::string value;
};

// Text of a user, made safe to print within a line.
std::string printable(std::string_view text);

// A setting that is not accepted.
struct Mistake {
  std::string what;     // "page_size=3000 is not accepted"
  std::string instead;  // "64KiB is used"
  std::string right;    // "give 512 to 16MiB in steps of 64, for example 64KiB"
  std::string line() const;
  std::string refusal() const;  // when nothing is used instead
};
using Complain = std::function<void(const Mistake&)>;

// Applies settings to `options`; of several with one name the last holds. `when`: an option that
// had to be given earlier keeps its value, and its setting is a mistake unless it gives that value.
void apply_options(Options& options, std::span<const Given> given, Notation notation, Settable when,
                   const Complain& complain);

// Makes sizes consistent: a page larger than the cache becomes as large as the cache allows.
void fit_sizes(Options& options, Notation notation, const Complain& complain);

// The options that a run has with these settings, by their plain names. Throws
// std::invalid_argument for what no run accepts.
Options options_of(const std::map<std::string, std::string>& texts);

// Copies the options that may change on an open file from `changed` to `options`.
void take_changeable(Options& options, const Options& changed);

// The value of one option as text that apply_options accepts.
std::string option_text(const Options& options, const OptionSpec& spec);

// Defaults, then FOREBAY_CONFIG, then FOREBAY_<NAME>. (The caller applies an MPI_Info.)
Options options_from_environment(const Complain& complain);

// "64KiB", "1M", "4096", "1.5 GiB": bytes. K, M, G, T (with or without iB or B) are powers of 1024.
std::optional<int64_t> parse_bytes(std::string_view text);

}  // namespace forebay
