#include "executor.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <string_view>
#include <utility>

#include "file_operations.h"
#include "injected_faults.h"
#include "queries.h"
#include "verification.h"

namespace random_io {
namespace {

struct Action {
  std::string_view name;
  void (*perform)(Rank& rank, const Planned& planned);
};

// Actions of all ranks, whether or not they have opened the file.
constexpr Action kActionsOfAll[] = {
    {"open", open_file},          {"close", close_file},
    {"delete", delete_file},      {"external", write_externally},
    {"set_size", change_size},    {"preallocate", change_size},
    {"seek_shared", seek_shared}, {"fail", make_storage_fail},
    {"heal", heal_storage},       {"arm", arm_death},
    {"kill", kill_ranks},
};

// Actions on a handle without transfers in progress.
constexpr Action kActionsOnHandle[] = {
    {"sync", sync_file},
    {"atomicity", set_atomicity},
    {"hints", set_hints},
};

const Action* find_action(std::span<const Action> actions, std::string_view name) {
  const auto found = std::find_if(actions.begin(), actions.end(),
                                  [&](const Action& action) { return action.name == name; });
  return found == actions.end() ? nullptr : &*found;
}

}  // namespace

Executor::Executor(Planner& planner, const Features& features, RunSettings settings)
    : rank_(planner, features, std::move(settings)), transfers_(rank_) {
  if (rank_.number() == 0) {
    for (int file = 0; file < kFiles; ++file) {
      const int first = rank_.settings.history == nullptr ? 0 : 1;
      for (int alias = first; alias < kAliases; ++alias) unlink(rank_.path(file, alias).c_str());
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

void Executor::add(const Operation& operation) {
  rank_.report.add(operation);
  if (rank_.settings.history != nullptr) rank_.settings.history->note(operation);
  if (!separates(operation.name)) {
    stretch_.push_back(rank_.planner.plan(operation));
    if (operation.name == "kill") run_stretch();
    return;
  }
  meet(operation.number);
  carry_out(rank_.planner.plan(operation));
}

// Carries out one operation, and records this rank's progress.
void Executor::carry_out(const Planned& planned) {
  Progress* progress =
      rank_.settings.history == nullptr ? nullptr : &rank_.settings.history->of(rank_.number());
  if (progress != nullptr) progress->begun = planned.operation.number;
  if (planned.run) {
    perform(planned);
    const std::string& name = planned.operation.name;
    if (separates(name) && name != "barrier") MPI_Barrier(MPI_COMM_WORLD);
    if (planned.compare && rank_.planner.storable(planned.operation.file)) {
      compare_file(rank_, planned, planned.operation.file);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  if (progress != nullptr) progress->returned = planned.operation.number;
}

void Executor::run_stretch() {
  if (rank_.settings.history != nullptr) rank_.settings.history->flush();
  for (const Planned& planned : stretch_) carry_out(planned);
  stretch_.clear();
}

void Executor::meet(int number) {
  run_stretch();
  transfers_.drain_all();
  alarm(static_cast<unsigned>(rank_.settings.operation_timeout_s));
  if (MPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS) std::abort();  // a rank was killed
  if (rank_.planner.storage_fails()) rank_.outcomes.agree_on_failures();
  rank_.planner.meet(number);
}

void Executor::finish() {
  int number = rank_.report.last_number();
  const auto make = [&](const char* name) {
    Operation operation;
    operation.number = ++number;
    operation.name = name;
    return operation;
  };
  if (rank_.planner.storage_fails()) add(make("heal"));
  for (int slot = 0; slot < kSlots; ++slot) {
    Operation close = make("close");
    close.slot = slot;
    add(close);
  }
  for (int file = 0; file < kFiles; ++file) {
    Operation check = make("check");
    check.file = file;
    add(check);
  }
  meet(number + 1);
  if (rank_.settings.history != nullptr) rank_.settings.history->of(rank_.number()).finished = true;
}

void Executor::perform(const Planned& planned) {
  const std::string& name = planned.operation.name;
  const int slot = planned.operation.slot;
  rank_.report.begin(planned.operation.number);
  if (name == "barrier") return;
  if (name == "check") return sync_everywhere(rank_, planned, planned.operation.file);
  if (name == "end") return transfers_.end_split(slot);
  if (const Action* action = find_action(kActionsOfAll, name))
    return action->perform(rank_, planned);
  if (const Action* action = find_action(kActionsOnHandle, name)) {
    if (rank_.file(slot) == MPI_FILE_NULL) return;
    transfers_.drain(slot);
    if (name == "sync" && !rank_.features.enabled("sync_while_pending")) transfers_.drain_all();
    return action->perform(rank_, planned);
  }
  if (rank_.part(planned) == nullptr) return;
  if (const Routine* routine = find_routine(name)) {
    transfers_.begin(planned, *routine);
  } else if (concerns_request(name)) {
    transfers_.complete(planned);
  } else if (name == "view") {
    transfers_.drain(slot);
    set_view(rank_, planned);
  } else {
    if (name == "seek") seek(rank_, planned);
    query(rank_, planned);
  }
}

}  // namespace random_io
