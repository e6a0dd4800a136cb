#include "mpiio/job/launch.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "runtime/node/process.h"

namespace forebay::mpiio {
namespace {

// Variables by which launchers tell a rank its number. Shells and wrappers around the rank have the
// same values; daemons that start several ranks have none, or others.
constexpr const char* rank_variables[] = {
    "PMI_RANK",     "PMI_FD",        "PMIX_RANK",    "PMIX_NAMESPACE", "OMPI_COMM_WORLD_RANK",
    "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_PROCID",
};

// This process's rank variables, as "NAME=VALUE"; empty if it is no rank. Slurm's variables alone
// do not make a rank: batch scripts have some of them, too.
std::vector<std::string> own_marks() {
  std::vector<std::string> marks;
  bool is_rank = false;
  for (const std::string_view name : rank_variables) {
    const char* const value = std::getenv(name.data());
    if (value == nullptr) continue;
    marks.push_back(std::string(name) + "=" + value);
    is_rank = is_rank || name == "SLURM_STEP_ID" || !name.starts_with("SLURM_");
  }
  if (!is_rank) marks.clear();
  return marks;
}

// What the system tells of a process under that name; "" if it cannot be read.
std::string text_of(pid_t pid, const char* name) {
  const std::string path = "/proc/" + std::to_string(pid) + "/" + name;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return "";
  std::string text;
  std::array<char, 4096> part;
  for (ssize_t got = 0; (got = read(file, part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<std::size_t>(got));
  close(file);
  return text;
}

// The environment with which a process was started, a '\0' after each variable.
std::string environment_of(pid_t pid) { return text_of(pid, "environ"); }

bool belongs_to_rank(pid_t pid, const std::vector<std::string>& marks) {
  const std::string environment = '\0' + environment_of(pid);
  return std::all_of(marks.begin(), marks.end(), [&](const std::string& mark) {
    return environment.find('\0' + mark + '\0') != std::string::npos;
  });
}

// The process that started this rank, or the shell or wrapper around it.
pid_t launcher_of(const std::vector<std::string>& marks) {
  pid_t ancestor = getppid();
  while (ancestor > 1 && belongs_to_rank(ancestor, marks)) ancestor = runtime::parent_of(ancestor);
  return ancestor;
}

}  // namespace

std::string launch_name_everywhere() {
  const std::vector<std::string> marks = own_marks();
  if (marks.empty()) return "";
  // A rank may also be a script with several launches of another launcher: these inherit its names,
  // which are none of theirs.
  const pid_t launcher = launcher_of(marks);
  // HOST-PROCESS@NUMBER or the like; what its ranks spawn has another number.
  if (const char* const space = std::getenv("PMIX_NAMESPACE")) {
    const std::string_view name = space;
    if (belongs_to_rank(launcher, {"PMIX_NAMESPACE=" + std::string(name)})) return "";
    return "pmix-" + std::string(name.substr(0, name.rfind('@')));
  }
  const char* const job = std::getenv("SLURM_JOB_ID");
  const char* const step = std::getenv("SLURM_STEP_ID");
  if (job == nullptr || step == nullptr || text_of(launcher, "comm") != "slurmstepd\n") return "";
  return "slurm-" + std::string(job) + "." + step;
}

std::string launch_name() {
  const std::vector<std::string> marks = own_marks();
  if (marks.empty()) return "";
  const pid_t ancestor = launcher_of(marks);
  // If a rank's launcher has ended, process 1 is its parent, as for ranks of other launches.
  if (ancestor <= 1 && environment_of(ancestor).empty()) return "";
  const runtime::ProcessId launcher = runtime::process_numbered(ancestor);
  return "launch-" + std::to_string(launcher.pid) + "-" + std::to_string(launcher.started);
}

}  // namespace forebay::mpiio
