// Carries a planned schedule out with the MPI library under test and holds every result against
// the model. The first difference ends the run: it is described, and the schedule so far is logged.
#pragma once

#include <mpi.h>

#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "aftermath.h"
#include "generator.h"
#include "history.h"
#include "planner.h"
#include "storage_faults.h"

namespace random_io {

struct ExecutorSettings {
  std::string directory;  // where the files are made
  std::string log;        // where the schedule goes on failure
  std::string heading;    // first line of that log: how to run it again
  int operation_timeout_s = 60;
  History* history = nullptr;        // where it has lives: the files are those of the one before
  std::vector<Operation> earlier{};  // operations of that life
};

// The calls of the preloaded storage_faults.c; null without it.
struct StorageFaults {
  StorageFaultsFail* fail;
  StorageFaultsKill* kill;
  StorageFaultsHeal* heal;
};
StorageFaults storage_faults();

// A rank's user buffer for one transfer, with guard bytes wherever the memory type has gaps.
class Buffer {
 public:
  Buffer(const Part& part, const Transfer& transfer);

  void* address() const { return base_; }
  // The data bytes in order; leaves the guard's pattern in their places.
  std::vector<std::byte> take_data();
  bool gaps_intact() const;  // after take_data()

 private:
  DatatypeRef type_;
  int64_t bytes_;
  std::vector<std::byte> storage_;
  std::byte* base_;
};

class Executor {
 public:
  Executor(Planner& planner, const Features& features, ExecutorSettings settings);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // The next operation of the schedule.
  void add(const Operation& operation);
  // Carries out what is left, closes every handle and compares every file.
  void finish();
  // Ends the run: what an earlier life left is not what it may be.
  [[noreturn]] void fail_aftermath(const std::string& what);

  // Logs the schedule and says which operation was under way: for signal handlers.
  void report_interruption(const char* why);

 private:
  struct InFlight {  // a nonblocking or split transfer
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype type = MPI_DATATYPE_NULL;  // the memory type, where it has to be kept
    std::unique_ptr<Buffer> buffer;
    Planned planned;
    Part part;
    bool active = false;
  };

  void run_stretch();
  void meet(int number);
  void perform(const Planned& planned);
  void perform_data(const Planned& planned, const Routine& routine);
  void perform_open(const Planned& planned);
  void perform_close(const Planned& planned);
  void perform_view(const Planned& planned);
  void perform_completion(const Planned& planned);
  void perform_query(const Planned& planned);
  void perform_size_change(const Planned& planned);
  void perform_external(const Planned& planned);
  void perform_fail(const Planned& planned);
  void perform_heal(const Planned& planned);
  void perform_arm(const Planned& planned);
  void perform_kill(const Planned& planned);
  void carry_out(const Planned& planned);
  void end_split(int slot);
  void complete(InFlight& flight);
  void settle(InFlight& flight, int code, MPI_Status& status, const char* call);
  void drain(int slot);
  void drain_all();
  bool sync_everywhere(const Planned& planned, int file);  // false: a sync failed on some rank
  void make_alias(int file, int alias) const;
  void compare_file(const Planned& planned, int file);
  void verify(const Planned& planned, const Part& part, Buffer& buffer, MPI_Status& status);
  int64_t verify_count(const Planned& planned, const Part& part, MPI_Status& status,
                       SizeRange size);
  void repair_pointer(const Planned& planned, int64_t transferred);

  MPI_Comm communicator(int64_t members);
  std::string path(int file, int alias) const {
    return file_path(settings_.directory, file, alias);
  }
  const Handle& handle(int slot) const { return planner_.handle(slot); }
  bool takes_part(const Planned& planned) const;

  // Whether the call succeeded, where it may do either; fails unless it did what it must.
  bool succeeded(const Planned& planned, int code, const char* call);
  // The same; true where it had to be refused and was.
  bool expect_code(const Planned& planned, int code, const char* call);
  // All of the communicator's ranks say whether the call failed on them; it must be all or none.
  bool failed_on_all(const Planned& planned, MPI_Comm communicator, bool failed);
  bool failed_on_any(bool failed) const;
  void agree_on_failures();
  void note_failure(const Planned& planned);
  [[noreturn]] void fail(const Planned& planned, const std::string& what);
  [[noreturn]] void fail_bytes(const Planned& planned, int file, const Mismatch& mismatch,
                               const std::byte* found, int64_t length);
  std::string find_writer(const std::byte* found, int64_t length) const;
  void write_log() const;

  Planner& planner_;
  const Features& features_;
  ExecutorSettings settings_;
  std::map<int64_t, MPI_Comm> communicators_;
  std::array<MPI_File, kSlots> files_;
  std::array<InFlight, kRequests> requests_;
  std::array<InFlight, kSlots> splits_;
  std::array<const Routine*, kSlots> split_routines_{};
  std::vector<Planned> stretch_;
  std::vector<Operation> history_;
  std::vector<uint32_t> failed_;       // this rank's, that others have not been told of
  std::set<int64_t> possible_errors_;  // errno: what storage has failed with so far
  int current_ = 0;
};

}  // namespace random_io
