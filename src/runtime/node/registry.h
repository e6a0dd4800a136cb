// What the processes of a job share on a node besides page arenas: which files are open (by
// identity, so that links and several communicators meet in one entry), which arena each uses, the
// seats of open handles, and words for shared file pointers. Lives in one segment.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <span>

#include "engine/file_state.h"
#include "engine/next_reads.h"
#include "engine/shard.h"
#include "runtime/node/lock.h"
#include "runtime/node/process.h"
#include "storage/system_calls.h"

namespace forebay::runtime {

inline constexpr uint32_t most_files = files_at_once;  // distinct files open at a time
inline constexpr uint32_t most_seats = 8192;           // handles open at a time
inline constexpr uint32_t most_words = 4096;           // shared file pointers
inline constexpr uint32_t most_arenas = 64;            // distinct cache configurations
inline constexpr uint32_t most_processes = 4096;
inline constexpr uint32_t first_processes = 128;  // there from the start
inline constexpr uint32_t most_notices = 64;      // lines that the user is told once on a node
inline constexpr uint32_t no_entry = 0xffffffffu;
inline constexpr int64_t no_agent = -1;
enum class AgentWanted : uint32_t { no, yes, in_fabric };

// Where a handle is in a collective access (runtime/cache/seat_pace.h).
struct Progress {
  static constexpr int64_t not_begun = std::numeric_limits<int64_t>::min();
  static constexpr int64_t ended = std::numeric_limits<int64_t>::max();
  std::atomic<int64_t> offset{ended};     // it has no bytes before that any more
  std::atomic<int64_t> begin{0}, end{0};  // its bytes lie between them
};

// One open handle. `busy` names the frame that the handle uses without a lock (see engine/frame.h).
struct alignas(64) Seat {
  std::atomic<uint64_t> busy{0};         // arena << 32 | frame + 1; 0: none
  std::atomic<int64_t> end{0};           // one past the highest byte written through this handle
  std::atomic<uint32_t> file{no_entry};  // index in files; no_entry: the seat is free
  uint32_t process = 0;                  // index in processes
  std::atomic<uint32_t> direct{0};       // 1: within a write past the cache
  // In a line of its own, since other handles look at it.
  alignas(64) std::atomic<int64_t> group{0};  // of handles that were opened together; 0: none
  Progress progress[2];                       // of the access under way and of the one before
  alignas(64) NextReads next_reads;           // likewise
};

// Identifies a file. The time of birth is part of it: file systems may give a removed file's inode
// to another file at once.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  int64_t birth_ns = 0;  // when it was created, 0 if the file system does not tell
  auto operator<=>(const FileIdentity&) const = default;
};

// The job's last change of a file. Recovery compares the file with it to see whether others have
// written to the file since.
struct LastChange {
  // The file's time of modification after the job's last commit.
  std::atomic<int64_t> modified_ns{0};
  // The node's time when the job's last write of any kind began or, if it has ended, when it ended.
  std::atomic<int64_t> written_ns{0};
  std::atomic<uint32_t> being_written{0};  // writes of the job under way
  // A write has ended beside others after which `modified_ns` must be asked for.
  std::atomic<bool> must_ask{false};
};

// One process that has joined; free while id.pid == 0.
struct ProcessEntry {
  ProcessId id;
  bool caretaker = false;  // only looks after the other processes
};

// The last change of a file that processes of the job have open in caches of their own. It is in
// the job's registry, so it outlives the cache of the process that made the change.
struct JobChange {
  uint32_t caches = 0;  // caches that have the file open; 0: the place is free
  FileIdentity identity;
  LastChange changed;
};

// What a node knows of the bytes that the caches of a file's owners hold (agent/job_file.h). It
// only rises.
enum class Held : uint32_t {
  unknown,    // perhaps something
  nothing,    // the owners have agreed so; this node is told before that changes
  something,  // perhaps: another node has told this one
  telling,    // a rank of this node tells all owners
  told,       // all owners have been told by this node
};

// The file's bytes that this node's ranks have written and other nodes own (agent/guests.h).
enum class GuestsAre : uint32_t {
  kept,     // in this node's cache
  leaving,  // a rank gives them to their owners
  gone,     // and the ranks write to the owners
};

// One open file; free unless in_use().
struct alignas(64) FileEntry : FileState {
  FileIdentity identity;
  // 1: the last handle left bytes that storage refused. They wait until the file is opened again,
  // or for recovery.
  std::atomic<uint32_t> kept{0};
  std::atomic<uint32_t> told{0};  // the user knows that storage refused the kept bytes
  // 1: no handle has it open, and its clean pages wait for its next open.
  std::atomic<uint32_t> resting{0};
  // With `stamp_tells`: as long as the file has this stamp, the clean pages have its bytes.
  FileStamp stamp;
  std::atomic<bool> stamp_tells{false};
  bool may_rest = false;  // false: a handle does not want it
  // Identifies the time when all ranks of the job, on several nodes, had the file open together, if
  // nobody has opened it on this node since; otherwise 0.
  std::atomic<int64_t> session{0};
  // Identifies the nodes that own its bytes, and their parts; 0: this node's cache has it alone.
  std::atomic<uint64_t> owners{0};
  // Handles that use these owners. Without one, others may take their place. A handle of a process
  // that died counts until the last one has left.
  int64_t sharing = 0;
  // The owners that it had when its pages came to rest; 0: it had none, or they are of no use.
  std::atomic<uint64_t> rested_owners{0};
  // 1: since the file came into this cache, a handle that can write has used it, of this node's
  // ranks, or of a rank of another node through the agent; or a handle knows of one on another
  // node.
  std::atomic<uint32_t> writable{0};
  std::atomic<Held> held{Held::unknown};
  // Storage's size of the file as far as it is noted among the cache's steps (cache/turn.h); -1:
  // nothing is.
  std::atomic<int64_t> noted_size{-1};
  std::atomic<GuestsAre> guests{GuestsAre::kept};
  uint32_t arena = no_entry;
  SharedMutex access;  // held by accesses in atomic mode
  SharedMutex giving;  // held while guests leave
  LastChange changed;
  uint32_t job_change = no_entry;  // scope process: index in the job's changes
  char path[1024] = {};            // by which others open the file to commit; "" if they cannot

  bool in_use() const { return handles.load() > 0 || kept.load() != 0; }
  // Storage has got bytes up to `end`.
  void note_stored(int64_t end) {
    int64_t known = noted_size.load();
    while (known >= 0 && known < end && !noted_size.compare_exchange_weak(known, end)) {
    }
  }
  // Remembers the `end` of a handle that leaves bytes which storage does not have.
  void keep_end(int64_t end) {
    int64_t known = unstored_end.load();
    while (known < end && !unstored_end.compare_exchange_weak(known, end)) {
    }
  }
};

// The configuration of an arena; equal configurations share one.
struct ArenaConfig {
  int64_t page_size = 0;
  int64_t capacity_bytes = 0;  // of the whole arena
  int64_t shards = 0;
  double write_back_buffer = 0;  // part of the frames
  uint32_t page_kind = 0;        // index in page_kinds()
  uint32_t policy = 0;           // index in policies()
  bool operator==(const ArenaConfig&) const = default;
};

// A table whose entries are made, and get memory, when they are first needed. The first entries are
// made first; the registry counts those that are made.
template <typename Entry, uint32_t most>
class Table {
 public:
  static constexpr uint32_t capacity = most;
  Entry& operator[](uint32_t index) { return entries()[index]; }
  const Entry& operator[](uint32_t index) const { return entries()[index]; }
  std::span<Entry> first(uint32_t count) { return {entries(), count}; }
  std::span<const Entry> first(uint32_t count) const { return {entries(), count}; }
  uint32_t index_of(const Entry& entry) const { return static_cast<uint32_t>(&entry - entries()); }

 private:
  Entry* entries() { return std::launder(reinterpret_cast<Entry*>(memory_)); }
  const Entry* entries() const { return std::launder(reinterpret_cast<const Entry*>(memory_)); }
  alignas(Entry) std::byte memory_[most * sizeof(Entry)];
};

struct alignas(64) SharedWord {
  std::atomic<int64_t> value{0};
  std::atomic<uint32_t> used{0};
};

struct Registry {
  SharedMutex lock;      // guards everything that is not atomic
  SharedMutex reaping;   // held while taking the place of a dead process; before `lock`
  int64_t identity = 0;  // random: no other registry has it
  char job[256] = {};    // the job's name; the file's name adds node and process
  // Alone in its cache line, since every numbered access of the node writes to it.
  alignas(64) std::atomic<uint64_t> last_sequence{0};
  alignas(64) SharedMutex turn;  // held by the process that has the turn (turn.h)
  // The lowest memory limit that the control groups of its processes set.
  std::atomic<int64_t> memory_limit{std::numeric_limits<int64_t>::max()};
  // Ranks of the job on this node, as far as its processes know.
  std::atomic<int64_t> local_processes{1};
  bool recoverable = true;            // false: what dead processes leave is forgotten
  uint64_t next_file_generation = 1;  // ids of files are never used twice
  uint32_t arenas = 0;
  bool removed = false;                     // the last process has left: join a new registry
  std::atomic<uint32_t> told_of_memory{0};  // the user knows that there is no memory for pages
  SharedMutex care;                         // held while a committer is started; the last lock
  std::atomic<bool> cared_for{false};       // a start of the committer was tried, and ended
  std::atomic<bool> reopens{false};         // an open has found kept pages
  std::atomic<uint32_t> seats_in_use{0};    // seats at and beyond this index were never taken
  // The agent, which serves ranks of other nodes (src/agent).
  std::atomic<AgentWanted> agent_wanted{AgentWanted::no};
  std::atomic<int64_t> agent_port{0};   // 0: it does not listen yet; no_agent: it cannot
  uint64_t agent_key[2] = {};           // valid once the port is there, as are:
  uint64_t agent_fabric[9] = {};        // its name where libfabric reaches it (agent::FabricName)
  char agent_fabric_problem[160] = {};  // why it has none, though ranks want one
  ArenaConfig arena[most_arenas];
  std::atomic<uint64_t> notices[most_notices] = {};  // numbers given to first_notice(); 0: free
  std::atomic<uint32_t> processes_made{0};
  std::atomic<uint32_t> changes_made{0};
  std::atomic<uint32_t> files_made{0};
  std::atomic<uint32_t> seats_made{0};
  std::atomic<uint32_t> words_made{0};
  // The tables are last, since only the entries that are made have memory.
  Table<ProcessEntry, most_processes> processes;
  Table<JobChange, most_files> changes;
  Table<FileEntry, most_files> files;
  Table<Seat, most_seats> seats;
  Table<SharedWord, most_words> words;

  std::span<ProcessEntry> made_processes() { return processes.first(processes_made.load()); }
  std::span<const ProcessEntry> made_processes() const {
    return processes.first(processes_made.load());
  }
  std::span<JobChange> made_changes() { return changes.first(changes_made.load()); }
  std::span<const JobChange> made_changes() const { return changes.first(changes_made.load()); }
  std::span<FileEntry> made_files() { return files.first(files_made.load()); }
  std::span<const FileEntry> made_files() const { return files.first(files_made.load()); }
  std::span<Seat> made_seats() { return seats.first(seats_made.load()); }
  std::span<SharedWord> made_words() { return words.first(words_made.load()); }
};

class RegistryLock {
 public:
  explicit RegistryLock(Registry& registry) : registry_(registry) { registry_.lock.lock(); }
  ~RegistryLock() { registry_.lock.unlock(); }
  RegistryLock(const RegistryLock&) = delete;
  RegistryLock& operator=(const RegistryLock&) = delete;

 private:
  Registry& registry_;
};

}  // namespace forebay::runtime
