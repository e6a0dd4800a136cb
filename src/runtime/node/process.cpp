#include "runtime/node/process.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace forebay::runtime {

namespace {

constexpr int threads_field = 20;  // of /proc/PID/stat, as in proc(5)
constexpr int start_time_field = 22;

struct Entry {
  bool known = true;  // false: the system did not say
  char state = 'X';   // as in proc(5); X: no such process
  pid_t parent = 0;
  long threads = 0;
  uint64_t started = 0;
};

Entry unknown_entry() {
  Entry entry;
  entry.known = errno == ENOENT || errno == ESRCH;  // these say that there is no such process
  return entry;
}

Entry entry_of(pid_t pid) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(pid));
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return unknown_entry();
  char text[1024];
  const ssize_t length = read(descriptor, text, sizeof text - 1);
  Entry entry;
  if (length < 0) entry = unknown_entry();
  close(descriptor);
  if (length <= 0) return entry;
  text[length] = '\0';
  // The second field is the program's name in parentheses, and may hold anything.
  const char* at = std::strrchr(text, ')');
  if (at == nullptr || at[1] == '\0') return entry;
  entry.state = at[2];
  entry.parent = static_cast<pid_t>(std::strtol(at + 3, nullptr, 10));
  at += 1;  // the blank before the state, which is field 3
  for (int field = 3; field < start_time_field && at != nullptr; ++field) {
    at = std::strchr(at + 1, ' ');
    if (at != nullptr && field + 1 == threads_field) entry.threads = std::strtol(at, nullptr, 10);
  }
  if (at != nullptr) entry.started = std::strtoull(at, nullptr, 10);
  return entry;
}

uint64_t name_space() {
  struct stat info;
  return stat("/proc/self/ns/pid", &info) == 0 ? info.st_ino : 0;
}

// A word that becomes zero in the child of a fork; null: the system has no such memory.
std::atomic<pid_t>* zero_in_forks() {
  constexpr std::size_t bytes = sizeof(std::atomic<pid_t>);
  void* const page =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  if (madvise(page, bytes, MADV_WIPEONFORK) == 0) return new (page) std::atomic<pid_t>{0};
  munmap(page, bytes);
  return nullptr;
}

}  // namespace

pid_t process_number() {
  static std::atomic<pid_t>* const known = zero_in_forks();
  if (known == nullptr) return getpid();
  if (const pid_t pid = known->load(std::memory_order_relaxed); pid != 0) return pid;
  const pid_t pid = getpid();
  known->store(pid, std::memory_order_relaxed);
  return pid;
}

ProcessId this_process() { return process_numbered(getpid()); }

ProcessId process_numbered(pid_t pid) { return {pid, entry_of(pid).started, name_space()}; }

pid_t parent_of(pid_t pid) { return entry_of(pid).parent; }

bool alive(const ProcessId& process) {
  if (process.pid == 0) return false;
  if (process.name_space != name_space()) return true;
  const Entry entry = entry_of(process.pid);
  if (!entry.known) return true;
  const bool other = process.started != 0 && entry.started != process.started;
  if (other || entry.state == 'X') return false;
  // A process whose first thread has ended looks like a zombie while its other threads work.
  return entry.state != 'Z' || entry.threads > 1;
}

}  // namespace forebay::runtime
