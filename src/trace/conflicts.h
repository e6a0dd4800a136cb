// Conflicting accesses of a file: of different processes, to the same bytes, one of them a write.
// What the second one finds depends on what keeps them apart (MPI 4.1, section 14.6).
//
// That is what the program makes sure of, as far as it was recorded (trace/order.h). Accesses that
// only the times of this run keep apart may come in another order in the next.
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

// In the order of what they are worth.
enum class Separation : uint8_t {
  none,    // they overlap in time, and nothing is known to order them
  chance,  // the first had ended when the second began, and nothing is known to order them
  order,   // the first comes before the second, whatever their times
  synced,  // besides, the first's process synced or closed the file in between, and after that the
           // second's synced or opened it, by the very opens that they access it by
  reopened,  // the same by closing and opening
};
inline constexpr std::size_t separations = 5;

// When all bytes of an access were moved.
enum class Ending : uint8_t {
  with_call,
  later,    // its request was complete at end_ns
  unknown,  // its request was never seen complete; end_ns is that of the call
};

struct FileAccess {
  uint32_t process = 0;
  uint32_t thread = 0;  // of the process
  int32_t open = -1;    // by which it has the file
  uint32_t moment = 0;  // of the thread (Order::moment)
  bool writes = false;
  bool continued = false;  // another run of the access before
  Ending ending = Ending::with_call;
  int64_t offset = 0;
  int64_t end = 0;  // one past the last byte
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

// What an open does that hands bytes over: a moment of its thread (Order::mark).
struct FileMoment {
  uint32_t process = 0;
  uint32_t thread = 0;
  int32_t open = -1;
  uint32_t moment = 0;
};

struct Conflict {
  FileAccess first, second;
  int64_t offset = 0;  // of what both touch
  int64_t end = 0;
  Separation separation = Separation::none;
};

struct Conflicts {
  std::array<uint64_t, separations> counts{};  // of pairs
  std::array<uint64_t, separations> bytes{};
  std::vector<Conflict> examples;  // the first few of each separation
  uint64_t accesses_left_out = 0;  // for want of room
  Sharing sharing;                 // of those that were not left out, reads too
};

class ConflictFinder {
 public:
  // At most so many runs of bytes are kept, some 100 bytes each; then, as they come, accesses are
  // left out.
  explicit ConflictFinder(uint64_t most) : most_accesses_(most) {}

  // False: it is left out. Further runs of the same access then need not be told.
  bool access(const FileAccess& access);
  void sync(const FileMoment& moment);
  void open(const FileMoment& moment);
  void close(const FileMoment& moment);

  // Takes what was told to another, as if it had been told here.
  void merge(ConflictFinder&& other);

  // What was told as bytes, and back into a finder that was told nothing. False: they are none.
  void write(ByteWriter& writer) const;
  bool read(ByteReader& reader);

  // Of all that was told, by an order that is resolved. There is nothing afterwards.
  Conflicts finish(const Order& order);

 private:
  // Of one open, used by one thread: what hands its writes over, and what lets it see those of
  // others; moments, ascending.
  struct Handle {
    std::vector<uint32_t> closes, closes_and_syncs, opens, opens_and_syncs;
  };
  // By process, thread and open.
  using Handles = std::map<std::tuple<uint32_t, uint32_t, int32_t>, Handle>;

  // An access that may conflict, and where it stands among the others.
  struct Placed {
    FileAccess access;
    Order::Place at;
    uint32_t ended;  // the last moment in which it may not have been complete
  };
  // Accesses by their numbers: of a thread one read and one write at most, those that end last.
  struct Others {
    std::vector<uint32_t> accesses;  // by thread
    bool writes = false;             // any of them
  };
  // Bytes that the same accesses touched last.
  struct Touched {
    int64_t end;
    uint32_t write;  // or no_access
    // Reads since then; and earlier accesses of the write's own process that nothing orders before
    // it. Stretches that are touched alike share them.
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
  std::vector<std::vector<FileAccess>> told_;  // pieces, so that none is copied as they grow
  uint64_t told_count_ = 0;
  bool writes_ = false;  // some access
  bool cut_ = false;     // the last that is kept has further runs that were left out
  uint64_t left_out_ = 0;
  Handles handles_;
  // While it finishes.
  const Order* order_ = nullptr;
  std::vector<Placed> accesses_;  // of those told, those that may conflict
  Map touched_;
  std::shared_ptr<Others> read_before_, read_after_;  // of the last stretch that was read
  std::vector<uint32_t> met_;  // of each access, the last with which it was found in conflict
};

}  // namespace forebay::trace
