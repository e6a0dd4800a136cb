#include "mpiio/file/open_close.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "domain/file_domains.h"
#include "mpiio/file/commit_together.h"
#include "mpiio/file/earlier_run.h"
#include "mpiio/file/errors.h"
#include "mpiio/file/file_name.h"
#include "mpiio/file/file_statistics.h"
#include "mpiio/file/hints.h"
#include "mpiio/file/job_owners.h"
#include "mpiio/file/kept_pages.h"
#include "mpiio/file/left_open.h"
#include "mpiio/file/sizes.h"
#include "mpiio/file/uncached.h"
#include "mpiio/job/job.h"
#include "mpiio/job/mistakes.h"
#include "mpiio/job/run_folder.h"
#include "mpiio/library/agreement.h"
#include "mpiio/library/mpi_storage.h"
#include "mpiio/library/own_comm.h"

namespace forebay::mpiio {
namespace {

using runtime::CachedFile;
using runtime::OpenMode;
using runtime::SharedWords;

struct Opening {
  MPI_Comm comm;  // the user's
  MPI_File file;
  std::string name;
  int amode;
  MPI_Info info;
  Options options;
  Mistakes mistakes;  // in options, not told yet
};

// How a file is to be opened, as far as it is known before this rank opens it.
struct Terms {
  // Why it is not cached; no: it is (with `known`: as far as this rank knows).
  Uncached why = Uncached::no;
  bool known = false;  // terms of an earlier open on the communicator, not agreed now
  bool one_node = false;
  JobTerms job;
  bool mistaken = false;  // a rank has mistakes to tell
  int64_t spare = -1;     // number of a spare communicator that all ranks have (`known`: this rank)
};

// Finds out what this rank knows of the file before the ranks agree. False: there is no memory.
bool describe(Opening& opening, const char* name, int64_t& node) {
  return within_memory([&] {
           opening.name = name;
           opening.mistakes = to_tell_of_environment(opening.comm);
           opening.options = file_options(opening.info, opening.name, opening.mistakes);
           node = node_identity();
         })
      .ok();
}

// Why this rank leaves the file to the library. `name`: null if the library could not open the
// file.
Uncached own_reason(Opening& opening, const char* name, int64_t& node) {
  if (name == nullptr) return Uncached::not_opened;
  if (!describe(opening, name, node)) return Uncached::no_memory;
  if (other_rights()) return Uncached::other_rights;
  if (!opening.options.enable) return Uncached::disabled;
  if (opening.options.step_aside == StepAside::always) return Uncached::step_aside_always;
  return opening.amode & MPI_MODE_SEQUENTIAL ? Uncached::sequential : Uncached::no;
}

// The options on which later collectives depend, as one number.
int64_t rules_of(const Options& options) {
  const int64_t domain = find_assignment(options.domain) - assignments().data();
  int64_t rules = options.domain_size_bytes;
  rules = rules * std::ssize(assignments()) + domain;
  rules = 3 * rules + static_cast<int64_t>(options.scope);
  rules = 3 * rules + static_cast<int64_t>(options.keep);
  rules = 2 * rules + static_cast<int64_t>(options.consistency);
  rules = 2 * rules + static_cast<int64_t>(options.awareness);
  return 2 * rules + int64_t{has_owners(options)};
}

// Whether the caches are right for these ranks: across nodes only if every byte has an owner, or
// the program has agreed to the standard's rules of visibility.
bool fits_nodes(const Options& options, bool one_node) {
  return one_node || options.consistency == Consistency::mpi || has_owners(options);
}

// Terms without communication: what the ranks found out at an earlier open holds again. The others
// learn this rank's wishes in agree_to_cache().
Terms known_terms(Opening& opening, const char* name, bool one_node) {
  Terms terms;
  terms.known = true;
  terms.one_node = one_node;
  int64_t node = 0;
  terms.why = own_reason(opening, name, node);
  if (terms.why == Uncached::no && !fits_nodes(opening.options, one_node))
    terms.why = Uncached::several_nodes;
  terms.spare = spare_comm(opening.comm);
  return terms;
}

// What a rank proposes before it opens the file, for agree_max.
struct Proposal {
  int64_t why = 0;  // its reason to leave the file to the library (Uncached)
  Compared node;    // node_identity()
  Compared rules;   // rules_of its options
  Compared spare;   // number of its spare communicator
  JobProposal job;
  int64_t mistaken = 0;  // 1: it has mistakes to tell
};

Terms agree_terms(Opening& opening, const char* name) {
  const Options& options = opening.options;
  Proposal mine;
  int64_t node = 0;
  int rank = 0;
  mine.why = static_cast<int64_t>(own_reason(opening, name, node));
  mine.node = Compared(node);
  mine.rules = Compared(rules_of(options));
  mine.spare = Compared(spare_comm(opening.comm));
  mpi().Comm_rank(opening.comm, &rank);
  mine.job = job_proposal(rank);
  mine.mistaken = int64_t{!opening.mistakes.empty()};
  const Proposal agreed = agree_max(opening.comm, mine);
  Terms terms;
  terms.one_node = agreed.node.same();
  terms.job = job_terms(agreed.job);
  if (agreed.spare.same()) terms.spare = mine.spare.value;
  terms.mistaken = agreed.mistaken != 0;
  terms.why = static_cast<Uncached>(agreed.why);
  if (terms.why != Uncached::no) return terms;
  if (!agreed.rules.same())
    terms.why = Uncached::options_differ;
  else if (!fits_nodes(options, terms.one_node))
    terms.why = Uncached::several_nodes;
  else if (!terms.job.agree && terms.job.giver < 0)
    terms.why = Uncached::several_jobs;
  return terms;
}

OpenMode open_mode(int amode) {
  if (amode & MPI_MODE_RDONLY) return OpenMode::read_only;
  return amode & MPI_MODE_WRONLY ? OpenMode::write_only : OpenMode::read_write;
}

// Opens a file of the MPI library as storage, if the options ask for that; otherwise empty.
StorageOpener storage_opener(Opening& opening) {
  if (opening.options.storage != "mpi") return {};
  keep_to_calls(opening.options);
  return [name = opening.name, info = opening.info](bool readable, bool writable) {
    return open_mpi_storage(name, readable, writable, info);
  };
}

// Which of the job's ranks open the file together.
Openers openers(MPI_Comm comm, bool one_node, const Options& options) {
  int initialized = 0, ranks = 1, world = 1;
  mpi().Initialized(&initialized);
  if (!initialized) return Openers::some;  // of sessions, who may know nothing of each other
  mpi().Comm_size(comm, &ranks);
  mpi().Comm_size(mpi().comm_world, &world);
  if (!one_node) return ranks == world ? Openers::all : Openers::some;
  const bool no_other_node = options.node.empty() && world <= options.local_processes;
  return no_other_node ? Openers::all_here : Openers::some;
}

// The part of an open that each rank does alone, and that may fail on one rank only.
std::unique_ptr<Handle> open_alone(Opening& opening, Status* status) {
  if (this_node(status) == nullptr) return nullptr;
  auto handle = std::make_unique<Handle>();
  handle->file = opening.file;
  handle->name = opening.name;
  handle->amode = opening.amode;
  handle->readable = !(opening.amode & MPI_MODE_WRONLY);
  handle->writable = !(opening.amode & MPI_MODE_RDONLY);
  mpi().Comm_rank(opening.comm, &handle->rank);
  mpi().Comm_size(opening.comm, &handle->ranks);
  handle->ordered.all_bytes.resize(static_cast<std::size_t>(handle->ranks));
  // Last, since it may take over bytes from earlier handles, which must not be given up again.
  handle->cached = CachedFile::open(posix_path(opening.name), open_mode(opening.amode),
                                    opening.options, status, storage_opener(opening));
  if (handle->cached == nullptr) return nullptr;
  follow_earlier_run(*handle);
  return handle;
}

// The node that open_alone() has joined.
runtime::NodeMember& joined_node() {
  Status status;
  return *this_node(&status);
}

void release_words(Handle& handle) {
  handle.word_numbers.for_each([](int32_t number) {
    if (number >= 0) SharedWords::release(joined_node(), number);
  });
}

// Rank 0 allocates the words that the ranks share. False: none are left.
bool allocate_words(Handle& handle, int64_t end_of_file) {
  runtime::NodeMember& node = joined_node();
  bool complete = true;
  handle.word_numbers.for_each([&](int32_t& number) {
    number = complete ? SharedWords::allocate(node) : -1;
    complete = number >= 0;
  });
  if (complete && handle.amode & MPI_MODE_APPEND)
    SharedWords::at(node, handle.word_numbers.position)->store(end_of_file);
  return complete;
}

// Tells the user of a refusal, once in the process's life.
void tell_refusal(const std::string& name, const Status& refusal) {
  static std::atomic<bool> told{false};
  if (told.exchange(true)) return;
  std::fprintf(
      stderr,
      "forebay: %s goes past the cache: %s (%s); FOREBAY_ARENA_DIR names another place for "
      "the cache\n",
      name.c_str(), describe(refusal.code),
      refusal.system_error == 0 ? "" : std::strerror(refusal.system_error));
}

// Tells the user, once in the process's life, of ranks that cannot become one job any more.
void tell_of_several_jobs(const std::string& name) {
  static std::atomic<bool> told{false};
  if (told.exchange(true)) return;
  std::fprintf(stderr,
               "forebay: %s goes past the cache: its ranks began as different jobs and had files "
               "open already; start the job by `forebay run` before the launcher\n",
               name.c_str());
}

Uncached reason_of_refusal(const Status& refusal) {
  if (refusal.code == Code::unsupported) return Uncached::no_path;
  return refusal.code == Code::no_memory ? Uncached::no_shared_memory : Uncached::refused;
}

// Gives the handle the spare communicator if all ranks have it, otherwise a new one. False: on some
// rank none could be made.
bool give_comm(MPI_Comm users, Handle& handle, int64_t spare, bool all_have_it) {
  handle.own = take_comm(users, all_have_it ? spare : -1);
  return all_have_it || !any_rank(users, handle.own.comm == mpi().comm_null);
}

// What a rank reports after it has opened the file, or could not, for agree_max.
struct Outcome {
  static constexpr int64_t unsaid = INT64_MIN;  // other ranks say it

  int64_t why = 0;     // why it does not cache the file (Uncached)
  Compared job;        // job_identity()
  Compared memory{0};  // the node's shared memory, if all ranks are on one node
  Compared rules;      // rules_of its options
  Compared spare;      // number of its spare communicator
  // Set by rank 0; end_of_file only if the ranks need it.
  int64_t end_of_file = unsaid;
  RankWords<int64_t> word_numbers{unsaid, unsaid, unsaid, unsaid};

  int64_t refused = unsaid;  // ~rank of the first rank that was refused
  int64_t mistaken = 0;      // 1: it has mistakes to tell
  int64_t forgetful = 0;     // 1: it cannot keep what the ranks found out
  int64_t enrolled = 0;      // 1: the open is in the job's directory
};

// Prepares this rank to cache the file, and fills `mine` with what the ranks will share. If the
// rank is ready, the handle is in open_handles.
Uncached prepare(const Opening& opening, const Terms& terms, std::unique_ptr<Handle>& handle,
                 const Status& refusal, Outcome& mine) {
  if (terms.why != Uncached::no) return terms.why;
  if (handle == nullptr) return reason_of_refusal(refusal);
  if (!terms.known && handle->own.comm == mpi().comm_null) return Uncached::no_communicator;
  if (handle->rank == 0) {
    const bool asks_size = !handle->one_node || (handle->amode & MPI_MODE_APPEND) != 0;
    if (asks_size && !handle->cached->size(&mine.end_of_file).ok()) return Uncached::refused;
    if (handle->one_node && !allocate_words(*handle, mine.end_of_file))
      return Uncached::too_many_files;
    if (handle->one_node && has_owners(opening.options) && !enrol_alone(*handle).ok())
      return Uncached::no_owners;
    mine.enrolled = int64_t{handle->enrolled != nullptr};
    const RankWords<int32_t>& numbers = handle->word_numbers;
    mine.word_numbers = {numbers.position, numbers.turns, numbers.ordered_base, numbers.arrivals};
  }
  if (handle->one_node) mine.memory = Compared(runtime::memory_identity(joined_node()));
  return open_handles.insert(opening.file, handle) ? Uncached::no : Uncached::too_many_files;
}

// Why no rank caches the file; no: all ranks do.
Uncached verdict(const Outcome& agreed) {
  if (agreed.why != 0) return static_cast<Uncached>(agreed.why);
  if (!agreed.rules.same()) return Uncached::options_differ;
  if (!agreed.job.same()) return Uncached::several_jobs;
  return agreed.memory.same() ? Uncached::no : Uncached::separate_memory;
}

// Sets the file pointers to the file's end, as its owners know it. Called by all ranks of the
// handle.
void seek_end(Handle& handle) {
  struct {
    int64_t bytes, no_keeper;
  } end{handle.position, 0};
  if (handle.rank == 0) {
    const HandleLock lock(handle);
    (void)size_of(handle, &end.bytes);  // a failure shows at the first access
    if (const int32_t word = handle.word_numbers.position; word >= 0)
      SharedWords::at(joined_node(), word)->store(end.bytes);
    if (handle.kept != nullptr) end.no_keeper = int64_t{!handle.kept->store(end.bytes).ok()};
  }
  end = agree_max(handle.own.comm, end);
  handle.position = end.bytes;
  if (end.no_keeper != 0) handle.kept.reset();
  // The library saw only storage.
  if (!handle.one_node && handle.kept == nullptr)
    (void)mpi().File_seek_shared(handle.file, handle.position, MPI_SEEK_SET);
}

// Agrees whether the ranks cache the file: if every rank is ready, has the same job and, on one
// node, sees the same memory. Then sets up what they share. `handle` is null on ranks that could
// not open the file (`refusal`) or would not. All ranks get the same answer: no, or why the file is
// not cached.
Uncached agree_to_cache(Opening& opening, const Terms& terms, std::unique_ptr<Handle>& handle,
                        const Status& refusal) {
  int rank = 0;
  mpi().Comm_rank(opening.comm, &rank);
  Handle* const opened = handle.get();
  Outcome mine;
  mine.why = static_cast<int64_t>(prepare(opening, terms, handle, refusal, mine));
  mine.job = Compared(job_identity());
  mine.rules = Compared(rules_of(opening.options));
  mine.spare = Compared(terms.spare);
  if (!refusal.ok() && refusal.code != Code::unsupported) mine.refused = ~rank;
  mine.mistaken = int64_t{!opening.mistakes.empty()};
  const bool pooled = opened != nullptr && (terms.known || opened->own.pool != nullptr);
  mine.forgetful = int64_t{!pooled};
  const Outcome agreed = agree_max(opening.comm, mine);
  if (agreed.refused == ~rank) tell_refusal(opening.name, refusal);
  if (agreed.mistaken != 0) tell_together(opening.comm, opening.mistakes);
  if (const Uncached why = verdict(agreed); why != Uncached::no) return why;
  const bool spared = terms.spare >= 0 && agreed.spare.same();
  if (terms.known && !give_comm(opening.comm, *opened, terms.spare, spared))
    return Uncached::no_communicator;
  opened->in_directory = agreed.enrolled != 0;
  if (agreed.forgetful == 0) keep_one_node(opened->own, terms.one_node);
  if (opened->amode & MPI_MODE_APPEND) opened->position = agreed.end_of_file;
  if (has_owners(opening.options)) {
    opened->may_get_owners = opened->one_node;
    if (!opened->one_node && !join_owners(*opened, agreed.end_of_file)) return Uncached::no_owners;
    if (opened->amode & MPI_MODE_APPEND) seek_end(*opened);
  }
  if (!opened->one_node) {
    if (opening.options.scope == Scope::job && opening.options.consistency == Consistency::mpi) {
      opened->nodes =
          HandleNodes::find(opened->own.comm, opened->cached->options().page_size_bytes);
      if (opened->nodes != nullptr) {
        opened->cached->share_with_nodes(true);
        if (opened->writable) find_owners_of_guests(*opened, agreed.end_of_file);
      }
    }
    return Uncached::no;
  }
  const auto word = [](int64_t number) {
    return SharedWords::at(joined_node(), static_cast<int32_t>(number));
  };
  const RankWords<int64_t>& numbers = agreed.word_numbers;
  opened->shared = {word(numbers.position), word(numbers.turns), word(numbers.ordered_base),
                    word(numbers.arrivals)};
  opened->cached->write_as(static_cast<uint32_t>(numbers.arrivals));
  const bool in_turns = opened->cached->options().deterministic;
  opened->aggregates = opening.options.awareness == Awareness::aggregated;
  if (opened->ranks > 1 && opened->all_ranks_share_arena() && !in_turns && !opened->aggregates)
    (void)within_memory([&] { opened->pace = opened->cached->make_pace(); });
  return Uncached::no;
}

// The policy sees collective accesses as one only where all ranks share a cache that has them all.
void fit_awareness(Opening& opening, bool one_node) {
  Options& options = opening.options;
  const bool fits = one_node && options.scope != Scope::process && !options.deterministic &&
                    options.step_aside != StepAside::always;
  if (options.awareness == Awareness::original || fits) return;
  options.awareness = Awareness::original;
  const Mistake mistake{"awareness=aggregated needs ranks that share a cache",
                        "awareness=original is used",
                        "give no scope=process, deterministic=true or step_aside=always, and one "
                        "node to the job"};
  opening.mistakes.push_back({opening.name, mistake.line()});
}

// Called by all ranks, when each has closed the file in its cache: the directory knows the owners
// as long as the cache of any node has the file by them.
void leave_directory(Handle& handle) {
  if (handle.in_directory && handle.ranks > 1) wait_for_all(handle.own.comm);
  handle.enrolled.reset();
}

// Opens the file in the cache, on agreed or known terms. Called by all ranks of the communicator;
// all or none cache. Returns no, or why the file is not cached.
Uncached open_cached(Opening& opening, const Terms& terms) {
  const HandlesChange change;
  std::unique_ptr<Handle> handle;
  Status refusal;
  if (terms.job.giver >= 0) take_job_of(opening.comm, terms.job.giver);
  const Status had_memory = within_memory([&] {
    opening.options.job = process_options().job;
    opening.options.openers = openers(opening.comm, terms.one_node, opening.options);
    if (!terms.one_node) {
      opening.options.commit_at_close = CommitAtClose::each;
      if (!has_owners(opening.options)) opening.options.keep = Keep::never;
    }
    fit_awareness(opening, terms.one_node);
    if (terms.why == Uncached::no) handle = open_alone(opening, &refusal);
  });
  if (!had_memory.ok()) refusal = had_memory;  // all ranks leave the file to the library
  OwnComm own{mpi().comm_null, -1, {}};
  if (!terms.known) own = take_comm(opening.comm, terms.spare);
  if (handle != nullptr) {
    handle->one_node = terms.one_node;
    handle->own = own;
  }
  const Uncached why = agree_to_cache(opening, terms, handle, refusal);
  if (why == Uncached::no) {
    commit_at_exit();
    return why;
  }
  if (std::unique_ptr<Handle> inserted = open_handles.remove(opening.file))
    handle = std::move(inserted);
  if (handle != nullptr) {
    release_words(*handle);
    (void)handle->cached->close(false);
    leave_directory(*handle);
    own = std::move(handle->own);
  }
  give_back(std::move(own));
  return why;
}

bool intercommunicator(MPI_Comm comm) {
  int inter = 0;
  mpi().Comm_test_inter(comm, &inter);
  return inter != 0;
}

// Whether the communicator has ranks outside this rank's MPI_COMM_WORLD: of programs that were
// spawned or connected. Such ranks may run without Forebay and would not enter its collectives. All
// ranks get the same answer, since each sees ranks of another world.
bool joins_worlds(MPI_Comm comm) {
  int initialized = 0, size = 0, result = MPI_UNEQUAL;
  mpi().Initialized(&initialized);
  mpi().Comm_size(comm, &size);
  if (!initialized || size == 1) return false;
  mpi().Comm_compare(comm, mpi().comm_world, &result);
  if (result != MPI_UNEQUAL) return false;
  MPI_Group ours, world, strangers;
  mpi().Comm_group(comm, &ours);
  mpi().Comm_group(mpi().comm_world, &world);
  mpi().Group_difference(ours, world, &strangers);
  int count = 0;
  mpi().Group_size(strangers, &count);
  for (MPI_Group* group : {&ours, &world, &strangers}) {
    if (group != &strangers || count > 0) mpi().Group_free(group);
  }
  return count > 0;
}

bool is_of_class(int code, int error_class) {
  int found = MPI_SUCCESS;
  return code != MPI_SUCCESS && mpi().Error_class(code, &found) == MPI_SUCCESS &&
         found == error_class;
}

// Agrees whether the file is cached, and opens it in the cache. Called by all ranks. `name`: null
// if the library could not open the file.
Uncached cache_together(Opening& opening, const char* name) {
  const JobUser under_way;
  tell_of_environment();
  if (const std::optional<bool> one_node = known_one_node(opening.comm)) {
    const Uncached why = open_cached(opening, known_terms(opening, name, *one_node));
    // Since the earlier open, a rank may have taken another job, with ranks of another
    // communicator.
    if (why != Uncached::several_jobs) return why;
  }
  const Terms terms = agree_terms(opening, name);
  if (terms.mistaken) tell_together(opening.comm, opening.mistakes);
  return terms.why == Uncached::no ? open_cached(opening, terms) : terms.why;
}

// `name`: null if the library could not open the file.
void note_open(const Opening& opening, const char* name, Uncached why) {
  const Status noted = within_memory([&] {
    if (why == Uncached::no) return mark_cached();
    mark_used();
    if (name != nullptr) record_uncached(opening.file, name, why);
  });
  (void)noted;  // statistics may lack a file
}

}  // namespace

int open_file(MPI_Comm comm, const char* name, int amode, MPI_Info info, MPI_File* file) {
  if (file != nullptr) *file = mpi().file_null;
  const int code = mpi().File_open(comm, name, amode, info, file);
  if (file == nullptr || comm == mpi().comm_null || is_of_class(code, MPI_ERR_COMM) ||
      intercommunicator(comm))
    return code;
  // The code alone does not tell: MPICH returns success after it has called an error handler of the
  // user's.
  const bool opened = code == MPI_SUCCESS && *file != mpi().file_null;
  learn_thread_level();
  if (opened) count_open(name);
  Opening opening{comm, *file, {}, amode, info, {}, {}};
  const Uncached why = joins_worlds(comm) ? Uncached::several_worlds
                                          : cache_together(opening, opened ? name : nullptr);
  note_open(opening, opened ? name : nullptr, why);
  int rank = 0;
  if (why == Uncached::several_jobs && mpi().Comm_rank(comm, &rank) == MPI_SUCCESS && rank == 0)
    (void)within_memory([&] { tell_of_several_jobs(opening.name); });
  return code;
}

Status leave_cache(Handle& handle, bool discard, const CachedFile::Rest* rest) {
  Status status;
  if (handle.job_file != nullptr) status = handle.job_file->leave(discard);
  if (handle.guests != nullptr) status = handle.guests->leave(discard);
  const Status closed = handle.cached->close(discard, rest);
  if (status.ok()) status = closed;
  const Status recorded = within_memory([&] { record_statistics(handle); });
  (void)recorded;  // statistics may lack a file
  return status;
}

int close_file(MPI_File* file) {
  Handle* known = file == nullptr ? nullptr : find_handle(*file);
  if (known == nullptr) {
    if (file != nullptr) forget_uncached(*file);
    return mpi().File_close(file);
  }
  const bool discard = (known->amode & MPI_MODE_DELETE_ON_CLOSE) != 0;
  // On one node, mistakes in hints have been told already.
  if (!known->one_node && any_rank(known->own.comm, !known->mistakes.empty()))
    tell_together(known->own.comm, known->mistakes);
  Status status;
  if (!discard) status = commit_together(*known, CommitFor::close);
  std::optional<CachedFile::Rest> rest;
  if (!discard && may_rest_on_nodes(*known)) rest = agree_to_rest(*known, status);
  std::unique_ptr<Handle> handle;
  {
    const HandlesChange change;
    handle = open_handles.remove(*file);
    const HandleLock lock(*handle);
    const Status left = leave_cache(*handle, discard, rest ? &*rest : nullptr);
    if (status.ok()) status = left;
  }
  release_words(*handle);
  leave_directory(*handle);
  // Raised before the library closes the file, since the file's error handler is called.
  const int failure = raise(*handle, status, "committing the cached bytes of");
  give_back(std::move(handle->own));
  handle.reset();
  const int code = mpi().File_close(file);
  return failure != MPI_SUCCESS ? failure : code;
}

}  // namespace forebay::mpiio
