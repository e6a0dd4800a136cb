// What one file may hold: for every byte the set of values that a read may legally return.
//
// Accesses are ordered by "happens before": two accesses of one actor when the first was complete
// before the second started; accesses of different actors when the file was settled in between. A
// read may return the value of any write that it does not precede and that no other write hides
// (one that happens after it and before the read). Settling happens at a barrier under POSIX
// visibility, and after sync-barrier-sync or close-open by all under the standard's own (MPI 4.1,
// 14.6.1); then bytes on which unordered writes collided keep the set of all their values.
//
// An actor is a rank under POSIX visibility, a rank's handle under the standard's.
//
// Of a write that failed, or was under way when its process was killed, any byte may have arrived:
// it hides nothing, and makes the file's size uncertain where it would have grown.
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

// What one rank moves in one data operation.
struct Transfer {
  uint32_t id = 0;  // names the writer; ascending with time
  int rank = 0;
  int actor = 0;
  bool write = false;
  int64_t start = 0;       // the operation's number on the schedule's clock
  int64_t end = kForever;  // that of the operation that completed it
  int64_t etypes = 0;      // where it began, in etypes of the view
  int64_t bytes = 0;
  std::vector<Piece> pieces;  // ascending
  int64_t low = 0, high = 0;  // the file range they span
  bool uncertain = false;     // failed or was cut off: each byte may have arrived or not

  bool happens_before(const Transfer& other) const {
    return actor == other.actor && end < other.start;
  }
  // Whether what was there before this write cannot be seen after it.
  bool hides() const { return write && !uncertain; }
};
using TransferRef = std::shared_ptr<Transfer>;

constexpr uint32_t kEarlierLife = 1;  // the writer of what was recovered

// The bytes a writer writes: byte `position` of its data. Writers differ everywhere.
void fill_values(uint32_t id, int64_t position, int64_t length, std::byte* out);

// A value and who wrote it (0: nobody, a hole).
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

  // Forgets everything: the file is new (or gone).
  void reset(bool file_exists);
  // The file exists and holds just this.
  void adopt(const std::vector<std::byte>& data);
  // Writes may be added in the order of their start only.
  void add_write(TransferRef write);
  // Everything written so far is ordered before whatever follows.
  void settle();
  bool settled() const { return writes_.empty(); }
  // Settles what processes that were killed had written.
  void settle_killed(const std::function<Fate(const Transfer&)>& fate);
  // The operations with these ids have failed.
  void mark_uncertain(const std::set<uint32_t>& failed);
  // Both files settled: each byte may as well be the other's, and so may the size.
  void may_also_be(const FileModel& other);

  // The file's size as seen by an actor at a time.
  SizeRange size_seen(int actor, int64_t start, int64_t end) const;
  int64_t settled_size() const { return static_cast<int64_t>(cells_.size()); }  // at most
  int64_t least_size() const { return least_size_; }
  // set_size and its like; the file must be settled.
  void resize(int64_t bytes);

  // Checks the first `bytes` bytes of a read's data.
  std::optional<Mismatch> check(const Transfer& read, const std::byte* data, int64_t bytes) const;
  // The settled contents against `data`, from `offset`.
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
