#include "runtime/node/committer.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string_view>

#include "storage/held_signals.h"

namespace forebay::runtime {

namespace {

constexpr std::size_t stack_bytes = 64 << 10;

// Two short-lived processes stand between this process and the committer. They share this process's
// memory while it sleeps until they have gone, work on this structure, and make system calls only.
struct Start {
  const char* program;
  char* const* arguments;
  char* const* environment;
  char* stack_top;  // of the second process
  bool failed;
};

int become_committer(void* argument) {
  auto* start = static_cast<Start*>(argument);
  syscall(SYS_close_range, 0u, ~0u, 0u);
  for (int stream = 0; stream < 3; ++stream) {
    if (open("/dev/null", O_RDWR) < 0) break;
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (chdir("/") == 0) execve(start->program, start->arguments, start->environment);
  start->failed = true;
  _exit(1);
}

int leave_session(void* argument) {
  auto* start = static_cast<Start*>(argument);
  setsid();
  if (clone(become_committer, start->stack_top, CLONE_VM | CLONE_VFORK | SIGCHLD, start) < 0)
    start->failed = true;
  _exit(0);
}

}  // namespace

std::vector<std::string> environment_of_fabric() {
  // Of the library, and of the providers verbs, cxi, efa, psm and opx; Slingshot's are set by
  // resource managers for each job.
  constexpr std::string_view beginnings[] = {
      "LD_LIBRARY_PATH=", "FI_", "IBV_", "RDMAV_", "MLX", "CXI_", "PSM", "HFI_", "EFA_", "OPX_",
      "SLINGSHOT_"};
  std::vector<std::string> kept;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    for (const std::string_view beginning : beginnings) {
      if (std::string_view(*variable).starts_with(beginning)) kept.emplace_back(*variable);
    }
  }
  return kept;
}

bool start_committer(const std::string& program, const std::string& registry,
                     const std::string& report, std::vector<std::string> environment) {
  const auto stacks = std::make_unique<char[]>(2 * stack_bytes);
  std::string arguments[] = {program, registry, report};
  char* vector[] = {arguments[0].data(), arguments[1].data(),
                    report.empty() ? nullptr : arguments[2].data(), nullptr};
  std::vector<char*> variables;
  for (std::string& variable : environment) variables.push_back(variable.data());
  variables.push_back(nullptr);
  Start start{program.c_str(), vector, variables.data(), stacks.get() + 2 * stack_bytes, false};
  // A signal handler of the program must not run in the processes that share its memory.
  const HeldSignals held;
  // The first process ends without a signal, so only __WCLONE finds it: the program's own waits do
  // not.
  const pid_t first =
      clone(leave_session, stacks.get() + stack_bytes, CLONE_VM | CLONE_VFORK, &start);
  if (first > 0) {
    while (waitpid(first, nullptr, __WCLONE) < 0 && errno == EINTR) {
    }
  }
  return first > 0 && !start.failed;
}

std::string beside_this_library(const std::string& name) {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&start_committer), &info) == 0) return "";
  const std::string path = info.dli_fname;
  const std::size_t slash = path.rfind('/');
  return (slash == std::string::npos ? std::string(".") : path.substr(0, slash)) + "/" + name;
}

std::string committer_program() {
  const std::string path = beside_this_library("forebay-committer");
  return access(path.c_str(), X_OK) == 0 ? path : "";
}

}  // namespace forebay::runtime
