// Conflicting accesses of a file: of different processes, to the same bytes, one of them a write.
// What the second one finds depends on what keeps them apart (MPI 4.1, section 14.6).
//
// A trace shows what a run did, not what the program makes sure of: accesses that it keeps apart by
// chance look as if they were ordered.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "trace/bytes.h"
#include "trace/sharing.h"

namespace forebay::trace {

// In the order of what they are worth.
enum class Separation : uint8_t {
  none,    // they overlap in time
  order,   // the first ended before the second began
  synced,  // besides, the first's process synced or closed the file in between, and after that the
           // second's synced or opened it
  reopened,  // the same by closing and opening
};
inline constexpr std::size_t separations = 4;

struct FileAccess {
  uint32_t process = 0;
  bool writes = false;
  bool continued = false;  // another run of the access before
  int64_t offset = 0;
  int64_t end = 0;  // one past the last byte
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

struct Conflict {
  FileAccess first, second;  // by their starts
  int64_t offset = 0;        // of what both touch
  int64_t end = 0;
  Separation separation = Separation::none;
};

struct Conflicts {
  std::array<uint64_t, separations> counts{};  // a second access counts once for each first one
  std::array<uint64_t, separations> bytes{};
  std::vector<Conflict> examples;  // the first few of each separation
  uint64_t accesses_left_out = 0;  // for want of room
  Sharing sharing;                 // of those that were not left out, reads too
};

class ConflictFinder {
 public:
  // At most so many runs of bytes are kept, some 60 bytes each; then, as they come, accesses are
  // left out.
  explicit ConflictFinder(uint64_t most) : most_accesses_(most) {}

  // False: it is left out. Further runs of the same access then need not be told.
  bool access(const FileAccess& access);
  void sync(uint32_t process, int64_t start_ns, int64_t end_ns);
  void open(uint32_t process, int64_t start_ns, int64_t end_ns);
  void close(uint32_t process, int64_t start_ns, int64_t end_ns);

  // Takes what was told to another, as if it had been told here.
  void merge(ConflictFinder&& other);

  // What was told as bytes, and back into a finder that was told nothing. False: they are none.
  void write(ByteWriter& writer) const;
  bool read(ByteReader& reader);

  // Of all that was told. There is nothing afterwards.
  Conflicts finish();

 private:
  struct Event {
    int64_t start_ns;
    int64_t end_ns;
  };
  // Of one process: what hands its writes over, and what lets it see those of others.
  struct Process {
    std::vector<Event> closes, closes_and_syncs, opens, opens_and_syncs;
  };
  // Bytes that the same accesses touched last; numbers of accesses, or no_access.
  struct Touched {
    int64_t end;
    uint32_t write;
    uint32_t read;  // of those since the write, that which ends last
  };
  using Map = std::map<int64_t, Touched>;

  void keep_shared(const std::vector<ByteRange>& ranges);
  void sweep(Conflicts& found);
  void look(uint32_t number, Conflicts& found);
  void conflict(uint32_t first, uint32_t second, int64_t offset, int64_t end, Conflicts& found);
  Separation separation(const FileAccess& first, const FileAccess& second) const;
  static bool handed_over(const std::vector<Event>& releases, const std::vector<Event>& acquires,
                          const FileAccess& first, const FileAccess& second);
  Map::iterator cut(int64_t at);

  uint64_t most_accesses_;
  std::vector<std::vector<FileAccess>> told_;  // pieces, so that none is copied as they grow
  uint64_t told_count_ = 0;
  std::vector<FileAccess> accesses_;  // of them, those that may conflict
  bool writes_ = false;               // some access
  bool cut_ = false;                  // the last that is kept has further runs that were left out
  std::map<uint32_t, Process> processes_;
  Map touched_;
  std::array<uint32_t, 2> latest_{};  // first accesses of the conflict found last: read, written
  uint32_t latest_second_ = 0;
  uint64_t left_out_ = 0;
};

}  // namespace forebay::trace
