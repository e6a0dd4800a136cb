// Records calls if the program is traced. Each entry point that moves data, or changes where data
// goes, has a TracedCall; it costs one load if nothing is recorded. The code that moves the bytes
// tells it how many and where.
#pragma once

#include <cstdint>

#include "mpiio/file/uncached.h"
#include "mpiio/library/call.h"
#include "mpiio/library/mpi_library.h"
#include "mpiio/library/routines.h"
#include "runtime/trace/trace_log.h"
#include "trace/routine.h"

namespace forebay::mpiio {

// What is recorded: MPI routines, steps that a call does to a cache and that change what later
// accesses find (trace::CacheStep), and a rank's part in a collective of the program. The numbers
// may change: each trace holds the names.
enum class Routine : uint8_t {
#define FOREBAY_ROUTINE(name) name,
#define FOREBAY_STEP(name) cache_##name,
  FOREBAY_RECORDED_ROUTINES FOREBAY_CACHE_STEPS(FOREBAY_STEP) FOREBAY_PARTS(FOREBAY_ROUTINE)
#undef FOREBAY_STEP
#undef FOREBAY_ROUTINE
};

struct TracedHandle;

class TracedCall {
 public:
  // `argument`: the size or offset that a routine which moves no data was given.
  TracedCall(Routine routine, MPI_File file, int64_t argument = 0) {
    if (runtime::tracing.load(std::memory_order_relaxed)) begin(routine, file, argument);
  }
  ~TracedCall() {
    if (active_) end();
  }
  TracedCall(const TracedCall&) = delete;
  TracedCall& operator=(const TracedCall&) = delete;

  // MPI_File_open has opened `file`.
  void opened(MPI_Comm comm, const char* name, int amode, MPI_File file) {
    if (active_) add_file(comm, name, amode, file);
  }
  // MPI_File_set_view has set the view.
  void viewed(MPI_File file, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
              const char* datarep) {
    if (active_) add_view(file, displacement, etype, filetype, datarep);
  }
  // MPI_File_close is about to close `file`.
  void closed(MPI_File file) {
    if (active_) remove_file(file);
  }

  // These return the code of library_call(), a data access that the MPI library carries out: within
  // the call, by a request, or by a split collective. `status`: used by library_call(), may be
  // MPI_STATUS_IGNORE. Until an access that outlasts its call is complete, all bytes that it asked
  // for count as moved.
  template <typename LibraryCall>
  int library_access(MPI_File file, const Call& call, MPI_Status*& status,
                     LibraryCall library_call) {
    count_uncached_call(file);
    if (!active_) return library_call();
    locate(file, call);
    return with_status(status, library_call,
                       [&](int code) { end_library_access(call, code, *status); });
  }
  template <typename LibraryCall>
  int library_request(MPI_File file, const Call& call, const MPI_Request* request,
                      LibraryCall library_call) {
    count_uncached_call(file);
    if (!active_) return library_call();
    locate(file, call);
    const int code = library_call();
    if (code == MPI_SUCCESS) began_request(call, *request);
    return code;
  }
  template <typename LibraryCall>
  int library_begin(MPI_File file, const Call& call, LibraryCall library_call) {
    count_uncached_call(file);
    if (!active_) return library_call();
    locate(file, call);
    const int code = library_call();
    if (code == MPI_SUCCESS) began_split(call);
    return code;
  }
  template <typename LibraryCall>
  int library_end(MPI_Status*& status, LibraryCall library_call) {
    if (!active_) return library_call();
    return with_status(status, library_call, [&](int code) { ended_split(code, *status); });
  }

  // Whether this thread's call is recorded.
  static bool recording() { return current_ != nullptr; }
  // The sequence number of this thread's call among the steps done to the node's caches.
  static void numbered(uint64_t sequence) {
    if (current_ != nullptr) current_->access_.sequence = sequence;
  }
  // The access of this thread's call: the bytes it asks for; its position in the view's data bytes,
  // and the bytes it has moved.
  static void asked(int64_t bytes) {
    if (current_ != nullptr) current_->access_.requested = bytes;
  }
  static void moved(int64_t position, int64_t bytes) {
    if (current_ == nullptr) return;
    current_->access_.position = position;
    current_->access_.transferred = bytes;
  }

 private:
  void begin(Routine routine, MPI_File file, int64_t argument);
  void end();
  void record_steps();
  void add_file(MPI_Comm comm, const char* name, int amode, MPI_File file);
  void add_view(MPI_File file, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
                const char* datarep);
  void remove_file(MPI_File file);
  void locate(MPI_File file, const Call& call);
  void end_library_access(const Call& call, int code, const MPI_Status& status);
  void began_request(const Call& call, MPI_Request request);
  void began_split(const Call& call);
  void ended_split(int code, const MPI_Status& status);

  template <typename LibraryCall, typename Ended>
  static int with_status(MPI_Status*& status, LibraryCall library_call, Ended ended) {
    MPI_Status own;
    if (status == MPI_STATUS_IGNORE) status = &own;
    const int code = library_call();
    ended(code);
    return code;
  }

  [[gnu::tls_model("initial-exec")]] static thread_local TracedCall* current_;

  bool active_ = false;
  TracedCall* outer_;  // the call during which an error handler made this one
  TracedHandle* handle_;
  union {  // a union, so that only recorded calls construct it
    trace::Access access_;
  };
};

// Whether the environment, as it is now, asks for a trace. May be called at any time.
bool to_be_traced();

// Begins to record, if the options ask for a trace. `in_world`: called by all ranks of
// MPI_COMM_WORLD; otherwise by this process alone, before its first open.
void begin_tracing(bool in_world);

// Writes everything to the trace and ends it. `in_world`: called by all ranks of MPI_COMM_WORLD;
// otherwise by this rank alone.
void finish_tracing(bool in_world);

}  // namespace forebay::mpiio
