#include "mpiio/job.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace forebay::mpiio {
namespace {

constexpr std::size_t secret_bytes = 33;  // 32 hexadecimal digits and the end

// The ranks of this job on this node, as launchers tell them: Hydra, Open MPI, Slurm. 1: not told.
int64_t launched_processes() {
  for (const char* name :
       {"MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE", "SLURM_NTASKS_PER_NODE"}) {
    const char* text = std::getenv(name);
    const int64_t count = text == nullptr ? 0 : std::strtoll(text, nullptr, 10);
    if (count > 0) return count;
  }
  return 1;
}

struct Environment {
  Options options;
  std::vector<std::string> mistakes;

  Environment() {
    if (getauxval(AT_SECURE) != 0) return;
    options = options_from_environment(
        [this](const Mistake& mistake) { mistakes.push_back(mistake.line()); });
    options.local_processes = launched_processes();
  }
};

Environment& environment() {
  static Environment read;
  return read;
}

std::string node_name(const Options& options) {
  if (!options.node.empty()) return options.node;
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  // A stream would make nothing of refused memory but an empty name.
  std::array<char, 64> boot{};
  const int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  const ssize_t length = file < 0 ? -1 : read(file, boot.data(), boot.size());
  if (file >= 0) close(file);
  return std::string(host.data()) + "/" +
         std::string(boot.data(), length < 0 ? 0 : static_cast<std::size_t>(length));
}

void make_secret(std::array<char, secret_bytes>& text) {
  std::array<unsigned char, 16> random{};
  if (getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) return;
  for (std::size_t i = 0; i < random.size(); ++i) std::snprintf(&text[2 * i], 3, "%02x", random[i]);
}

void touch(const std::string& path) {
  const int file = open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
  if (file >= 0) close(file);
}

}  // namespace

const Options& process_options() { return environment().options; }

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

int64_t node_identity() {
  static const int64_t identity = hash_text(node_name(process_options()));
  return identity;
}

int64_t job_identity() {
  const std::string& secret = process_options().job;
  return secret.empty() ? 0 : hash_text(secret);
}

void share_job_secret(MPI_Comm comm, int root) {
  int rank = 0;
  mpi().Comm_rank(comm, &rank);
  std::array<char, secret_bytes> text{};
  std::string& mine = environment().options.job;
  if (rank == root) {
    if (mine.empty())
      make_secret(text);
    else
      mine.copy(text.data(), text.size() - 1);
  }
  mpi().Bcast(text.data(), static_cast<int>(text.size()), mpi().byte, root, comm);
  if (mine.empty()) mine = text.data();
}

void mark_used() {
  if (other_rights()) return;
  static std::atomic<bool> marked{false};
  const char* folder = std::getenv("FOREBAY_RUN_DIR");
  if (folder == nullptr || marked.exchange(true)) return;
  touch(std::string(folder) + "/used");
  touch(std::string(folder) + "/used." + abi_name());
}

}  // namespace forebay::mpiio
