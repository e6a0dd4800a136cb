// The possible contents of one file: for every byte the set of values that a read may legally
// return.
//
// Accesses are ordered by "happens before": two accesses of one actor, if the first was complete
// before the second started; accesses of different actors, if the file was settled between them. A
// read may return the value of any write, except a write that it precedes, and a write that another
// one hides (by happening after it and before the read). A file is settled at a barrier under POSIX
// visibility; under the visibility of the standard by sync-barrier-sync, or by close and open on
// all ranks (MPI 4.1, 14.6.1). Bytes on which unordered writes collided then keep the set of all
// their values.
//
// An actor is a rank under POSIX visibility, a handle of a rank under the standard's.
//
// Any byte of a write that failed, or was in progress when its process was killed, may have arrived
// or not. So such a write hides nothing, and makes the file's size uncertain if it would have
// extended the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

namespace random_io {

constexpr int64_t kForever = std::numeric_limits<int64_t>::max();

// A contiguous part of a transfer: file offset, length, and the data bytes before it.
struct Piece {
  int64_t offset;
  int64_t length;
  int64_t position;
};

// The bytes that one rank moves in one data operation.
struct Transfer {
  uint32_t id = 0;  // identifies the writer; ascends with time
  int rank = 0;
  int actor = 0;
  bool write = false;
  int64_t start = 0;       // number of the operation in the schedule
  int64_t end = kForever;  // number of the operation that completed it
  int64_t etypes = 0;      // begin, in etypes of the view
  int64_t bytes = 0;
  std::vector<Piece> pieces;  // ascending
  int64_t low = 0, high = 0;  // the file range of all pieces
  bool uncertain = false;     // failed or was cut off: each byte may have arrived or not

  bool happens_before(const Transfer& other) const {
    return actor == other.actor && end < other.start;
  }
  // Whether a read after this write cannot return earlier values.
  bool hides() const { return write && !uncertain; }
};
using TransferRef = std::shared_ptr<Transfer>;

constexpr uint32_t kEarlierLife = 1;  // stands for the writers of recovered bytes

// The bytes of a writer's data from `position` on. Any two writers differ at every byte.
void fill_values(uint32_t id, int64_t position, int64_t length, std::byte* out);

// A value and the id of its writer (0: none, a hole).
struct Value {
  uint32_t id;
  uint8_t value;
};

struct Mismatch {
  int64_t offset;    // in the file
  int64_t position;  // in the reader's data
  uint8_t found;
  std::vector<Value> allowed;
};

struct SizeRange {
  int64_t low, high;
};

// How far a write had come when its process was killed.
enum class Fate { not_begun, under_way, returned };

class FileModel {
 public:
  bool exists = false;

  // Forgets everything: the file is new, or does not exist.
  void reset(bool file_exists);
  // The file exists with exactly this content.
  void adopt(const std::vector<std::byte>& data);
  // Writes must be added in the order of their start.
  void add_write(TransferRef write);
  // Orders everything written so far before everything that follows.
  void settle();
  bool settled() const { return writes_.empty(); }
  // Settles the writes of killed processes.
  void settle_killed(const std::function<Fate(const Transfer&)>& fate);
  // The operations with these ids have failed.
  void mark_uncertain(const std::set<uint32_t>& failed);
  // Both files are settled: each byte, and the size, may also be that of `other`.
  void may_also_be(const FileModel& other);

  // The file's size as an actor may see it at a time.
  SizeRange size_seen(int actor, int64_t start, int64_t end) const;
  // The largest possible.
  int64_t settled_size() const { return static_cast<int64_t>(cells_.size()); }
  int64_t least_size() const { return least_size_; }
  // For set_size and preallocate. The file must be settled.
  void resize(int64_t bytes);

  // Checks the first `bytes` bytes of a read's data.
  std::optional<Mismatch> check(const Transfer& read, const std::byte* data, int64_t bytes) const;
  // Compares the settled contents from `offset` on with `data`.
  std::optional<Mismatch> check_settled(int64_t offset, int64_t length,
                                        const std::byte* data) const;

 private:
  // id << 8 | value; kConflict << 8 | value where conflicts_ has the set.
  static constexpr uint32_t kConflict = 0xFFFFFF;
  using Cells = std::vector<uint32_t>;

  void paint(const Transfer& write);
  const Transfer* unsettled(uint32_t id) const;
  std::vector<Value> allowed_settled(int64_t offset) const;
  std::optional<Mismatch> check_segment(
      const Transfer& read, int64_t offset, int64_t length, const std::byte* data,
      const std::vector<std::pair<const Transfer*, int64_t>>& covering) const;

  Cells set_at(int64_t offset) const;
  void set_cell(int64_t offset, Cells values);

  Cells cells_;
  int64_t least_size_ = 0;
  std::unordered_map<int64_t, Cells> conflicts_;
  std::vector<TransferRef> writes_;  // since the file was settled
};

}  // namespace random_io
