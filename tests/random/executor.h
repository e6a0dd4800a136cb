// Carries a planned schedule out with the MPI library under test and holds every result against
// the model. The first difference ends the run: it is described, and the schedule so far is logged.
#pragma once

#include <mpi.h>

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "generator.h"
#include "planner.h"

namespace random_io {

struct ExecutorSettings {
  std::string directory;  // where the files are made
  std::string log;        // where the schedule goes on failure
  std::string heading;    // first line of that log: how to run it again
  int operation_timeout_s = 60;
};

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
  void end_split(int slot);
  void complete(InFlight& flight);
  void settle(InFlight& flight, MPI_Status& status);
  void drain(int slot);
  void drain_all();
  void sync_everywhere(const Planned& planned, int file);
  void make_alias(int file, int alias) const;
  void compare_file(const Planned& planned, int file);
  void verify(const Planned& planned, const Part& part, Buffer& buffer, MPI_Status& status);
  int64_t verify_count(const Planned& planned, const Part& part, MPI_Status& status,
                       SizeRange size);
  void repair_pointer(const Planned& planned, int64_t transferred);

  MPI_Comm communicator(int64_t members);
  std::string path(int file, int alias) const;
  const Handle& handle(int slot) const { return planner_.handle(slot); }
  bool takes_part(const Planned& planned) const;

  void expect_code(const Planned& planned, int code, const char* call);
  [[noreturn]] void fail(const Planned& planned, const std::string& what);
  [[noreturn]] void fail_bytes(const Planned& planned, int file, const Mismatch& mismatch,
                               const std::byte* found, int64_t length);
  std::string describe_writer(uint32_t id) const;
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
  int current_ = 0;
};

}  // namespace random_io
