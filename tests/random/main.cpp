// random_io: compares random MPI-IO operations with a model of what the MPI standard (4.1, 14.6)
// guarantees. Runs on up to eight ranks, with any MPI library, plain or with a library preloaded in
// front of it. See README.md beside this file.
#include <mpi.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include "aftermath.h"
#include "exclusions.h"
#include "executor.h"

namespace random_io {
namespace {

constexpr const char* kUsage =
    "usage: random_io [options]\n"
    "  --seed N              seed of the first round (1)\n"
    "  --operations N        operations in all (10000)\n"
    "  --round N             operations a round: fresh files, the next seed (5000)\n"
    "  --time-limit S        begin no further round after S seconds\n"
    "  --operation-timeout S an operation that takes longer has hung (60)\n"
    "  --files DIR           where the files and the failure's log are made (.)\n"
    "  --standard-visibility promise only what the standard does, not POSIX visibility\n"
    "  --nodes N             ranks are on N nodes in turn: open files so that nodes that have a "
    "file\n"
    "                        open know of each other (docs/decisions.md, owners)\n"
    "  --strict              do not leave out the library's known bugs in MPI-IO\n"
    "  --disable A,B         leave out operations or features\n"
    "  --life N              with faults: the Nth life of a job, whose ranks may be killed (see\n"
    "                        lives.py); 0 operations: only see what the one before has left\n"
    "  --replay LOG          carry out a log instead of inventing operations\n"
    "  --only A-B,C          of the log only these operations\n"
    "  --upto N              of the log only operations up to N\n"
    "  --print               print the schedule (first round) and do nothing\n"
    "  --quiet               say nothing on success\n";

struct Arguments {
  uint64_t seed = 1;
  int64_t operations = 10000, round = 5000, upto = kForever;
  double time_limit_s = 0;
  int operation_timeout_s = 60, life = 0, nodes = 1;
  std::string files = ".", replay, only, disable;
  bool standard_visibility = false, strict = false, print = false, quiet = false;
};

[[noreturn]] void usage() {
  std::fputs(kUsage, stderr);
  std::exit(2);
}

Arguments parse_arguments(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const auto value = [&]() -> std::string {
      if (++i >= argc) usage();
      return argv[i];
    };
    if (name == "--seed")
      arguments.seed = std::stoull(value());
    else if (name == "--operations")
      arguments.operations = std::stoll(value());
    else if (name == "--round")
      arguments.round = std::stoll(value());
    else if (name == "--time-limit")
      arguments.time_limit_s = std::stod(value());
    else if (name == "--operation-timeout")
      arguments.operation_timeout_s = std::stoi(value());
    else if (name == "--files")
      arguments.files = value();
    else if (name == "--standard-visibility")
      arguments.standard_visibility = true;
    else if (name == "--strict")
      arguments.strict = true;
    else if (name == "--disable")
      arguments.disable += value() + ',';
    else if (name == "--nodes")
      arguments.nodes = std::stoi(value());
    else if (name == "--life")
      arguments.life = std::stoi(value());
    else if (name == "--replay")
      arguments.replay = value();
    else if (name == "--only")
      arguments.only = value();
    else if (name == "--upto")
      arguments.upto = std::stoll(value());
    else if (name == "--print")
      arguments.print = true;
    else if (name == "--quiet")
      arguments.quiet = true;
    else
      usage();
  }
  return arguments;
}

bool selected(const std::string& only, int64_t number) {
  if (only.empty()) return true;
  std::istringstream list(only);
  for (std::string item; std::getline(list, item, ',');) {
    const std::size_t dash = item.find('-');
    const int64_t first = std::stoll(item);
    const int64_t last = dash == std::string::npos ? first : std::stoll(item.substr(dash + 1));
    if (first <= number && number <= last) return true;
  }
  return false;
}

Executor* running = nullptr;

void on_signal(int signal_number) {
  const char* why = signal_number == SIGALRM ? "no progress (hung)" : strsignal(signal_number);
  if (running != nullptr) running->report().interruption(why);
  if (signal_number == SIGALRM) _exit(3);
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

class Session {
 public:
  explicit Session(Arguments arguments) : arguments_(std::move(arguments)) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(version, &length);
    exclude_known_bugs(version, !arguments_.strict, features_);
    if (arguments_.life == 0) {
      for (const char* fault : {"fail", "arm", "kill"}) features_.disable(fault);
    }
    features_.set_nodes(arguments_.nodes);
    if (arguments_.standard_visibility) features_.disable("posix_visibility");
    std::istringstream disabled(arguments_.disable);
    for (std::string name; std::getline(disabled, name, ',');) features_.disable(name);
    mkdir(arguments_.files.c_str(), 0777);
  }

  int run() {
    if (ranks_ > kMaxRanks) usage();
    if (arguments_.print) return print();
    if (arguments_.life > 0) return live();
    if (!arguments_.replay.empty()) return replay();
    const double begin = MPI_Wtime();
    int64_t done = 0;
    uint64_t seed = arguments_.seed;
    for (; done < arguments_.operations; ++seed) {
      const int64_t round = std::min(arguments_.round, arguments_.operations - done);
      one_round(seed, round);
      done += round;
      int stop = arguments_.time_limit_s > 0 && MPI_Wtime() - begin > arguments_.time_limit_s;
      MPI_Bcast(&stop, 1, MPI_INT, 0, MPI_COMM_WORLD);
      if (stop != 0) break;
    }
    const double seconds = MPI_Wtime() - begin;
    if (rank_ == 0 && !arguments_.quiet) {
      std::printf(
          "random_io: passed, %lld operations, %d ranks, seeds %llu to %llu, %.0f a second\n",
          static_cast<long long>(done), ranks_, static_cast<unsigned long long>(arguments_.seed),
          static_cast<unsigned long long>(seed - 1), static_cast<double>(done) / seconds);
    }
    return 0;
  }

 private:
  RunSettings settings(uint64_t seed) const {
    RunSettings settings;
    settings.directory = arguments_.files;
    settings.operation_timeout_s = arguments_.operation_timeout_s;
    settings.log = arguments_.files + "/failure-" + std::to_string(seed) + ".log";
    settings.heading = "mpiexec -n " + std::to_string(ranks_) + " random_io --seed " +
                       std::to_string(seed) + " --round " + std::to_string(arguments_.round);
    if (arguments_.standard_visibility) settings.heading += " --standard-visibility";
    if (arguments_.life > 0) settings.heading += " --life " + std::to_string(arguments_.life);
    return settings;
  }

  // One life of the job. Its files are those that the life before left and recovery completed.
  int live() {
    History history(arguments_.files, arguments_.life);
    RunSettings life = settings(arguments_.seed);
    life.history = &history;
    Planner planner(rank_, ranks_, features_);
    std::string violation;
    int first_number = 1;
    if (rank_ == 0) {
      const Aftermath left = look_back(history);
      life.earlier = left.operations;
      violation = left.violation;
      first_number = left.last_number + 1;
    }
    MPI_Bcast(&first_number, 1, MPI_INT, 0, MPI_COMM_WORLD);
    history.begin(rank_);
    for (int file = 0; file < kFiles; ++file) {
      if (const auto data = history.saved_file(file)) planner.file(file).adopt(*data);
    }
    Executor executor(planner, features_, life);
    if (!violation.empty()) executor.report().fail_aftermath(violation);
    running = &executor;
    if (!arguments_.replay.empty()) {
      for (const Operation& operation : schedule_of_life()) executor.add(operation);
    } else {
      Generator generator(arguments_.seed * 1000 + static_cast<uint64_t>(arguments_.life), planner,
                          features_, first_number);
      for (int64_t i = 0; i < arguments_.operations; ++i) executor.add(generator.next());
    }
    executor.finish();
    running = nullptr;
    return 0;
  }

  // Checks the life before, adds its schedule to those of earlier lives, and records what the files
  // contain now.
  Aftermath look_back(const History& now) const {
    Aftermath left;
    if (arguments_.life > 1) {
      History before(arguments_.files, arguments_.life - 1);
      if (before.read()) {
        left = examine(before, arguments_.files, ranks_, features_);
        append_schedule(before, left);
      } else {
        left.violation = "the ranks ended before they had begun";
      }
    }
    for (int file = 0; file < kFiles; ++file) {
      now.save_file(file, contents(file_path(arguments_.files, file, 0)));
    }
    return left;
  }

  void append_schedule(const History& life, Aftermath& left) const {
    std::ofstream log(life.schedule_path(), std::ios::app);
    for (const Operation& operation : left.operations) log << format_operation(operation) << '\n';
    if (left.operations.empty() || left.operations.back().name != "kill") {
      Operation end;  // the life ended by itself, or by what had been armed
      end.number = ++left.last_number;
      end.name = "kill";
      if (life.anybody_doomed()) end.members = (1 << ranks_) - 1;
      log << format_operation(end) << '\n';
    }
    for (int rank = 0; rank < ranks_ && life.anybody_doomed(); ++rank) {
      const Progress& progress = life.of(rank);
      log << "# rank " << rank << " had begun " << progress.begun << " and returned from "
          << progress.returned << '\n';
    }
  }

  // The operations of the log for this life: each life ends with a `kill`.
  std::vector<Operation> schedule_of_life() const {
    std::vector<Operation> schedule;
    int life = 1;
    for (const Operation& operation : read_log()) {
      if (life == arguments_.life) schedule.push_back(operation);
      if (operation.name == "kill") ++life;
    }
    return schedule;
  }

  // The selected operations of the log.
  std::vector<Operation> read_log() const {
    std::vector<Operation> operations;
    std::ifstream log(arguments_.replay);
    for (std::string line; std::getline(log, line);) {
      if (line.empty() || line[0] == '#') continue;
      const auto operation = parse_operation(line);
      if (!operation) {
        std::fprintf(stderr, "random_io: not an operation: %s\n", line.c_str());
        std::exit(2);
      }
      if (operation->number <= arguments_.upto && selected(arguments_.only, operation->number)) {
        operations.push_back(*operation);
      }
    }
    return operations;
  }

  void one_round(uint64_t seed, int64_t operations) {
    Planner planner(rank_, ranks_, features_);
    Generator generator(seed, planner, features_);
    Executor executor(planner, features_, settings(seed));
    running = &executor;
    for (int64_t i = 0; i < operations; ++i) executor.add(generator.next());
    executor.finish();
    running = nullptr;
  }

  int replay() {
    Planner planner(rank_, ranks_, features_);
    Executor executor(planner, features_, settings(0));
    running = &executor;
    for (const Operation& operation : read_log()) executor.add(operation);
    executor.finish();
    running = nullptr;
    if (rank_ == 0 && !arguments_.quiet) std::puts("random_io: passed the replay");
    return 0;
  }

  int print() {
    Planner planner(rank_, ranks_, features_);
    Generator generator(arguments_.seed, planner, features_);
    for (int64_t i = 0; i < std::min(arguments_.round, arguments_.operations); ++i) {
      const Operation operation = generator.next();
      if (separates(operation.name)) planner.meet(operation.number);
      planner.plan(operation);
      if (rank_ == 0) std::puts(format_operation(operation).c_str());
    }
    return 0;
  }

  Arguments arguments_;
  Features features_;
  int rank_ = 0, ranks_ = 1;
};

}  // namespace
}  // namespace random_io

int main(int argc, char** argv) {
  const random_io::Arguments arguments = random_io::parse_arguments(argc, argv);
  MPI_Init(&argc, &argv);
  for (const int signal_number : {SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGABRT}) {
    signal(signal_number, random_io::on_signal);
  }
  const int code = random_io::Session(arguments).run();
  alarm(0);
  MPI_Finalize();
  return code;
}
