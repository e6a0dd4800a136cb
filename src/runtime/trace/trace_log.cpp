#include "runtime/trace/trace_log.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "extent/status.h"
#include "runtime/node/clock.h"
#include "runtime/trace/tick_clock.h"
#include "storage/held_signals.h"
#include "trace/layout_code.h"

namespace forebay::runtime {

std::atomic<bool> tracing{false};

namespace {

constexpr uint32_t chunk_accesses = 2048;
// The helper thread joins up to `most_held` chunks in one block, which makes the file smaller. It
// writes fewer when the first has waited for `longest_held_ns`.
constexpr std::size_t most_held = 8;
constexpr int64_t longest_held_ns = 500'000'000;
// The chunks of a thread: 40 MiB, touched only as far as the helper lags behind.
constexpr uint32_t most_chunks = 256;
constexpr int64_t most_ticks_unwritten = int64_t{1} << 31;  // about a second
constexpr std::size_t most_views = 65'536;  // remembered, so that equal views share a number
constexpr int64_t first_calibration_ns = 100'000;

// A completion travels among a thread's accesses as an access of this routine, which does not
// exist.
constexpr uint8_t completion_routine = 0xff;

// A chunk of zeros is empty.
struct Chunk {
  uint32_t count;
  int64_t begin_ticks;
  std::array<trace::Access, chunk_accesses> accesses;
};

// A queue of chunks from one thread to another, with room for all chunks.
class ChunkQueue {
 public:
  void push(Chunk* chunk) {
    const uint32_t pushed = pushed_.load(std::memory_order_relaxed);
    chunks_[pushed % most_chunks] = chunk;
    pushed_.store(pushed + 1, std::memory_order_release);
  }
  // nullptr: the queue is empty.
  Chunk* pop() {
    const uint32_t popped = popped_.load(std::memory_order_relaxed);
    if (popped == pushed_.load(std::memory_order_acquire)) return nullptr;
    Chunk* const chunk = chunks_[popped % most_chunks];
    popped_.store(popped + 1, std::memory_order_release);
    return chunk;
  }

 private:
  std::atomic<uint32_t> pushed_{0};
  std::atomic<uint32_t> popped_{0};
  std::array<Chunk*, most_chunks> chunks_;
};

// One thread's accesses on their way to the helper. When a thread ends, a later thread takes over
// its log.
struct ThreadLog {
  uint32_t number = 0;
  std::atomic<bool> taken{true};
  std::atomic<uint64_t> lost{0};
  std::atomic<bool> flushed{false};  // the helper shall write what is in `filled`
  Chunk* filling = nullptr;          // the chunk that the thread fills
  ChunkQueue filled;                 // from the thread to the helper
  ChunkQueue emptied;                // from the helper to the thread
  uint32_t touched = 0;              // chunks that were ever used
  Chunk* chunks;                     // memory costs nothing until it is touched
  // Used by the helper only: chunks that wait to be joined. Their times are in nanoseconds, and
  // their completions are written.
  std::array<Chunk*, most_held> held{};
  std::size_t held_count = 0;
  int64_t held_since_ns = 0;

  static ThreadLog* create(uint32_t number) {
    void* const memory = mmap(nullptr, most_chunks * sizeof(Chunk), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    auto* const log = new (std::nothrow) ThreadLog;
    if (log == nullptr) {
      munmap(memory, most_chunks * sizeof(Chunk));
      return nullptr;
    }
    log->number = number;
    log->chunks = static_cast<Chunk*>(memory);
    return log;
  }
  // The chunk to fill; nullptr: none is free, as the helper lags behind.
  Chunk* current() {
    if (filling == nullptr) filling = emptied.pop();
    if (filling == nullptr && touched < most_chunks) filling = &chunks[touched++];
    return filling;
  }
};

// Reads ticks and CLOCK_MONOTONIC at one moment: of five attempts, the one with the least ticks
// around the reading of the clock.
Moment read_moment() {
  Moment best{};
  int64_t shortest = INT64_MAX;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const int64_t before = trace_ticks();
    const int64_t ns = now_ns();
    const int64_t took = trace_ticks() - before;
    if (took >= shortest) continue;
    shortest = took;
    best = {before + took / 2, ns};
  }
  return best;
}

TickClock begin_clock() {
  const Moment first = read_moment();
  while (now_ns() - first.ns < first_calibration_ns) {
  }
  return {first, read_moment()};
}

class TraceLog {
 public:
  TraceLog() { sem_init(&work_, 0, 0); }
  bool start(const TraceSettings& settings);
  uint32_t file(trace::FileInfo info);
  uint32_t view(const Tiling& tiling);
  ThreadLog* log_of_thread();
  void hand_over(ThreadLog& log);
  void flush(ThreadLog& log);
  void end(const trace::ProcessInfo& more);

 private:
  void run();
  void wait_for_work();
  void drain();
  void drain(ThreadLog& log);
  void take_completions(Chunk& chunk);
  void write_held(ThreadLog& log);
  bool folds() const {
    return settings_.times == trace::Times::histogram ||
           (settings_.limit_bytes > 0 && written_bytes_ > settings_.limit_bytes);
  }
  void write(const trace::Bytes& bytes);

  TraceSettings settings_;
  std::string path_;
  int descriptor_ = -1;
  int64_t zero_ns_ = 0;
  std::mutex mutex_;  // guards the members below, but not the threads' accesses
  std::unique_ptr<trace::Container> container_;
  std::vector<ThreadLog*> logs_;  // never destroyed, as their threads may outlive the process's end
  std::map<trace::Bytes, uint32_t> views_;
  uint32_t files_ = 0;
  uint32_t view_count_ = 0;
  int64_t written_bytes_ = 0;
  int write_error_ = 0;
  uint64_t accesses_ = 0;  // handed over
  uint64_t unwritten_ = 0;
  TickClock clock_{{0, 0}, {1, 1}};
  std::thread helper_;
  std::vector<trace::Access> together_;  // the accesses of the next block
  bool holding_ = false;                 // some log holds chunks
  sem_t work_;
  std::atomic<bool> stop_{false};
};

// Never destroyed: threads may outlive it.
TraceLog* trace_log = nullptr;

struct ThreadLogHolder {
  ThreadLog* log = nullptr;
  ~ThreadLogHolder() {
    if (log == nullptr) return;
    if (tracing.load(std::memory_order_relaxed)) flush_trace();
    log->taken.store(false, std::memory_order_release);
  }
};
thread_local ThreadLogHolder holder;
// The same log, without the check that a destructor adds to every use.
[[gnu::tls_model("initial-exec")]] thread_local ThreadLog* thread_log = nullptr;

// Whether `error` means that no file can be made in the directory.
bool of_directory(int error) {
  return error == EACCES || error == EROFS || error == ENOTDIR || error == ENOENT;
}

bool TraceLog::start(const TraceSettings& settings) {
  settings_ = settings;
  if (mkdir(settings.directory.c_str(), 0700) != 0 && errno != EEXIST) {
    if (settings.speaks) settings.notices->not_traced(settings.directory, errno);
    return false;
  }
  const auto rank = settings.process.find("rank");
  path_ = settings.directory + "/" + (rank == settings.process.end() ? "" : rank->second + "-") +
          std::to_string(getpid()) + ".trace";
  descriptor_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor_ < 0) {
    if (!of_directory(errno))
      settings.notices->not_traced(path_, errno);
    else if (settings.speaks)
      settings.notices->not_traced(settings.directory, errno);
    return false;
  }
  // Clears what an earlier recording left. The threads' logs stay, since the threads point to them.
  for (ThreadLog* log : logs_) log->lost.store(0);
  container_ = std::make_unique<trace::Container>();
  views_.clear();
  files_ = view_count_ = 0;
  written_bytes_ = write_error_ = 0;
  accesses_ = unwritten_ = 0;
  stop_.store(false);
  clock_ = begin_clock();
  zero_ns_ = now_ns();
  trace::ProcessInfo process = settings.process;
  process["zero_monotonic_ns"] = std::to_string(zero_ns_);
  process["zero_realtime_ns"] = std::to_string(now_ns(CLOCK_REALTIME));
  trace::Bytes bytes;
  trace::Container::begin(bytes);
  container_->process(process, bytes);
  write(bytes);
  const HeldSignals held;  // signals are for the program's threads only
  helper_ = std::thread([this] { run(); });
  return true;
}

uint32_t TraceLog::file(trace::FileInfo info) {
  const std::lock_guard guard(mutex_);
  info.number = files_++;
  trace::Bytes bytes;
  container_->file(info, bytes);
  write(bytes);
  return info.number;
}

uint32_t TraceLog::view(const Tiling& tiling) {
  if (tiling.contiguous() && tiling.origin == 0 && tiling.layout->first() == 0) return 0;
  const std::lock_guard guard(mutex_);
  trace::Bytes key;
  trace::ByteWriter writer(key);
  writer.signed_varint(tiling.origin);
  writer.signed_varint(tiling.extent_bytes);
  LayoutCode::write(*tiling.layout, writer);
  if (const auto known = views_.find(key); known != views_.end()) return known->second;
  if (views_.size() >= most_views) views_.clear();
  const uint32_t number = ++view_count_;
  trace::Bytes bytes;
  container_->view({number, tiling}, bytes);
  write(bytes);
  views_.emplace(std::move(key), number);
  return number;
}

ThreadLog* TraceLog::log_of_thread() {
  const std::lock_guard guard(mutex_);
  for (ThreadLog* log : logs_) {
    bool taken = false;
    if (log->taken.compare_exchange_strong(taken, true)) return log;
  }
  ThreadLog* const log = ThreadLog::create(static_cast<uint32_t>(logs_.size()));
  if (log == nullptr) return nullptr;
  const Status kept = within_memory([&] { logs_.push_back(log); });
  if (kept.ok()) return log;
  munmap(log->chunks, most_chunks * sizeof(Chunk));
  delete log;
  return nullptr;
}

void TraceLog::hand_over(ThreadLog& log) {
  log.filled.push(std::exchange(log.filling, nullptr));
  sem_post(&work_);
}

void TraceLog::flush(ThreadLog& log) {
  if (log.filling != nullptr) log.filled.push(std::exchange(log.filling, nullptr));
  log.flushed.store(true, std::memory_order_release);  // after the chunk that it is about
  sem_post(&work_);
}

void TraceLog::run() {
  pthread_setname_np(pthread_self(), "forebay-trace");
  while (!stop_.load(std::memory_order_acquire)) {
    wait_for_work();
    drain();
  }
}

// While chunks are held, waits no longer than they may be held.
void TraceLog::wait_for_work() {
  timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += longest_held_ns;
  until.tv_sec += until.tv_nsec / 1'000'000'000;
  until.tv_nsec %= 1'000'000'000;
  while ((holding_ ? sem_timedwait(&work_, &until) : sem_wait(&work_)) != 0 && errno == EINTR) {
  }
  while (sem_trywait(&work_) == 0) {
  }
}

void TraceLog::drain() {
  const std::lock_guard guard(mutex_);
  clock_.calibrate(read_moment());
  holding_ = false;
  for (ThreadLog* log : logs_) {
    drain(*log);
    holding_ |= log->held_count > 0;
  }
}

// Takes the completions out of the chunk and writes them. With folded times, only completions of
// requests that moved less than they asked for are written.
void TraceLog::take_completions(Chunk& chunk) {
  const auto begin = chunk.accesses.begin(), end = begin + chunk.count;
  const auto first = std::stable_partition(
      begin, end, [](const trace::Access& access) { return access.routine != completion_routine; });
  chunk.count = static_cast<uint32_t>(first - begin);
  std::vector<trace::Completion> completions;
  for (auto entry = first; entry != end; ++entry) {
    const int64_t shortfall = entry->requested;
    if (!folds() || shortfall != 0)
      completions.push_back({entry->request, clock_.ns(entry->end_ns) - zero_ns_, shortfall});
  }
  if (completions.empty()) return;
  trace::Bytes bytes;
  container_->completions(completions, bytes);
  write(bytes);
}

void TraceLog::drain(ThreadLog& log) {
  const bool flushed = log.flushed.exchange(false, std::memory_order_acquire);
  bool whole = true;
  while (Chunk* const chunk = log.filled.pop()) {
    whole = chunk->count == chunk_accesses;
    take_completions(*chunk);
    for (trace::Access& access : std::span(chunk->accesses.data(), chunk->count)) {
      access.start_ns = clock_.ns(access.start_ns) - zero_ns_;
      access.end_ns = clock_.ns(access.end_ns) - zero_ns_;
      if (access.completed_ns != trace::unknown_time)
        access.completed_ns = clock_.ns(access.completed_ns) - zero_ns_;
    }
    if (log.held_count == 0) log.held_since_ns = now_ns();
    log.held[log.held_count++] = chunk;
    if (log.held_count == most_held) write_held(log);
  }
  if (log.held_count == 0) return;
  const bool old = now_ns() - log.held_since_ns >= longest_held_ns;
  if (flushed || !whole || old || stop_.load(std::memory_order_relaxed)) write_held(log);
}

void TraceLog::write_held(ThreadLog& log) {
  together_.clear();
  for (Chunk* const chunk : std::span(log.held.data(), log.held_count)) {
    const std::span accesses(chunk->accesses.data(), chunk->count);
    together_.insert(together_.end(), accesses.begin(), accesses.end());
    chunk->count = 0;
    log.emptied.push(chunk);
  }
  log.held_count = 0;
  trace::Bytes bytes;
  const bool encoded = container_->accesses(
      together_, log.number, folds() ? trace::Times::histogram : trace::Times::exact, bytes);
  if (encoded) write(bytes);
  if (!encoded || write_error_ != 0) unwritten_ += together_.size();
  accesses_ += together_.size();
}

// After a failure nothing more is written: no block may follow half a block.
void TraceLog::write(const trace::Bytes& bytes) {
  std::size_t done = 0;
  while (write_error_ == 0 && done < bytes.size()) {
    const ssize_t count = ::write(descriptor_, bytes.data() + done, bytes.size() - done);
    if (count >= 0) {
      done += static_cast<std::size_t>(count);
    } else if (errno != EINTR) {
      write_error_ = errno;
    }
  }
  written_bytes_ += static_cast<int64_t>(done);
}

void TraceLog::end(const trace::ProcessInfo& more) {
  for (ThreadLog* log : logs_) {
    if (log->filling != nullptr) hand_over(*log);
  }
  stop_.store(true, std::memory_order_release);
  sem_post(&work_);
  helper_.join();
  drain();
  uint64_t lost = unwritten_;
  for (const ThreadLog* log : logs_) lost += log->lost.load();
  trace::Bytes bytes;
  if (!more.empty()) container_->process(more, bytes);
  container_->end({accesses_ + lost - unwritten_, lost}, bytes);
  write(bytes);
  close(descriptor_);
  if (write_error_ != 0) settings_.notices->trace_lacks(path_, lost, write_error_);
}

}  // namespace

bool start_trace(const TraceSettings& settings) {
  if (trace_log == nullptr) {
    trace_log = new TraceLog;
    // A fork's child has neither the helper nor a file of its own.
    pthread_atfork(nullptr, nullptr, [] { tracing.store(false, std::memory_order_relaxed); });
  }
  if (!trace_log->start(settings)) return false;
  tracing.store(true, std::memory_order_release);
  return true;
}

uint32_t trace_file(trace::FileInfo info) { return trace_log->file(std::move(info)); }

uint32_t trace_view(const Tiling& tiling) { return trace_log->view(tiling); }

void trace_access(const trace::Access& access) {
  ThreadLog* log = thread_log;
  if (log == nullptr) {
    log = trace_log->log_of_thread();
    if (log == nullptr) return;
    thread_log = holder.log = log;
  }
  Chunk* const chunk = log->current();
  if (chunk == nullptr) {
    if (access.routine != completion_routine) log->lost.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (chunk->count == 0) chunk->begin_ticks = access.start_ns;
  chunk->accesses[chunk->count++] = access;
  if (chunk->count == chunk_accesses || access.end_ns - chunk->begin_ticks > most_ticks_unwritten)
    trace_log->hand_over(*log);
}

void trace_completion(const trace::Completion& completion) {
  if (!tracing.load(std::memory_order_relaxed)) return;
  trace::Access entry;
  entry.routine = completion_routine;
  entry.request = completion.request;
  entry.requested = completion.shortfall;
  entry.start_ns = entry.end_ns = completion.completed_ns;
  trace_access(entry);
}

void flush_trace() {
  ThreadLog* log = thread_log;
  if (log != nullptr) trace_log->flush(*log);
}

void end_trace(const trace::ProcessInfo& more) {
  if (!tracing.exchange(false)) return;
  trace_log->end(more);
}

}  // namespace forebay::runtime
