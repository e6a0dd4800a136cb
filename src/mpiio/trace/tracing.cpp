#include "mpiio/trace/tracing.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>

#include "mpiio/file/file_map.h"
#include "mpiio/file/handle.h"
#include "mpiio/job/job.h"
#include "mpiio/job/notices.h"
#include "mpiio/trace/followed_requests.h"
#include "mpiio/trace/ordering.h"
#include "mpiio/trace/rank_clocks.h"
#include "mpiio/types/view.h"
#include "runtime/node/clock.h"
#include "storage/small_files.h"

namespace forebay::mpiio {

// What the trace knows of a handle of the program that was opened while accesses were recorded,
// whether it is cached or not.
struct TracedHandle {
  uint32_t number = 0;
  std::atomic<uint32_t> view{0};
  std::atomic<int64_t> etype_bytes{1};
  // The split collective under way, if the library carries it out: its number, and the bytes it
  // asked for.
  std::atomic<uint32_t> split{0};
  std::atomic<int64_t> split_requested{0};
};

thread_local TracedCall* TracedCall::current_ = nullptr;

namespace {

constinit FileMap<TracedHandle> traced_handles;

const char* const routine_names =
#define FOREBAY_ROUTINE(name) "MPI_" #name "\n"
#define FOREBAY_STEP(name) "forebay_cache_" #name "\n"
#define FOREBAY_PART(name) "forebay_" #name "\n"
    FOREBAY_RECORDED_ROUTINES FOREBAY_CACHE_STEPS(FOREBAY_STEP) FOREBAY_PARTS(FOREBAY_PART);
#undef FOREBAY_PART
#undef FOREBAY_STEP
#undef FOREBAY_ROUTINE

// The arguments that the process was started with, divided by blanks.
std::string command_line() {
  std::string text = text_of_file("/proc/self/cmdline");
  while (!text.empty() && text.back() == '\0') text.pop_back();
  for (char& c : text) {
    if (c == '\0') c = ' ';
  }
  return text;
}

// Also nodes of one machine have names of their own (option node).
std::string host_name(const Options& options) {
  if (!options.node.empty()) return options.node;
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return host.data();
}

// The process's values of per-file options, as lines name=value: they hold for files that are
// opened without hints.
std::string file_options_text(const Options& options) {
  std::string lines;
  for (const OptionSpec& spec : option_table()) {
    if (!spec.per_file()) continue;
    lines += std::string(spec.name) + "=" + option_text(options, spec) + "\n";
  }
  return lines;
}

trace::ProcessInfo describe_process(bool in_world, int64_t clock_offset_ns) {
  trace::ProcessInfo process{{"host", host_name(process_options())},
                             {"pid", std::to_string(getpid())},
                             {"command", command_line()},
                             {"routines", routine_names},
                             {"options", file_options_text(process_options())},
                             {"local_ranks", std::to_string(process_options().local_processes)}};
  int initialized = 0, rank = 0, ranks = 1;
  mpi().Initialized(&initialized);
  if (!initialized) return process;  // the program has only sessions
  mpi().Comm_rank(mpi().comm_world, &rank);
  mpi().Comm_size(mpi().comm_world, &ranks);
  process["rank"] = std::to_string(rank);
  process["ranks"] = std::to_string(ranks);
  if (in_world) process["clock_offset_ns"] = std::to_string(clock_offset_ns);
  return process;
}

void end_at_exit() {
  static const pid_t program = getpid();
  static const int registered = std::atexit([] {
    if (getpid() == program) finish_tracing(false);
  });
  (void)registered;
}

// The position of an access, in data bytes. The library counts in etypes.
int64_t library_position(MPI_File file, const Call& call, int64_t etype_bytes) {
  MPI_Offset position = 0;
  switch (call.positioning) {
    case Positioning::given:
      return call.offset < 0 ? trace::unknown_position : call.offset * etype_bytes;
    case Positioning::individual:
      return mpi().File_get_position(file, &position) == MPI_SUCCESS ? position * etype_bytes
                                                                     : trace::unknown_position;
    default:
      return trace::unknown_position;  // other ranks move the pointer meanwhile
  }
}

int64_t bytes_asked_for(const Call& call) {
  MPI_Count size = 0;
  if (call.count <= 0 || mpi().Type_size_x(call.type, &size) != MPI_SUCCESS || size < 0) return 0;
  return call.count * size;
}

}  // namespace

void TracedCall::begin(Routine routine, MPI_File file, int64_t argument) {
  handle_ = traced_handles.find(file);
  if (handle_ == nullptr && routine != Routine::File_open) return;  // opened before the recording
  new (&access_) trace::Access;
  access_.routine = static_cast<uint8_t>(routine);
  access_.position = argument;
  outer_ = current_;
  current_ = this;
  active_ = true;
  runtime::NumberedSteps::begin();
  access_.start_ns = runtime::trace_ticks();
}

void TracedCall::end() {
  access_.end_ns = runtime::trace_ticks();
  current_ = outer_;
  if (handle_ == nullptr) return;  // an open that failed
  if (access_.completed_ns != trace::unknown_time) access_.completed_ns = access_.end_ns;
  access_.file = handle_->number;
  access_.view = handle_->view.load(std::memory_order_relaxed);
  runtime::trace_access(access_);
  record_steps();
  const auto routine = static_cast<Routine>(access_.routine);
  if (routine == Routine::File_close || routine == Routine::File_sync) runtime::flush_trace();
  if (routine == Routine::File_close) delete handle_;
}

// Records the steps that the call did to a cache. They follow the record of the call.
void TracedCall::record_steps() {
  for (const runtime::NumberedStep& step : runtime::NumberedSteps::end()) {
    trace::Access record;
    record.start_ns = record.end_ns = record.completed_ns = access_.end_ns;  // part of the call's
    record.file = access_.file;
    record.routine = static_cast<uint8_t>(static_cast<std::size_t>(Routine::cache_join) +
                                          static_cast<std::size_t>(step.step));
    if (step.view.layout != nullptr) record.view = runtime::trace_view(step.view);
    record.position = step.argument;
    record.requested = step.bytes;
    record.transferred = static_cast<int64_t>(step.cache);
    record.sequence = step.sequence;
    runtime::trace_access(record);
  }
}

void TracedCall::add_file(MPI_Comm comm, const char* name, int amode, MPI_File file) {
  trace::FileInfo info;
  info.amode = amode;
  info.cached = find_handle(file) != nullptr;
  int ranks = 1;
  mpi().Comm_size(comm, &ranks);
  info.ranks = static_cast<uint32_t>(ranks);
  const Status recorded = within_memory([&] {
    info.path = name;
    auto traced = std::make_unique<TracedHandle>();
    traced->number = runtime::trace_file(info);
    TracedHandle* const known = traced.get();
    if (traced_handles.insert(file, traced)) handle_ = known;
  });
  (void)recorded;  // without memory, or beyond thousands of open files: not traced
}

void TracedCall::add_view(MPI_File file, MPI_Offset displacement, MPI_Datatype etype,
                          MPI_Datatype filetype, const char* datarep) {
  const Handle* const handle = find_handle(file);
  uint32_t number = trace::unknown_view;
  int64_t etype_bytes = 1;
  const Status recorded = within_memory([&] {
    View decoded;
    const bool walked = handle != nullptr ? (handle->pass_through & foreign_view) == 0
                                          : View::decode(mpi().comm_self, displacement, etype,
                                                         filetype, datarep, decoded);
    if (handle == nullptr && !walked)
      View::foreign(displacement, etype, filetype, datarep, decoded);
    const View& view = handle != nullptr ? handle->view : decoded;
    etype_bytes = view.etype_bytes();
    if (walked) number = runtime::trace_view(view.tiling());
  });
  (void)recorded;  // without memory the view is not known
  handle_->view.store(number, std::memory_order_relaxed);
  handle_->etype_bytes.store(etype_bytes, std::memory_order_relaxed);
}

// Before the close, since the library may give the same MPI_File to another file then. end()
// deletes the entry.
void TracedCall::remove_file(MPI_File file) { (void)traced_handles.remove(file).release(); }

void TracedCall::locate(MPI_File file, const Call& call) {
  access_.position =
      library_position(file, call, handle_->etype_bytes.load(std::memory_order_relaxed));
}

void TracedCall::end_library_access(const Call& call, int code, const MPI_Status& status) {
  if (code != MPI_SUCCESS || call.type == mpi().datatype_null) return;
  access_.requested = bytes_asked_for(call);
  MPI_Count bytes = 0;
  if (mpi().Get_elements_x(&status, mpi().byte, &bytes) == MPI_SUCCESS && bytes > 0)
    access_.transferred = bytes;
}

void TracedCall::began_request(const Call& call, MPI_Request request) {
  access_.requested = access_.transferred = bytes_asked_for(call);
  if (request == mpi().request_null) return;  // nothing is left to complete
  access_.completed_ns = trace::unknown_time;
  access_.request = follow_request(request, access_.requested);
}

void TracedCall::began_split(const Call& call) {
  access_.requested = access_.transferred = bytes_asked_for(call);
  access_.completed_ns = trace::unknown_time;
  access_.request = next_request_number();
  handle_->split_requested.store(access_.requested, std::memory_order_relaxed);
  handle_->split.store(access_.request, std::memory_order_relaxed);
}

void TracedCall::ended_split(int code, const MPI_Status& status) {
  const uint32_t number = handle_->split.exchange(0, std::memory_order_relaxed);
  if (number == 0) return;
  record_completion(number, handle_->split_requested.load(std::memory_order_relaxed),
                    code == MPI_SUCCESS ? &status : nullptr);
}

bool to_be_traced() {
  bool asked = false;
  const Status ignored = within_memory(
      [&] { asked = !options_from_environment([](const Mistake&) {}).trace.empty(); });
  (void)ignored;
  return asked;
}

void begin_tracing(bool in_world) {
  static std::atomic<bool> begun{false};
  const Options& options = process_options();
  if (options.trace.empty() || other_rights() || begun.exchange(true)) return;
  const int64_t clock_offset_ns = in_world ? clock_offset() : 0;
  if (in_world) begin_ordering();
  const Status had_memory = within_memory([&] {
    runtime::TraceSettings settings;
    settings.directory = options.trace;
    settings.times = options.trace_times;
    settings.limit_bytes = options.trace_limit_bytes;
    settings.process = describe_process(in_world, clock_offset_ns);
    settings.speaks = first_on_node();
    settings.notices = &notices();
    if (runtime::start_trace(settings)) end_at_exit();
  });
  if (!had_memory.ok()) std::fputs("forebay: nothing is traced: there is no memory\n", stderr);
}

void finish_tracing(bool in_world) {
  if (process_options().trace.empty() || other_rights()) return;
  trace::ProcessInfo more;
  if (in_world) {
    const int64_t offset = clock_offset();
    const Status ignored = within_memory([&] {
      more["clock_offset_at_end_ns"] = std::to_string(offset);
      more["compared_monotonic_ns"] = std::to_string(runtime::now_ns());
    });
    (void)ignored;
  }
  runtime::end_trace(more);
}

}  // namespace forebay::mpiio
