// The schedule as each rank knows it: the open handles with their views and pointers, the pending
// requests, and so the effect of each operation before it happens. All ranks plan the operations
// identically, in the order of the schedule. Planning changes the model; executing compares with
// it. The operations between two barriers are planned together before the first one is executed,
// because a read may legally see what another rank writes before the next barrier.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "features.h"
#include "file_model.h"
#include "operation.h"
#include "routines.h"

namespace random_io {

constexpr int64_t kFileLimit = 4 << 20;  // operations that would reach further are skipped

struct View {
  int64_t displacement = 0;
  DatatypeRef etype;
  DatatypeRef file_type;

  bool operator==(const View&) const = default;
  // Data bytes of the view that lie below a file offset.
  int64_t data_below(int64_t offset) const;
  int64_t offset_of(int64_t position) const;  // file offset of a data byte
};

struct Handle {
  bool open = false;
  int file = 0;
  int alias = 0;
  int64_t members = 0;
  int64_t mode = 0;
  int generation = 0;  // opens so far, of all slots
  bool atomic = false;
  bool alone = true;  // no other handle had the file open at the same time
  std::array<View, kMaxRanks> view;
  std::array<int64_t, kMaxRanks> pointer{};  // etypes
  int64_t shared_pointer = 0;                // etypes
  // The rank whose use of the shared pointer since the last barrier fixes its order; -1: none yet.
  int shared_user = -1;
  const Routine* split = nullptr;  // the split collective call in progress
  std::array<TransferRef, kMaxRanks> split_transfer;

  bool member(int rank) const { return (members >> rank & 1) != 0; }
  bool writable() const { return (mode & kReadOnly) == 0; }
  bool readable() const { return (mode & kWriteOnly) == 0; }
  // An ordered split call may take its place at the shared pointer when it begins or when it ends.
  bool split_ordered() const { return split != nullptr && split->ordered; }
  bool same_view() const;  // on all members; shared pointers require this
};

struct PendingRequest {
  TransferRef transfer;  // null: the slot is free
  int slot = 0;
};

// An operation, and what this rank must find when it executes it.
struct Planned {
  Operation operation;
  bool run = false;       // false: its precondition is missing; all ranks skip it
  bool refused = false;   // the MPI library must return an error
  bool compare = false;   // the file is to be compared afterwards
  bool may_fail = false;  // storage fails, so the call may fail
  TransferRef mine;       // this rank's transfer
  View view;              // this rank's view at that time
  int64_t expected = 0;   // expected position, size, mode or other result
  int actor = 0;
};

// True for operations with a barrier before and after. They are planned and executed alone.
bool separates(std::string_view name);
// Whether the operation completes or tests nonblocking requests of a rank.
bool concerns_request(std::string_view name);

class Planner {
 public:
  Planner(int rank, int ranks, const Features& features);

  Planned plan(const Operation& operation);
  // All ranks meet in a barrier before operation `number`: pending transfers are complete.
  void meet(int number);

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  const Handle& handle(int slot) const { return handles_[static_cast<std::size_t>(slot)]; }
  FileModel& file(int index) { return files_[static_cast<std::size_t>(index)]; }
  const FileModel& file(int index) const { return files_[static_cast<std::size_t>(index)]; }
  const PendingRequest& pending(int rank, int request) const {
    return pending_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(request)];
  }
  bool in_use(int file) const;  // some handle has it open
  int actor(int rank, int slot) const;

  // Between a `fail` and the next `heal`, any call that may need storage may fail.
  bool storage_fails() const { return storage_fails_; }
  // Operations (operation_id) that are known to have failed.
  void mark_failed(const std::set<uint32_t>& ids);
  // A close has failed: the cache keeps bytes of the file that storage lacks.
  void keep_unstored(int file) { unstored_[static_cast<std::size_t>(file)] = true; }
  // Whether the file's open handles can bring all of its bytes to storage.
  bool storable(int file) const;

 private:
  // Whether the nodes of these ranks can know who owns the bytes of a file that is open already.
  bool may_meet(int file, int64_t members) const;
  int64_t nodes_of(int64_t members) const;  // bits
  void plan_open(const Operation& operation, Planned& planned);
  void plan_close(const Operation& operation, Planned& planned);
  void plan_view(const Operation& operation, Planned& planned);
  void plan_data(const Operation& operation, const Routine& routine, Planned& planned);
  void plan_end(const Operation& operation, Planned& planned);
  void plan_completion(const Operation& operation, Planned& planned);
  void plan_seek(const Operation& operation, Planned& planned);
  void plan_shared_seek(const Operation& operation, Planned& planned);
  void plan_size_change(const Operation& operation, Planned& planned);
  void plan_external(const Operation& operation, Planned& planned);
  void plan_query(const Operation& operation, Planned& planned);
  // Ends every transfer pending on the slot with operation `number`.
  void complete_all(int slot, int number);
  std::optional<int64_t> end_in_etypes(const Handle& handle, int rank, int slot, int number);

  bool possible_while_failing(const Operation& operation) const;

  int rank_, ranks_;
  const Features& features_;
  std::map<int, int64_t> owners_;  // by file: the nodes that own its bytes, as bits; 0: none yet
  int generations_ = 0;
  bool storage_fails_ = false;
  bool flush_failed_ = false;  // of a file: its further syncs fail, too
  std::array<bool, kFiles> unstored_{};
  std::array<Handle, kSlots> handles_;
  std::array<FileModel, kFiles> files_;
  std::array<int, kFiles> frozen_;  // actor whose SEEK_END depends on the size; -1: none
  std::array<std::array<PendingRequest, kRequests>, kMaxRanks> pending_;
};

}  // namespace random_io
