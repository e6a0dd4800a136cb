// The cost of the runtime alone, without MPI: processes write interleaved 300-byte records into one
// file, write them again, read them back and commit. Prints processor time per call, and elapsed
// time, the best and the median of several repetitions. Options come from FOREBAY_* as usual.
//
//   interleaved_writes PROCESSES RECORDS FILE [REPETITIONS]
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <new>
#include <string>
#include <vector>

#include "runtime/cache/cached_file.h"

namespace {

using forebay::Options;
using forebay::Status;
using forebay::runtime::CachedFile;

constexpr int64_t record_bytes = 300;
constexpr int most_processes = 64;
enum Phase { open_file, first, again, read_back, commit, phases };
constexpr std::array<const char*, phases> names{"open", "first", "again", "read", "commit"};

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Shared by the processes: a barrier, and each one's measurements of a repetition.
struct Shared {
  pthread_barrier_t barrier;
  double cpu[phases][most_processes];
  double elapsed[phases][most_processes];
};

void expect(const Status& status, const char* what) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s: %s\n", what, describe(status.code));
  std::_Exit(1);
}

class Measurement {
 public:
  Measurement(Shared& shared, int process, Phase phase)
      : shared_(shared), process_(process), phase_(phase) {
    pthread_barrier_wait(&shared_.barrier);
    start_ = seconds(CLOCK_MONOTONIC);
    cpu_start_ = seconds(CLOCK_THREAD_CPUTIME_ID);
  }
  ~Measurement() {
    shared_.cpu[phase_][process_] = seconds(CLOCK_THREAD_CPUTIME_ID) - cpu_start_;
    pthread_barrier_wait(&shared_.barrier);
    shared_.elapsed[phase_][process_] = seconds(CLOCK_MONOTONIC) - start_;
  }
  Measurement(const Measurement&) = delete;
  Measurement& operator=(const Measurement&) = delete;

 private:
  Shared& shared_;
  int process_;
  Phase phase_;
  double start_, cpu_start_;
};

void repetition(Shared& shared, int process, int processes, int64_t records,
                const std::string& path, const Options& options) {
  std::array<std::byte, record_bytes> record{};
  record.fill(std::byte{static_cast<unsigned char>(process + 1)});
  std::unique_ptr<CachedFile> file;
  const auto offset = [&](int64_t i) { return (i * processes + process) * record_bytes; };
  {
    const Measurement measured(shared, process, open_file);
    Status status;
    file = CachedFile::open(path, forebay::runtime::OpenMode::read_write, options, &status);
    expect(status, "open");
  }
  for (const Phase phase : {first, again}) {
    const Measurement measured(shared, process, phase);
    for (int64_t i = 0; i < records; ++i) {
      expect(file->write(offset(i), record.data(), record_bytes), "write");
    }
  }
  {
    const Measurement measured(shared, process, read_back);
    for (int64_t i = 0; i < records; ++i) {
      int64_t got;
      expect(file->read(offset(i), record.data(), record_bytes, &got), "read");
    }
  }
  {
    const Measurement measured(shared, process, commit);
    expect(file->close(false), "close");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "interleaved_writes PROCESSES RECORDS FILE [REPETITIONS]\n");
    return 2;
  }
  const int processes = std::clamp(std::atoi(argv[1]), 1, most_processes);
  const int64_t records = std::atoll(argv[2]) / processes;
  const std::string path = argv[3];
  const int repetitions = argc > 4 ? std::atoi(argv[4]) : 5;
  Options options = forebay::options_from_environment([](const forebay::Mistake&) {});
  if (options.job.empty()) options.job = "bench" + std::to_string(getpid());

  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  Shared& shared = *new (memory) Shared{};
  pthread_barrierattr_t attributes;
  pthread_barrierattr_init(&attributes);
  pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&shared.barrier, &attributes, static_cast<unsigned>(processes));

  int process = 0;
  while (process + 1 < processes && fork() != 0) ++process;  // the parent is the last
  const bool parent = process + 1 == processes;
  std::array<std::vector<double>, phases> cpu, elapsed;
  for (int repeat = 0; repeat < repetitions; ++repeat) {
    if (parent) std::ofstream(path, std::ios::trunc);
    pthread_barrier_wait(&shared.barrier);
    repetition(shared, process, processes, records, path, options);
    pthread_barrier_wait(&shared.barrier);
    for (int phase = 0; phase < phases; ++phase) {
      const auto longest = [processes](const double* all) {
        return *std::max_element(all, all + processes);
      };
      cpu[phase].push_back(longest(shared.cpu[phase]));
      elapsed[phase].push_back(longest(shared.elapsed[phase]));
    }
  }
  forebay::runtime::leave_node();
  if (!parent) return 0;
  while (wait(nullptr) > 0) {
  }
  std::remove(path.c_str());
  const auto median = [](std::vector<double>& values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  };
  for (int phase = 0; phase < phases; ++phase) {
    const double calls = phase == open_file || phase == commit ? 1 : static_cast<double>(records);
    const double cpu_median = median(cpu[phase]);
    const double elapsed_median = median(elapsed[phase]);
    std::printf("%-7s cpu %9.0f ns (min %.0f), elapsed %8.3f ms (min %.3f)\n", names[phase],
                cpu_median / calls * 1e9, cpu[phase][0] / calls * 1e9, elapsed_median * 1e3,
                elapsed[phase][0] * 1e3);
  }
  return 0;
}
