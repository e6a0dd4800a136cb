// The MPI calls, and what must hold after each.
#include "executor.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "hints.h"

namespace random_io {
namespace {

constexpr std::byte kGuard{0xA5};
constexpr int64_t kGuardBytes = 32;

int mpi_mode(int64_t mode) {
  static constexpr int kBits[] = {MPI_MODE_RDONLY,          MPI_MODE_WRONLY,     MPI_MODE_RDWR,
                                  MPI_MODE_CREATE,          MPI_MODE_EXCL,       MPI_MODE_APPEND,
                                  MPI_MODE_DELETE_ON_CLOSE, MPI_MODE_UNIQUE_OPEN};
  int bits = 0;
  for (int bit = 0; bit < 8; ++bit) {
    if ((mode >> bit & 1) != 0) bits |= kBits[bit];
  }
  return bits;
}

bool named(MPI_Datatype type) {
  int combiner = MPI_COMBINER_NAMED;
#if MPI_VERSION >= 4
  MPI_Count integers = 0, addresses = 0, counts = 0, types = 0;
  MPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &combiner);
#else
  int integers = 0, addresses = 0, types = 0;
  MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
#endif
  return combiner == MPI_COMBINER_NAMED;
}

std::string number_text(int64_t number) { return std::to_string(number); }

// How an error of storage is told to the program.
int class_of(int64_t error) {
  if (error == ENOSPC) return MPI_ERR_NO_SPACE;
  return error == EDQUOT ? MPI_ERR_QUOTA : MPI_ERR_IO;
}

}  // namespace

StorageFaults storage_faults() {
  return {reinterpret_cast<StorageFaultsFail*>(dlsym(RTLD_DEFAULT, "storage_faults_fail")),
          reinterpret_cast<StorageFaultsKill*>(dlsym(RTLD_DEFAULT, "storage_faults_kill")),
          reinterpret_cast<StorageFaultsHeal*>(dlsym(RTLD_DEFAULT, "storage_faults_heal"))};
}

Buffer::Buffer(const Part& part, const Transfer& transfer)
    : type_(part.memory), bytes_(transfer.bytes) {
  const int64_t low = type_->true_lower;
  const int64_t span =
      part.count == 0 ? 0 : (part.count - 1) * type_->extent() + type_->true_upper - low;
  storage_.assign(static_cast<std::size_t>(span + 3 * kGuardBytes + part.shift), kGuard);
  const int64_t alignment = ((low % 16) + 16) % 16;
  base_ = storage_.data() + kGuardBytes + alignment + part.shift - low;
  if (!transfer.write) return;
  walk(*type_, 0, 0, bytes_, [&](int64_t offset, int64_t length, int64_t position) {
    fill_values(transfer.id, position, length, base_ + offset);
  });
}

std::vector<std::byte> Buffer::take_data() {
  std::vector<std::byte> data(static_cast<std::size_t>(bytes_));
  walk(*type_, 0, 0, bytes_, [&](int64_t offset, int64_t length, int64_t position) {
    std::memcpy(data.data() + position, base_ + offset, static_cast<std::size_t>(length));
    std::memset(base_ + offset, static_cast<int>(kGuard), static_cast<std::size_t>(length));
  });
  return data;
}

bool Buffer::gaps_intact() const {
  return std::all_of(storage_.begin(), storage_.end(), [](std::byte b) { return b == kGuard; });
}

Executor::Executor(Planner& planner, const Features& features, ExecutorSettings settings)
    : planner_(planner), features_(features), settings_(std::move(settings)) {
  files_.fill(MPI_FILE_NULL);
  history_ = settings_.earlier;
  if (planner_.rank() == 0) {
    for (int file = 0; file < kFiles; ++file) {
      const int first = settings_.history == nullptr ? 0 : 1;
      for (int alias = first; alias < kAliases; ++alias) unlink(path(file, alias).c_str());
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

Executor::~Executor() {
  for (auto& [members, communicator] : communicators_) MPI_Comm_free(&communicator);
}

MPI_Comm Executor::communicator(int64_t members) {
  if (members == (1 << planner_.ranks()) - 1) return MPI_COMM_WORLD;
  if (std::popcount(static_cast<uint64_t>(members)) == 1) return MPI_COMM_SELF;
  const auto known = communicators_.find(members);
  if (known != communicators_.end()) return known->second;
  std::vector<int> ranks;
  for (int rank = 0; rank < planner_.ranks(); ++rank) {
    if ((members >> rank & 1) != 0) ranks.push_back(rank);
  }
  MPI_Group world, group;
  MPI_Comm made;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, static_cast<int>(ranks.size()), ranks.data(), &group);
  MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &made);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  return communicators_[members] = made;
}

// ---- the schedule ----

void Executor::add(const Operation& operation) {
  history_.push_back(operation);
  if (settings_.history != nullptr) settings_.history->note(operation);
  if (!separates(operation.name)) {
    stretch_.push_back(planner_.plan(operation));
    if (operation.name == "kill") run_stretch();
    return;
  }
  meet(operation.number);
  carry_out(planner_.plan(operation));
}

// One operation, with marks of how far this rank has come.
void Executor::carry_out(const Planned& planned) {
  Progress* progress =
      settings_.history == nullptr ? nullptr : &settings_.history->of(planner_.rank());
  if (progress != nullptr) progress->begun = planned.operation.number;
  if (planned.run) {
    perform(planned);
    const std::string& name = planned.operation.name;
    if (separates(name) && name != "barrier") MPI_Barrier(MPI_COMM_WORLD);
    if (planned.compare && planner_.storable(planned.operation.file)) {
      compare_file(planned, planned.operation.file);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  if (progress != nullptr) progress->returned = planned.operation.number;
}

void Executor::run_stretch() {
  if (settings_.history != nullptr) settings_.history->flush();
  for (const Planned& planned : stretch_) carry_out(planned);
  stretch_.clear();
}

void Executor::meet(int number) {
  run_stretch();
  drain_all();
  alarm(static_cast<unsigned>(settings_.operation_timeout_s));
  if (MPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS) std::abort();  // some rank was killed
  if (planner_.storage_fails()) agree_on_failures();
  planner_.meet(number);
}

void Executor::finish() {
  int number = history_.empty() ? 1 : history_.back().number + 1;
  if (planner_.storage_fails()) {
    Operation heal;
    heal.number = number++;
    heal.name = "heal";
    add(heal);
  }
  for (int slot = 0; slot < kSlots; ++slot) {
    Operation close;
    close.number = number++;
    close.name = "close";
    close.slot = slot;
    add(close);
  }
  for (int file = 0; file < kFiles; ++file) {
    Operation check;
    check.number = number++;
    check.name = "check";
    check.file = file;
    add(check);
  }
  meet(number);
  if (settings_.history != nullptr) settings_.history->of(planner_.rank()).finished = true;
}

bool Executor::takes_part(const Planned& planned) const {
  return planned.operation.part(planner_.rank()) != nullptr;
}

void Executor::perform(const Planned& planned) {
  const std::string& name = planned.operation.name;
  const int slot = planned.operation.slot;
  MPI_File file = files_[static_cast<std::size_t>(slot)];
  current_ = planned.operation.number;
  if (const Routine* routine = find_routine(name)) {
    if (takes_part(planned)) perform_data(planned, *routine);
  } else if (name == "open") {
    perform_open(planned);
  } else if (name == "close") {
    perform_close(planned);
  } else if (name == "view") {
    if (takes_part(planned)) perform_view(planned);
  } else if (name == "end") {
    end_split(slot);
  } else if (name == "seek") {
    if (!takes_part(planned)) return;
    static constexpr int kWhence[] = {MPI_SEEK_SET, MPI_SEEK_CUR, MPI_SEEK_END};
    expect_code(planned,
                MPI_File_seek(file, planned.operation.part(planner_.rank())->offset,
                              kWhence[planned.operation.mode]),
                "MPI_File_seek");
    perform_query(planned);
  } else if (name == "wait" || name == "waitall" || name == "test" || name == "testany" ||
             name == "status" || name == "cancel") {
    if (takes_part(planned)) perform_completion(planned);
  } else if (name == "set_size" || name == "preallocate" || name == "seek_shared") {
    perform_size_change(planned);
  } else if (name == "external" || name == "delete") {
    perform_external(planned);
  } else if (name == "fail") {
    perform_fail(planned);
  } else if (name == "heal") {
    perform_heal(planned);
  } else if (name == "arm") {
    perform_arm(planned);
  } else if (name == "kill") {
    perform_kill(planned);
  } else if (name == "check") {
    sync_everywhere(planned, planned.operation.file);
  } else if (name == "sync" || name == "atomicity" || name == "hints") {
    if (file == MPI_FILE_NULL) return;
    drain(slot);
    if (name == "sync") {
      if (!features_.enabled("sync_while_pending")) drain_all();
      const int code = MPI_File_sync(file);
      if (handle(slot).writable()) {
        const bool failed = !expect_code(planned, code, "MPI_File_sync");
        if (planned.may_fail) {
          failed_on_all(planned, communicator(handle(slot).members), failed);
        }
      }
    } else if (name == "atomicity") {
      expect_code(planned, MPI_File_set_atomicity(file, planned.operation.mode != 0),
                  "MPI_File_set_atomicity");
    } else {
      MPI_Info info = make_hints(planned.operation.hints, features_.enabled("data_sieving_writes"));
      if (info != MPI_INFO_NULL) {
        expect_code(planned, MPI_File_set_info(file, info), "MPI_File_set_info");
      }
      free_hints(info);
    }
  } else if (name != "barrier") {
    if (takes_part(planned)) perform_query(planned);
  }
}

// ---- data ----

void Executor::perform_data(const Planned& planned, const Routine& routine) {
  const Operation& operation = planned.operation;
  const auto slot = static_cast<std::size_t>(operation.slot);
  const Part& part = *operation.part(planner_.rank());
  auto buffer = std::make_unique<Buffer>(part, *planned.mine);
  const bool large = operation.large != 0;
  const MPI_Datatype type = make_handle(*part.memory, large);
  MPI_Status status;
  std::memset(&status, 0, sizeof status);
  InFlight* flight = nullptr;
  if (routine.completion == Completion::nonblocking) {
    flight = &requests_[static_cast<std::size_t>(part.request)];
  } else if (routine.completion == Completion::split) {
    flight = &splits_[slot];
    split_routines_[slot] = &routine;
  }
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = routine.call(
      {files_[slot], part.offset, buffer->address(), part.count, type, &status, &request, large});
  const bool failed = !expect_code(planned, code, routine.name);
  const bool keep_type = flight != nullptr && !features_.enabled("early_type_free");
  if (!keep_type) free_handle(*part.memory, type);
  if (failed && routine.position == Position::individual_pointer) {
    MPI_File_seek(files_[slot],
                  planned.mine->etypes + planned.mine->bytes / planned.view.etype->size,
                  MPI_SEEK_SET);
  }
  if (planned.refused || failed) return;
  if (flight == nullptr) {
    verify(planned, part, *buffer, status);
    return;
  }
  *flight = {request, keep_type ? type : MPI_DATATYPE_NULL, std::move(buffer), planned, part, true};
}

void Executor::drain_all() {
  for (int slot = 0; slot < kSlots; ++slot) drain(slot);
}

// The transfer is over: checks it and lets its buffer go.
void Executor::settle(InFlight& flight, int code, MPI_Status& status, const char* call) {
  flight.active = false;
  if (flight.type != MPI_DATATYPE_NULL) free_handle(*flight.part.memory, flight.type);
  if (expect_code(flight.planned, code, call)) {
    verify(flight.planned, flight.part, *flight.buffer, status);
  }
  flight.buffer.reset();
}

void Executor::end_split(int slot) {
  const auto index = static_cast<std::size_t>(slot);
  InFlight& flight = splits_[index];
  if (!flight.active) return;
  MPI_Status status;
  std::memset(&status, 0, sizeof status);
  const int code = split_routines_[index]->end(
      {files_[index], 0, flight.buffer->address(), 0, MPI_BYTE, &status, nullptr, false});
  settle(flight, code, status, "the split call's end");
}

void Executor::complete(InFlight& flight) {
  if (!flight.active) return;
  MPI_Status status;
  std::memset(&status, 0, sizeof status);
  const int code = MPI_Wait(&flight.request, &status);
  settle(flight, code, status, "MPI_Wait");
}

void Executor::drain(int slot) {
  for (InFlight& flight : requests_) {
    if (flight.active && flight.planned.operation.slot == slot) complete(flight);
  }
  end_split(slot);
}

void Executor::perform_completion(const Planned& planned) {
  const Part& part = *planned.operation.part(planner_.rank());
  const std::string& name = planned.operation.name;
  InFlight& flight = requests_[static_cast<std::size_t>(part.request)];
  if (name == "wait") {
    complete(flight);
  } else if (name == "waitall") {
    std::vector<MPI_Request> list;
    std::vector<InFlight*> flights;
    for (int i = 0; i < kRequests; ++i) {  // from the one named on, so that orders cross
      InFlight& each = requests_[static_cast<std::size_t>((part.request + i) % kRequests)];
      if (!each.active) continue;
      list.push_back(each.request);
      flights.push_back(&each);
    }
    std::vector<MPI_Status> statuses(list.size());
    const int code = MPI_Waitall(static_cast<int>(list.size()), list.data(), statuses.data());
    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    const bool by_status = error_class == MPI_ERR_IN_STATUS;
    for (std::size_t i = 0; i < list.size(); ++i) {
      settle(*flights[i], by_status ? statuses[i].MPI_ERROR : code, statuses[i], "MPI_Waitall");
    }
  } else if (name == "testany") {
    std::array<MPI_Request, kRequests> list;
    for (std::size_t i = 0; i < list.size(); ++i) {
      list[i] = requests_[i].active ? requests_[i].request : MPI_REQUEST_NULL;
    }
    int index = MPI_UNDEFINED, done = 0;
    MPI_Status status;
    std::memset(&status, 0, sizeof status);
    const int code = MPI_Testany(kRequests, list.data(), &index, &done, &status);
    if (done == 0 || index == MPI_UNDEFINED) return;
    settle(requests_[static_cast<std::size_t>(index)], code, status, "MPI_Testany");
  } else if (flight.active && name == "test") {
    int done = 0;
    MPI_Status status;
    std::memset(&status, 0, sizeof status);
    const int code = MPI_Test(&flight.request, &done, &status);
    if (done == 0) return;
    settle(flight, code, status, "MPI_Test");
  } else if (flight.active && name == "status") {
    int done = 0;
    MPI_Status status;
    expect_code(planned, MPI_Request_get_status(flight.request, &done, &status),
                "MPI_Request_get_status");
  } else if (flight.active && name == "cancel") {
    expect_code(planned, MPI_Cancel(&flight.request), "MPI_Cancel");
  }
}

// ---- handles ----

void Executor::make_alias(int file, int alias) const {
  const std::string name = path(file, alias);
  if (alias == 0 || access(name.c_str(), F_OK) == 0) return;
  const std::string original = path(file, 0);
  const std::string target = original.substr(original.rfind('/') + 1);
  const int failed =
      alias == 1 ? link(original.c_str(), name.c_str()) : symlink(target.c_str(), name.c_str());
  if (failed != 0) std::perror(name.c_str());
}

void Executor::perform_open(const Planned& planned) {
  const Operation& operation = planned.operation;
  if (planner_.rank() == 0) make_alias(operation.file, operation.alias);
  if (operation.alias != 0) MPI_Barrier(MPI_COMM_WORLD);
  if ((operation.members >> planner_.rank() & 1) == 0) return;
  MPI_Info info = make_hints(operation.hints, features_.enabled("data_sieving_writes"));
  MPI_File& file = files_[static_cast<std::size_t>(operation.slot)];
  const int code =
      MPI_File_open(communicator(operation.members), path(operation.file, operation.alias).c_str(),
                    mpi_mode(operation.mode), info, &file);
  free_hints(info);
  expect_code(planned, code, "MPI_File_open");
  if (planned.refused) {
    file = MPI_FILE_NULL;
    return;
  }
  MPI_Offset position = -1;
  expect_code(planned, MPI_File_get_position(file, &position), "MPI_File_get_position");
  if (position != planned.expected) {
    fail(planned, "the individual pointer starts at " + number_text(position) + ", expected " +
                      number_text(planned.expected));
  }
}

void Executor::perform_close(const Planned& planned) {
  MPI_File& file = files_[static_cast<std::size_t>(planned.operation.slot)];
  const int index = planned.operation.file;
  bool failed = false;
  if (file != MPI_FILE_NULL) {
    failed = !expect_code(planned, MPI_File_close(&file), "MPI_File_close");
    if (planned.may_fail) failed_on_all(planned, communicator(planned.operation.members), failed);
  }
  file = MPI_FILE_NULL;
  MPI_Barrier(MPI_COMM_WORLD);
  if (planned.may_fail && failed_on_any(failed)) {
    planner_.keep_unstored(index);
    if (settings_.history != nullptr) settings_.history->note_kept(index);
  }
  if (planner_.rank() == 0 && !planner_.file(index).exists) {
    if (access(path(index, 0).c_str(), F_OK) == 0) {
      fail(planned, "DELETE_ON_CLOSE left the file behind");
    }
    for (int alias = 1; alias < kAliases; ++alias) unlink(path(index, alias).c_str());
  }
}

void Executor::perform_view(const Planned& planned) {
  const Operation& operation = planned.operation;
  const Part& part = *operation.part(planner_.rank());
  drain(operation.slot);
  const bool large = operation.large != 0;
  const MPI_Datatype etype = make_handle(*operation.etype, large);
  const MPI_Datatype file_type = make_handle(*part.file_type, large);
  expect_code(planned,
              MPI_File_set_view(files_[static_cast<std::size_t>(operation.slot)], part.displacement,
                                etype, file_type, "native", MPI_INFO_NULL),
              "MPI_File_set_view");
  free_handle(*operation.etype, etype);
  free_handle(*part.file_type, file_type);
}

void Executor::perform_size_change(const Planned& planned) {
  const Operation& operation = planned.operation;
  MPI_File file = files_[static_cast<std::size_t>(operation.slot)];
  if (operation.name != "seek_shared" && !features_.enabled("posix_visibility")) {
    sync_everywhere(planned, operation.file);
  }
  if (file == MPI_FILE_NULL) return;
  if (operation.name == "set_size") {
    const int code = MPI_File_set_size(file, operation.value);
    if (!expect_code(planned, code, "MPI_File_set_size"))
      fail(planned, "set_size needs no storage");
  } else if (operation.name == "preallocate") {
    expect_code(planned, MPI_File_preallocate(file, operation.value), "MPI_File_preallocate");
  } else {
    static constexpr int kWhence[] = {MPI_SEEK_SET, MPI_SEEK_CUR, MPI_SEEK_END};
    expect_code(planned, MPI_File_seek_shared(file, operation.value, kWhence[operation.mode]),
                "MPI_File_seek_shared");
    MPI_Offset position = -1;
    expect_code(planned, MPI_File_get_position_shared(file, &position),
                "MPI_File_get_position_shared");
    if (position != planned.expected) {
      fail(planned, "the shared pointer is at " + number_text(position) + ", expected " +
                        number_text(planned.expected));
    }
  }
}

void Executor::perform_external(const Planned& planned) {
  const Operation& operation = planned.operation;
  if (operation.name == "delete") {
    if (planner_.rank() != 0) return;
    expect_code(planned, MPI_File_delete(path(operation.file, 0).c_str(), MPI_INFO_NULL),
                "MPI_File_delete");
    for (int alias = 1; alias < kAliases; ++alias) unlink(path(operation.file, alias).c_str());
    return;
  }
  sync_everywhere(planned, operation.file);
  if (planner_.rank() == 0) {
    std::vector<std::byte> data(static_cast<std::size_t>(operation.length));
    fill_values(planned.mine->id, 0, operation.length, data.data());
    const int descriptor = ::open(path(operation.file, 0).c_str(), O_WRONLY);
    const ssize_t written = pwrite(descriptor, data.data(), data.size(), operation.value);
    if (written != static_cast<ssize_t>(data.size())) fail(planned, "pwrite failed");
    ::close(descriptor);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  sync_everywhere(planned, operation.file);
}

// Sync-barrier-sync by every handle that has the file open.
bool Executor::sync_everywhere(const Planned& planned, int file) {
  bool failed = false;
  for (int round = 0; round < 2; ++round) {
    failed = false;
    for (int slot = 0; slot < kSlots; ++slot) {
      MPI_File handle_file = files_[static_cast<std::size_t>(slot)];
      if (handle_file == MPI_FILE_NULL || handle(slot).file != file) continue;
      const int code = MPI_File_sync(handle_file);
      if (handle(slot).writable()) failed |= !succeeded(planned, code, "MPI_File_sync");
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  return !failed;
}

// ---- faults ----

void Executor::perform_fail(const Planned& planned) {
  const Operation& operation = planned.operation;
  possible_errors_.insert(operation.error);
  const StorageFaults faults = storage_faults();
  if ((operation.members >> planner_.rank() & 1) == 0 || faults.fail == nullptr) return;
  faults.fail(static_cast<int>(operation.mode), operation.value, operation.length,
              static_cast<int>(operation.error));
}

// Storage works again: every byte whose write had returned can be brought there, and how far failed
// writes have made the files grow can be seen.
void Executor::perform_heal(const Planned& planned) {
  const StorageFaults faults = storage_faults();
  if (faults.heal != nullptr) faults.heal();
  MPI_Barrier(MPI_COMM_WORLD);
  for (int file = 0; file < kFiles; ++file) {
    FileModel& model = planner_.file(file);
    if (!model.exists || !planner_.storable(file)) continue;
    sync_everywhere(planned, file);
    int64_t bytes = 0;
    if (planner_.rank() == 0) {
      struct stat information = {};
      if (stat(path(file, 0).c_str(), &information) != 0) fail(planned, "the file is gone");
      bytes = information.st_size;
      compare_file(planned, file);
    }
    MPI_Bcast(&bytes, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    if (settings_.history != nullptr) {
      settings_.history->note_size(planned.operation.number, file, bytes);
    }
    model.resize(bytes);
  }
}

void Executor::perform_arm(const Planned& planned) {
  const Operation& operation = planned.operation;
  if (settings_.history == nullptr) return;
  settings_.history->of(planner_.rank()).doomed = true;
  if ((operation.members >> planner_.rank() & 1) == 0) return;
  if (operation.mode == kAtStorageCall) {
    const StorageFaults faults = storage_faults();
    if (faults.kill != nullptr) faults.kill(operation.value);
    return;
  }
  sigevent event = {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGKILL;
  timer_t timer;
  itimerspec when = {};
  when.it_value.tv_nsec = 1 + operation.value * 1000;
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
      timer_settime(timer, 0, &when, nullptr) != 0) {
    fail(planned, "no timer");
  }
}

void Executor::perform_kill(const Planned& planned) {
  const Operation& operation = planned.operation;
  if (settings_.history == nullptr || operation.members == 0) return;  // a life that just ended
  settings_.history->of(planner_.rank()).doomed = true;
  if ((operation.members >> planner_.rank() & 1) != 0) {
    for (int rank = 0; rank < planner_.ranks() && operation.mode == kFirstKillsAll; ++rank) {
      const pid_t victim = settings_.history->of(rank).process;
      const bool chosen = (operation.members >> rank & 1) != 0;
      if (chosen && rank != planner_.rank() && victim > 0) ::kill(victim, SIGKILL);
    }
    raise(SIGKILL);
  }
  for (;;) pause();  // the launcher ends the others, or the alarm does
}

bool Executor::failed_on_any(bool failed) const {
  int mine = failed, any = 0;
  MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return any != 0;
}

bool Executor::failed_on_all(const Planned& planned, MPI_Comm communicator, bool failed) {
  const int mine[2] = {failed, !failed};
  int any[2] = {};
  MPI_Allreduce(mine, any, 2, MPI_INT, MPI_MAX, communicator);
  if (any[0] != 0 && any[1] != 0) fail(planned, "failed on some ranks and not on others");
  return any[0] != 0;
}

void Executor::note_failure(const Planned& planned) {
  const uint32_t id = operation_id(planned.operation.number, planner_.rank());
  if (planned.mine) planned.mine->uncertain = true;
  failed_.push_back(id);
  if (settings_.history != nullptr) settings_.history->note_failure(id);
}

// Every rank's model learns which writes have failed on others.
void Executor::agree_on_failures() {
  const int mine = static_cast<int>(failed_.size());
  std::vector<int> counts(static_cast<std::size_t>(planner_.ranks())), begins(counts.size());
  MPI_Allgather(&mine, 1, MPI_INT, counts.data(), 1, MPI_INT, MPI_COMM_WORLD);
  for (std::size_t rank = 1; rank < counts.size(); ++rank) {
    begins[rank] = begins[rank - 1] + counts[rank - 1];
  }
  std::vector<uint32_t> all(static_cast<std::size_t>(begins.back() + counts.back()));
  MPI_Allgatherv(failed_.data(), mine, MPI_UINT32_T, all.data(), counts.data(), begins.data(),
                 MPI_UINT32_T, MPI_COMM_WORLD);
  planner_.mark_failed({all.begin(), all.end()});
  failed_.clear();
}

void Executor::perform_query(const Planned& planned) {
  const Operation& operation = planned.operation;
  const std::string& name = operation.name;
  MPI_File file = files_[static_cast<std::size_t>(operation.slot)];
  const Part& part = *operation.part(planner_.rank());
  MPI_Offset found = planned.expected, expected = planned.expected;
  if (name == "tell" || name == "seek") {
    expect_code(planned, MPI_File_get_position(file, &found), "MPI_File_get_position");
    if (name == "tell" && features_.enabled("byte_offset")) {
      MPI_Offset at = -1;
      expect_code(planned, MPI_File_get_byte_offset(file, part.offset, &at),
                  "MPI_File_get_byte_offset");
      const MPI_Offset wanted = planned.view.offset_of(part.offset * planned.view.etype->size);
      if (at != wanted) {
        fail(planned, "MPI_File_get_byte_offset gave " + number_text(at) + ", expected " +
                          number_text(wanted));
      }
    }
  } else if (name == "tell_shared") {
    expect_code(planned, MPI_File_get_position_shared(file, &found),
                "MPI_File_get_position_shared");
  } else if (name == "get_size") {
    if (!expect_code(planned, MPI_File_get_size(file, &found), "MPI_File_get_size")) return;
    const SizeRange size = planner_.file(handle(operation.slot).file)
                               .size_seen(planned.actor, operation.number, operation.number);
    expected = std::clamp<MPI_Offset>(found, size.low, size.high);
  } else if (name == "get_mode") {
    int mode = 0;
    expect_code(planned, MPI_File_get_amode(file, &mode), "MPI_File_get_amode");
    found = mode;
    expected = mpi_mode(planned.expected);
  } else if (name == "get_atomicity") {
    int flag = 0;
    expect_code(planned, MPI_File_get_atomicity(file, &flag), "MPI_File_get_atomicity");
    found = flag != 0;
  } else if (name == "get_hints") {
    MPI_Info info = MPI_INFO_NULL;
    expect_code(planned, MPI_File_get_info(file, &info), "MPI_File_get_info");
    free_hints(info);
  } else if (name == "get_view") {
    char representation[MPI_MAX_DATAREP_STRING] = "";
    MPI_Datatype types[2];
    expect_code(planned, MPI_File_get_view(file, &found, &types[0], &types[1], representation),
                "MPI_File_get_view");
    expected = planned.view.displacement;
    if (std::strcmp(representation, "native") != 0)
      fail(planned, "the data representation differs");
    const Datatype* wanted[2] = {planned.view.etype.get(), planned.view.file_type.get()};
    for (int i = 0; i < 2; ++i) {
      MPI_Aint lower = 0, extent = 0;
      int size = 0;
      MPI_Type_get_extent(types[i], &lower, &extent);
      MPI_Type_size(types[i], &size);
      if (size != wanted[i]->size || extent != wanted[i]->extent()) {
        fail(planned, "MPI_File_get_view gave another type");
      }
      if (!named(types[i])) MPI_Type_free(&types[i]);
    }
  }
  if (found != expected) {
    fail(planned, "found " + number_text(found) + ", expected " + number_text(expected));
  }
}

// ---- verification ----

int64_t Executor::verify_count(const Planned& planned, const Part& part, MPI_Status& status,
                               SizeRange size) {
  const Transfer& transfer = *planned.mine;
  int transferred = -1;
  MPI_Get_count(&status, MPI_BYTE, &transferred);
  int64_t low = transfer.bytes, high = transfer.bytes;
  if (!transfer.write) {
    low = high = 0;
    for (const Piece& piece : transfer.pieces) {
      low += std::clamp<int64_t>(size.low - piece.offset, 0, piece.length);
      high += std::clamp<int64_t>(size.high - piece.offset, 0, piece.length);
    }
  }
  if (!features_.enabled("exact_counts")) {
    if (transferred == transfer.bytes || low < transfer.bytes)
      return std::min<int64_t>(low, transferred);
  }
  if (transferred < low || transferred > high) {
    fail(planned, "the status says " + number_text(transferred) + " bytes, expected " +
                      number_text(low) + (low == high ? "" : " to " + number_text(high)));
  }
  int count = -1, elements = -1;
  const MPI_Datatype type = make_handle(*part.memory, false);
  MPI_Get_count(&status, type, &count);
  if (features_.enabled("get_elements")) MPI_Get_elements(&status, type, &elements);
  free_handle(*part.memory, type);
  const bool whole = transferred % part.memory->size == 0;
  const int64_t wanted = whole ? transferred / part.memory->size : int64_t{MPI_UNDEFINED};
  if (count != wanted) {
    fail(planned, "MPI_Get_count gave " + number_text(count) + ", expected " + number_text(wanted));
  }
  if (features_.enabled("get_elements") && transferred % part.memory->base_size == 0 &&
      elements != transferred / part.memory->base_size) {
    fail(planned, "MPI_Get_elements gave " + number_text(elements) + ", expected " +
                      number_text(transferred / part.memory->base_size));
  }
  return transferred;
}

void Executor::verify(const Planned& planned, const Part& part, Buffer& buffer,
                      MPI_Status& status) {
  const Transfer& transfer = *planned.mine;
  const int file = handle(planned.operation.slot).file;
  const FileModel& model = planner_.file(file);
  const SizeRange size = model.size_seen(transfer.actor, transfer.start, transfer.end);
  const int64_t transferred = verify_count(planned, part, status, size);
  if (transfer.write) return;
  const std::vector<std::byte> data = buffer.take_data();
  if (const auto mismatch = model.check(transfer, data.data(), transferred)) {
    const auto at = static_cast<std::size_t>(mismatch->position);
    fail_bytes(planned, file, *mismatch, data.data() + at, transferred - mismatch->position);
  }
  if (!buffer.gaps_intact()) fail(planned, "the read changed memory outside the memory type");
  const Routine& routine = *find_routine(planned.operation.name);
  if (routine.position == Position::individual_pointer &&
      routine.completion == Completion::blocking && transfer.high > size.low) {
    repair_pointer(planned, transferred);
  }
}

// After a read that met the end of the file the pointer may stand behind what was asked for or
// behind what was there; the schedule goes on from the former.
void Executor::repair_pointer(const Planned& planned, int64_t transferred) {
  const Transfer& transfer = *planned.mine;
  const int64_t unit = planned.view.etype->size;
  MPI_File file = files_[static_cast<std::size_t>(planned.operation.slot)];
  MPI_Offset position = -1;
  expect_code(planned, MPI_File_get_position(file, &position), "MPI_File_get_position");
  const int64_t low = transfer.etypes + transferred / unit;
  const int64_t high = transfer.etypes + transfer.bytes / unit;
  const bool legal = position == high || position == low;
  if (!legal && features_.enabled("exact_counts")) {
    fail(planned, "after a read that met the end of the file the pointer is at " +
                      number_text(position) + ", expected " + number_text(low) + " or " +
                      number_text(high));
  }
  expect_code(planned, MPI_File_seek(file, high, MPI_SEEK_SET), "MPI_File_seek");
}

void Executor::compare_file(const Planned& planned, int file) {
  const FileModel& model = planner_.file(file);
  if (planner_.rank() != 0 || !model.exists) return;
  const int descriptor = ::open(path(file, 0).c_str(), O_RDONLY);
  struct stat information = {};
  if (descriptor < 0 || fstat(descriptor, &information) != 0) fail(planned, "the file is gone");
  if (information.st_size < model.least_size() || information.st_size > model.settled_size()) {
    fail(planned, "the file has " + number_text(information.st_size) + " bytes, expected " +
                      number_text(model.least_size()) + " to " + number_text(model.settled_size()));
  }
  std::vector<std::byte> data(static_cast<std::size_t>(information.st_size));
  const ssize_t got = pread(descriptor, data.data(), data.size(), 0);
  ::close(descriptor);
  if (got != information.st_size) fail(planned, "the file cannot be read");
  if (const auto mismatch = model.check_settled(0, got, data.data())) {
    fail_bytes(planned, file, *mismatch, data.data() + mismatch->position,
               got - mismatch->position);
  }
}

// ---- failure ----

bool Executor::expect_code(const Planned& planned, int code, const char* call) {
  if ((code != MPI_SUCCESS) == planned.refused) return true;
  if (planned.refused) fail(planned, std::string(call) + " succeeded where it must be refused");
  return succeeded(planned, code, call);
}

bool Executor::succeeded(const Planned& planned, int code, const char* call) {
  if (code == MPI_SUCCESS) return true;
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  if (planned.may_fail &&
      std::any_of(possible_errors_.begin(), possible_errors_.end(),
                  [&](int64_t error) { return class_of(error) == error_class; })) {
    note_failure(planned);
    return false;
  }
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  fail(planned, std::string(call) + " failed: " + text);
}

std::string Executor::find_writer(const std::byte* found, int64_t length) const {
  const int64_t probe = std::min<int64_t>(length, 12);
  if (std::all_of(found, found + probe, [](std::byte b) { return b == std::byte{0}; })) {
    return "zeros";
  }
  if (std::all_of(found, found + probe, [](std::byte b) { return b == kGuard; })) {
    return "the buffer's own filling, so nothing was read there";
  }
  if (probe < 3) return "too few bytes to tell the writer";
  std::string writers;
  for (const Operation& operation : history_) {
    const Routine* routine = find_routine(operation.name);
    const auto search = [&](uint32_t id, int64_t bytes) {
      std::vector<std::byte> stream(static_cast<std::size_t>(bytes));
      fill_values(id, 0, bytes, stream.data());
      const auto hit = std::search(stream.begin(), stream.end(), found, found + probe);
      if (hit == stream.end()) return;
      writers += (writers.empty() ? "" : "; ") + describe_writer(id) + ", its byte " +
                 number_text(hit - stream.begin());
    };
    const uint32_t first = operation_id(operation.number, 0);
    if (operation.name == "external") search(first, operation.length);
    if (routine == nullptr || !routine->write) continue;
    for (const Part& part : operation.parts) {
      if (part.memory)
        search(first + static_cast<uint32_t>(part.rank), part.count * part.memory->size);
    }
  }
  return writers.empty() ? "bytes nobody wrote" : writers;
}

void Executor::fail_bytes(const Planned& planned, int file, const Mismatch& mismatch,
                          const std::byte* found, int64_t length) {
  std::string text = path(file, 0) + " offset " + number_text(mismatch.offset) +
                     " (the transfer's byte " + number_text(mismatch.position) + "): found " +
                     number_text(mismatch.found) + ", " + find_writer(found, length) +
                     "\n  expected";
  for (const Value& value : mismatch.allowed) {
    text += " " + number_text(value.value) + " from " + describe_writer(value.id) + ",";
  }
  text.pop_back();
  fail(planned, text);
}

void Executor::write_log() const {
  std::FILE* log = std::fopen(settings_.log.c_str(), "w");
  if (log == nullptr) return;
  std::fprintf(log, "# %s\n", settings_.heading.c_str());
  if (settings_.history != nullptr) {
    std::ifstream lives(settings_.history->schedule_path());
    for (std::string line; std::getline(lives, line);) std::fprintf(log, "%s\n", line.c_str());
  }
  for (std::size_t i = settings_.earlier.size(); i < history_.size(); ++i) {
    std::fprintf(log, "%s\n", format_operation(history_[i]).c_str());
  }
  std::fclose(log);
}

void Executor::fail(const Planned& planned, const std::string& what) {
  write_log();
  std::fprintf(stderr, "random_io: FAILED on rank %d in operation %s\n  %s\n  %s\n  log: %s\n",
               planner_.rank(), format_operation(planned.operation).c_str(), what.c_str(),
               settings_.heading.c_str(), settings_.log.c_str());
  std::fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

void Executor::fail_aftermath(const std::string& what) {
  write_log();
  std::fprintf(stderr, "random_io: FAILED: what an earlier life left\n  %s\n  %s\n  log: %s\n",
               what.c_str(), settings_.heading.c_str(), settings_.log.c_str());
  std::fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

void Executor::report_interruption(const char* why) {
  // Ranks that wait for one that was killed are to end, too.
  if (settings_.history != nullptr && settings_.history->anybody_doomed()) _exit(3);
  write_log();
  std::fprintf(stderr, "random_io: FAILED on rank %d: %s in operation %d\n  %s\n  log: %s\n",
               planner_.rank(), why, current_, settings_.heading.c_str(), settings_.log.c_str());
  std::fflush(stderr);
}

}  // namespace random_io
