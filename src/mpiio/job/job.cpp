#include "mpiio/job/job.h"

#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <span>
#include <string_view>

#include "mpiio/job/launch.h"
#include "mpiio/job/notices.h"
#include "mpiio/job/run_folder.h"
#include "mpiio/library/own_comm.h"
#include "runtime/cache/cached_file.h"
#include "runtime/node/node_member.h"

namespace forebay::mpiio {
namespace {

constexpr std::size_t job_bytes = 256;  // the name is part of a file name

// The number of this job's ranks on this node, as the launcher tells it (Hydra, Open MPI, Slurm); 1
// if it does not.
int64_t launched_processes() {
  for (const char* name :
       {"MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE", "SLURM_NTASKS_PER_NODE"}) {
    const char* text = std::getenv(name);
    const int64_t count = text == nullptr ? 0 : std::strtoll(text, nullptr, 10);
    if (count > 0) return count;
  }
  return 1;
}

std::string node_name(const Options& options) {
  if (!options.node.empty()) return options.node;
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return std::string(host.data()) + "/" + machine_name();
}

// The name of this process's launch, on all nodes or, if the launcher gives none, on this one. A
// process that is no rank is a job of its own.
std::string launched_job(const Options& options) {
  // As a number: the name becomes a part of file names.
  if (const std::string name = launch_name_everywhere(); !name.empty())
    return "launch-" + std::to_string(static_cast<uint64_t>(hash_text(name)));
  const std::string launch = launch_name();
  if (launch.empty()) return "process-" + std::to_string(getpid());
  return launch + "-" + std::to_string(static_cast<uint64_t>(hash_text(node_name(options))));
}

struct Environment {
  Options options;
  std::vector<std::string> mistakes;

  Environment() {
    if (getauxval(AT_SECURE) != 0) return;
    options = options_from_environment(
        [this](const Mistake& mistake) { mistakes.push_back(mistake.line()); });
    options.local_processes = launched_processes();
    if (options.job.empty())
      options.job = launched_job(options);
    else
      options.job.resize(std::min(options.job.size(), job_bytes - 1));
  }
};

Environment& environment() {
  static Environment read;
  return read;
}

std::mutex job_mutex;
int job_users = 0;  // under job_mutex

// A rank's claim that the others take its job. The largest claim wins.
constexpr int64_t was_given_job = int64_t{1} << 32;  // `forebay run` named it, and asks for it
constexpr int64_t keeps_job = int64_t{1} << 33;      // something is cached under the job's name

// Whether anything besides the open under way depends on this process's job. Under job_mutex.
bool job_is_kept() { return job_users > 1; }

bool job_was_given() {
  const char* const name = std::getenv("FOREBAY_JOB");
  return name != nullptr && *name != '\0';
}

}  // namespace

const Options& process_options() { return environment().options; }

runtime::NodeMember* this_node(Status* status) {
  return runtime::node_of(Scope::node, process_options(), status, notices());
}

namespace {

// The kernel maps a library's pages when they are first used: some microseconds for each run of a
// few pages, in the first open and the first accesses. One call maps all of them beforehand.
void map_own_code() {
#ifdef MADV_POPULATE_READ
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* own) {
        const auto address = reinterpret_cast<uintptr_t>(own);
        const std::span segments(object->dlpi_phdr, object->dlpi_phnum);
        const auto first_byte = [&](const ElfW(Phdr) & segment) {
          return object->dlpi_addr + segment.p_vaddr;
        };
        const auto is_ours = [&](const ElfW(Phdr) & segment) {
          return segment.p_type == PT_LOAD && address - first_byte(segment) < segment.p_memsz;
        };
        if (std::none_of(segments.begin(), segments.end(), is_ours)) return 0;
        const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
        for (const ElfW(Phdr) & segment : segments) {
          if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
          const uintptr_t start = first_byte(segment) / page * page;
          madvise(reinterpret_cast<void*>(start), first_byte(segment) + segment.p_memsz - start,
                  MADV_POPULATE_READ);
        }
        return 1;
      },
      reinterpret_cast<void*>(&map_own_code));
#endif
}

}  // namespace

void join_node_early() {
  const Options& options = process_options();
  if (other_rights() || !options.enable || options.step_aside == StepAside::always) return;
  const Status ignored = within_memory([&] {  // the first open tries again, and tells
    map_own_code();
    node_identity();
    prepare_own_comms();
    Status status;
    runtime::NodeMember* const node = this_node(&status);
    if (node != nullptr && options.scope != Scope::process) runtime::make_ready(*node, options);
  });
  (void)ignored;
}

const std::vector<std::string>& environment_mistakes() { return environment().mistakes; }

bool speaks_for_job() {
  int initialized = 0, finalized = 0, rank = 0;
  mpi().Initialized(&initialized);
  mpi().Finalized(&finalized);
  if (initialized && !finalized) {
    mpi().Comm_rank(mpi().comm_world, &rank);
    return rank == 0;
  }
  for (const char* name : {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"}) {
    if (const char* const text = std::getenv(name)) return std::strtoll(text, nullptr, 10) == 0;
  }
  return true;
}

bool other_rights() {
  static const bool other = [] {
    if (getauxval(AT_SECURE) == 0) return false;
    std::fputs("forebay: not used in a program that has other rights than its user\n", stderr);
    return true;
  }();
  return other;
}

int64_t hash_text(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const unsigned char c : text) hash = (hash ^ c) * 0x100000001b3u;
  return static_cast<int64_t>(hash);
}

bool first_on_node() {
  for (const char* name : {"MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"}) {
    if (const char* const text = std::getenv(name)) return std::strtoll(text, nullptr, 10) == 0;
  }
  return true;
}

std::string machine_name() {
  // Not with a stream, which hides refused memory and would give an empty name.
  std::array<char, 64> boot{};
  const int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  const ssize_t length = file < 0 ? -1 : read(file, boot.data(), boot.size());
  if (file >= 0) close(file);
  return {boot.data(), length < 0 ? 0 : static_cast<std::size_t>(length)};
}

int64_t node_identity() {
  static const int64_t identity = hash_text(node_name(process_options()));
  return identity;
}

int64_t job_identity() { return hash_text(process_options().job); }

JobUser::JobUser() {
  const std::lock_guard guard(job_mutex);
  ++job_users;
}

JobUser::~JobUser() {
  const std::lock_guard guard(job_mutex);
  --job_users;
}

JobProposal job_proposal(int rank) {
  const Compared job(job_identity());
  const std::lock_guard guard(job_mutex);
  const bool kept = job_is_kept();
  const int64_t claim = kept ? keeps_job : job_was_given() ? was_given_job : 0;
  return {job, kept ? job : Compared(), claim | rank};
}

JobTerms job_terms(const JobProposal& agreed) {
  if (agreed.job.same()) return {true, -1};
  const bool one_claim = (agreed.claim & keeps_job) == 0 || agreed.kept.same();
  return {false, one_claim ? static_cast<int>(agreed.claim & 0x7fffffff) : -1};
}

void take_job_of(MPI_Comm comm, int giver) {
  std::array<char, job_bytes> text{};
  process_options().job.copy(text.data(), text.size() - 1);
  mpi().Bcast(text.data(), static_cast<int>(text.size()), mpi().byte, giver, comm);
  const std::lock_guard guard(job_mutex);
  if (process_options().job == text.data() || job_is_kept() || runtime::node_keeps_bytes()) return;
  runtime::leave_node();
  environment().options.job = text.data();
  tell_job(text.data());
}

}  // namespace forebay::mpiio
