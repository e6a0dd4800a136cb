// Conflicting accesses of a file: accesses of different processes to the same bytes, at least one
// of them a write. What the second access finds in the file depends on what separates the two (MPI
// 4.1, section 14.6).
//
// The separation is what the program guarantees, as far as the trace recorded it (trace/order.h).
// If only the times of this run separate two accesses, they may come in the other order in the next
// run.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "trace/bytes.h"
#include "trace/order.h"
#include "trace/sharing.h"

namespace forebay::trace {

// What separates two accesses, from the weakest to the strongest.
enum class Separation : uint8_t {
  none,    // they overlap in time, and nothing is known to order them
  chance,  // the first ended before the second began, but nothing is known to order them
  order,   // the first comes before the second in every run
  // Besides, the first process synced or closed the file after its access, and after that the
  // second process synced or opened it before its own, by the opens of these accesses.
  synced,
  reopened,  // the same by close and open
};
inline constexpr std::size_t separations = 5;

// When all bytes of an access had been moved.
enum class Ending : uint8_t {
  with_call,  // when the call returned
  later,      // at end_ns, when its request was complete
  unknown,    // at an unknown time after end_ns, when the call returned
};

struct FileAccess {
  uint32_t process = 0;
  uint32_t thread = 0;  // within the process
  int32_t open = -1;    // number of the open used for the access
  uint32_t moment = 0;  // within the thread (Order::moment)
  bool writes = false;
  bool continued = false;  // another run of bytes of the access before
  Ending ending = Ending::with_call;
  int64_t offset = 0;
  int64_t end = 0;  // one past the last byte
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

// A sync, open or close of a file by one thread, as a moment of that thread (Order::mark).
struct FileMoment {
  uint32_t process = 0;
  uint32_t thread = 0;
  int32_t open = -1;
  uint32_t moment = 0;
};

struct Conflict {
  FileAccess first, second;
  int64_t offset = 0;  // of the bytes that both access
  int64_t end = 0;
  Separation separation = Separation::none;
};

struct Conflicts {
  std::array<uint64_t, separations> counts{};  // pairs of accesses
  std::array<uint64_t, separations> bytes{};
  std::vector<Conflict> examples;  // the first few of each separation
  uint64_t accesses_left_out = 0;  // because no room was left
  Sharing sharing;                 // of all accesses that were not left out, reads included
};

class ConflictFinder {
 public:
  // Keeps at most `most` runs of bytes, about 100 bytes of memory each. Later accesses are left
  // out.
  explicit ConflictFinder(uint64_t most) : most_accesses_(most) {}

  // False: the access is left out, and its further runs need not be added.
  bool access(const FileAccess& access);
  void sync(const FileMoment& moment);
  void open(const FileMoment& moment);
  void close(const FileMoment& moment);

  // Takes over the accesses of another finder, as if they had been added here.
  void merge(ConflictFinder&& other);

  // Writes the finder's accesses as bytes; reads them into an empty finder. False: the bytes are no
  // accesses.
  void write(ByteWriter& writer) const;
  bool read(ByteReader& reader);

  // Finds the conflicts of all accesses. `order` must be resolved. The finder is empty afterwards.
  Conflicts finish(const Order& order);

 private:
  // One open as used by one thread. The moments, ascending, at which it hands its writes over to
  // other processes (closes, syncs), or begins to see theirs (opens, syncs).
  struct Handle {
    std::vector<uint32_t> closes, closes_and_syncs, opens, opens_and_syncs;
  };
  // By process, thread and open.
  using Handles = std::map<std::tuple<uint32_t, uint32_t, int32_t>, Handle>;

  // An access that may conflict, and its place in the order of all threads.
  struct Placed {
    FileAccess access;
    Order::Place at;
    uint32_t ended;  // the last moment of its thread at which it may still be incomplete
  };
  // Numbers of accesses: per thread at most one read and one write, the ones that end last.
  struct Others {
    std::vector<uint32_t> accesses;  // by thread
    bool writes = false;             // at least one is a write
  };
  // A stretch of bytes with the same latest accesses.
  struct Touched {
    int64_t end;
    uint32_t write;  // the latest write, or no_access
    // The reads since then, and earlier accesses of the writing process that are not ordered before
    // the write. Stretches with the same accesses share one list.
    std::shared_ptr<Others> others;
  };
  using Map = std::map<int64_t, Touched>;

  void keep_shared(const std::vector<ByteRange>& ranges, const Order& order);
  void sweep(Conflicts& found);
  void look(uint32_t number, Conflicts& found);
  void look(uint32_t number, int64_t offset, Touched& touched, Conflicts& found);
  void read_on(Touched& touched, uint32_t number);
  void write_on(Touched& touched, uint32_t number) const;
  void add(Others& others, uint32_t number) const;
  void conflict(uint32_t first, uint32_t second, int64_t offset, int64_t end, Conflicts& found);
  static bool precedes(const Placed& first, const Placed& second);
  Separation separation(const Placed& first, const Placed& second) const;
  bool handed_over(const std::vector<uint32_t>& releases, const std::vector<uint32_t>& acquires,
                   const Placed& first, const Placed& second) const;
  const Handle* handle_of(const FileAccess& access) const;
  Map::iterator cut(int64_t at);

  uint64_t most_accesses_;
  // In pieces, so that nothing is copied when more is added.
  std::vector<std::vector<FileAccess>> told_;
  uint64_t told_count_ = 0;
  bool writes_ = false;  // at least one access writes
  bool cut_ = false;     // the last kept access has further runs that were left out
  uint64_t left_out_ = 0;
  Handles handles_;
  // Used only while finish() runs.
  const Order* order_ = nullptr;
  std::vector<Placed> accesses_;  // those accesses that may conflict
  Map touched_;
  // List of the last stretch before and after a read was added to it.
  std::shared_ptr<Others> read_before_, read_after_;
  std::vector<uint32_t> met_;  // for each access, the last access found in conflict with it
};

}  // namespace forebay::trace
