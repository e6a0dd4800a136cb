// Computes what each operation will do, identically on every rank.
#include "planner.h"

#include <algorithm>
#include <bit>

#include "inject.h"

namespace random_io {
namespace {

const DatatypeRef& byte_type() {
  static const DatatypeRef type = parse_datatype("b1");
  return type;
}

std::vector<Piece> pieces_of(const View& view, int64_t etypes, int64_t bytes) {
  std::vector<Piece> pieces;
  const int64_t start = etypes * view.etype->size;
  walk(*view.file_type, view.displacement, start, bytes,
       [&](int64_t offset, int64_t length, int64_t position) {
         pieces.push_back({offset, length, position - start});
       });
  return pieces;
}

}  // namespace

int64_t View::data_below(int64_t offset) const {
  const int64_t relative = offset - displacement, extent = file_type->extent();
  if (relative <= 0 || file_type->size == 0) return 0;
  int64_t copy = std::max<int64_t>(0, (relative - file_type->true_upper) / extent);
  int64_t data = copy * file_type->size;
  for (; copy * extent + file_type->true_lower < relative; ++copy) {
    for (const Run& run : file_type->runs) {
      data += std::clamp<int64_t>(relative - copy * extent - run.offset, 0, run.length);
    }
  }
  return data;
}

int64_t View::offset_of(int64_t position) const {
  int64_t found = 0;
  walk(*file_type, displacement, position, 1,
       [&](int64_t offset, int64_t, int64_t) { found = offset; });
  return found;
}

bool Handle::same_view() const {
  const int first = std::countr_zero(static_cast<uint64_t>(members));
  for (int rank = 0; rank < kMaxRanks; ++rank) {
    if (member(rank) &&
        !(view[static_cast<std::size_t>(rank)] == view[static_cast<std::size_t>(first)])) {
      return false;
    }
  }
  return true;
}

bool separates(std::string_view name) {
  static constexpr std::string_view kNames[] = {"barrier",     "open",   "close",       "set_size",
                                                "check",       "delete", "preallocate", "external",
                                                "seek_shared", "fail",   "heal"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

bool concerns_request(std::string_view name) {
  static constexpr std::string_view kNames[] = {"wait",    "waitall", "test",
                                                "testany", "status",  "cancel"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

Planner::Planner(int rank, int ranks, const Features& features)
    : rank_(rank), ranks_(ranks), features_(features) {
  frozen_.fill(-1);
}

bool Planner::in_use(int file) const {
  return std::any_of(handles_.begin(), handles_.end(),
                     [&](const Handle& handle) { return handle.open && handle.file == file; });
}

int Planner::actor(int rank, int slot) const {
  return features_.enabled("posix_visibility") ? rank : handle(slot).generation * kMaxRanks + rank;
}

void Planner::meet(int number) {
  for (int slot = 0; slot < kSlots; ++slot) {
    complete_all(slot, number);
    handles_[static_cast<std::size_t>(slot)].shared_user = -1;
  }
  frozen_.fill(-1);
  if (!features_.enabled("posix_visibility")) return;
  for (FileModel& model : files_) {
    if (!model.settled()) model.settle();
  }
}

void Planner::complete_all(int slot, int number) {
  for (auto& requests : pending_) {
    for (PendingRequest& request : requests) {
      if (request.transfer && request.slot == slot) {
        request.transfer->end = number;
        request.transfer.reset();
      }
    }
  }
  Handle& owner = handles_[static_cast<std::size_t>(slot)];
  owner.split = nullptr;
  for (TransferRef& transfer : owner.split_transfer) {
    if (transfer) transfer->end = number;
    transfer.reset();
  }
}

void Planner::mark_failed(const std::set<uint32_t>& ids) {
  for (FileModel& model : files_) model.mark_uncertain(ids);
}

bool Planner::storable(int file) const {
  return !unstored_[static_cast<std::size_t>(file)] ||
         std::any_of(handles_.begin(), handles_.end(), [&](const Handle& handle) {
           return handle.open && handle.file == file && handle.writable();
         });
}

// Whether the operation can be checked while storage fails. It cannot if it depends on the result
// of another call on the file, or if it would settle the file among caches by a sync, which may
// fail.
bool Planner::possible_while_failing(const Operation& operation) const {
  const std::string_view name = operation.name;
  if (name == "external" || name == "preallocate" || name == "atomicity" || name == "delete") {
    return false;
  }
  if ((name == "seek" || name == "seek_shared") && operation.mode == 2) return false;
  const Routine* routine = find_routine(name);
  if (routine != nullptr && routine->position == Position::individual_pointer &&
      routine->completion == Completion::nonblocking) {
    return false;  // a failure leaves the pointer where it was, but is known too late
  }
  if (features_.enabled("posix_visibility")) return true;
  const int file = handle(operation.slot).file;
  const auto users = std::count_if(handles_.begin(), handles_.end(), [&](const Handle& handle) {
    return handle.open && handle.file == file;
  });
  return name != "check" && name != "set_size" && !(name == "close" && users > 1);
}

Planned Planner::plan(const Operation& operation) {
  Planned planned;
  planned.operation = operation;
  const std::string_view name = operation.name;
  static constexpr std::string_view kWithoutHandle[] = {
      "open", "barrier", "check", "delete", "external", "fail", "heal", "arm", "kill"};
  const bool needs_handle = !concerns_request(name) &&
                            std::find(std::begin(kWithoutHandle), std::end(kWithoutHandle), name) ==
                                std::end(kWithoutHandle);
  if (storage_fails_ && !possible_while_failing(operation)) return planned;
  planned.may_fail = storage_fails_ || (flush_failed_ && find_routine(name) == nullptr);
  const Handle& handle = handles_[static_cast<std::size_t>(operation.slot)];
  if (needs_handle && !handle.open) return planned;
  planned.actor = actor(rank_, operation.slot);
  planned.view = handle.view[static_cast<std::size_t>(rank_)];
  if (const Routine* routine = find_routine(name)) {
    plan_data(operation, *routine, planned);
  } else if (name == "open") {
    plan_open(operation, planned);
  } else if (name == "close") {
    plan_close(operation, planned);
  } else if (name == "view") {
    plan_view(operation, planned);
  } else if (name == "end") {
    plan_end(operation, planned);
  } else if (concerns_request(name)) {
    plan_completion(operation, planned);
  } else if (name == "seek") {
    plan_seek(operation, planned);
  } else if (name == "seek_shared") {
    plan_shared_seek(operation, planned);
  } else if (name == "set_size" || name == "preallocate") {
    plan_size_change(operation, planned);
  } else if (name == "external" || name == "delete") {
    plan_external(operation, planned);
  } else if (name == "fail" || name == "heal") {
    storage_fails_ = name == "fail";
    if (storage_fails_ && (operation.mode & INJECT_FSYNC) != 0) flush_failed_ = true;
    planned.run = true;
    for (FileModel& model : files_) {
      if (name == "heal" && !model.settled()) model.settle();
    }
  } else if (name == "arm" || name == "kill") {
    planned.run = true;
  } else {
    plan_query(operation, planned);
  }
  return planned;
}

int64_t Planner::nodes_of(int64_t members) const {
  int64_t nodes = 0;
  for (int rank = 0; rank < ranks_; ++rank) {
    if ((members >> rank & 1) != 0) nodes |= int64_t{1} << (rank % features_.nodes());
  }
  return nodes;
}

bool Planner::may_meet(int file, int64_t members) const {
  if (features_.nodes() == 1 || !in_use(file)) return true;
  const int64_t nodes = nodes_of(members);
  int64_t using_it = 0;
  for (const Handle& handle : handles_) {
    if (handle.open && handle.file == file) using_it |= nodes_of(handle.members);
  }
  // Owners know of each other as long as anybody has the file open, other nodes as long as they
  // have it open themselves.
  const auto owners = owners_.find(file);
  if (owners != owners_.end() && owners->second != 0)
    return (nodes & (owners->second | using_it)) != 0;
  // All handles are of ranks of one node each. A group of several nodes gives the file owners; the
  // others must hear of them.
  return (using_it & ~nodes) == 0;
}

void Planner::plan_open(const Operation& operation, Planned& planned) {
  Handle& handle = handles_[static_cast<std::size_t>(operation.slot)];
  FileModel& model = file(operation.file);
  const int64_t mode = operation.mode, members = operation.members & ((1 << ranks_) - 1);
  if (handle.open || members == 0) return;
  if (std::popcount(static_cast<uint64_t>(mode & (kReadOnly | kWriteOnly | kReadWrite))) != 1) {
    return;
  }
  if (operation.alias != 0 && !model.exists) return;
  // The bytes are in the caches of the ranks that wrote them.
  if (!storable(operation.file) && !features_.enabled("posix_visibility")) return;
  if (!may_meet(operation.file, members)) return;
  const bool alone = (mode & (kUniqueOpen | kDeleteOnClose)) != 0;
  if (alone && operation.alias != 0) return;
  bool only = true;
  for (const Handle& other : handles_) {
    if (!other.open || other.file != operation.file) continue;
    if (alone || (other.mode & (kUniqueOpen | kDeleteOnClose)) != 0) return;
    only = false;
  }
  const SizeRange size = model.size_seen(-1, operation.number, operation.number);
  if ((mode & kAppend) != 0 && size.low != size.high) return;
  planned.run = true;
  planned.operation.members = members;
  planned.refused = model.exists ? (mode & kExclusive) != 0 : (mode & kCreate) == 0;
  if (planned.refused) return;
  if (!model.exists) model.reset(true);
  for (Handle& other : handles_) {
    if (other.open && other.file == operation.file) other.alone = false;
  }
  int64_t& owners = owners_[operation.file];
  if (only) owners = 0;
  const int64_t nodes = nodes_of(members);
  if (owners == 0 && std::popcount(static_cast<uint64_t>(nodes)) > 1) owners = nodes;
  handle = Handle();
  handle.alone = only;
  handle.open = true;
  handle.file = operation.file;
  handle.alias = operation.alias;
  handle.members = members;
  handle.mode = mode;
  handle.generation = ++generations_;
  const int64_t start = (mode & kAppend) != 0 ? size.high : 0;
  handle.pointer.fill(start);
  handle.shared_pointer = start;
  handle.view.fill({0, byte_type(), byte_type()});
  planned.expected = start;
}

void Planner::plan_close(const Operation& operation, Planned& planned) {
  Handle& handle = handles_[static_cast<std::size_t>(operation.slot)];
  complete_all(operation.slot, operation.number);
  planned.run = true;
  planned.operation.members = handle.members;
  planned.operation.file = handle.file;
  handle.open = false;
  FileModel& model = file(handle.file);
  if ((handle.mode & kDeleteOnClose) != 0) model.reset(false);
  if (in_use(handle.file)) return;
  unstored_[static_cast<std::size_t>(handle.file)] = false;
  if (!model.settled()) model.settle();
  planned.compare = true;
}

void Planner::plan_view(const Operation& operation, Planned& planned) {
  Handle& handle = handles_[static_cast<std::size_t>(operation.slot)];
  if (handle.shared_user >= 0 || !operation.etype) return;
  for (int rank = 0; rank < ranks_; ++rank) {
    if (!handle.member(rank)) continue;
    const Part* part = operation.part(rank);
    if (part == nullptr || !part->file_type || !part->file_type->ascending()) return;
    if (part->file_type->size % operation.etype->size != 0) return;
  }
  complete_all(operation.slot, operation.number);
  for (const Part& part : operation.parts) {
    const auto index = static_cast<std::size_t>(part.rank);
    handle.view[index] = {part.displacement, operation.etype, part.file_type};
    handle.pointer[index] = 0;
  }
  handle.shared_pointer = 0;
  planned.run = true;
  planned.view = handle.view[static_cast<std::size_t>(rank_)];
}

void Planner::plan_data(const Operation& operation, const Routine& routine, Planned& planned) {
  Handle& handle = handles_[static_cast<std::size_t>(operation.slot)];
  FileModel& model = file(handle.file);
  if (routine.collective && handle.split != nullptr) return;
  if (routine.collective ? false : operation.parts.size() != 1) return;
  const bool shared = routine.position == Position::shared_pointer;
  if (shared) {
    if (!handle.same_view() || handle.split_ordered()) return;
    if (!handle.alone && !features_.enabled("shared_pointer_per_handle")) return;
    const int user = routine.ordered ? -1 : operation.parts[0].rank;
    if (handle.shared_user >= 0 && handle.shared_user != user) return;
  }
  planned.refused = !(routine.write ? handle.writable() : handle.readable());
  if (planned.refused && routine.completion != Completion::blocking) return;

  std::vector<TransferRef> transfers;
  int64_t shared_pointer = handle.shared_pointer;
  for (int rank = 0; rank < ranks_; ++rank) {
    const Part* part = operation.part(rank);
    if (part == nullptr) {
      if (routine.collective && handle.member(rank)) return;
      continue;
    }
    const auto index = static_cast<std::size_t>(rank);
    if (!handle.member(rank) || !part->memory) return;
    const View& view = handle.view[index];
    auto transfer = std::make_shared<Transfer>();
    transfer->id = operation_id(operation.number, rank);
    transfer->rank = rank;
    transfer->actor = actor(rank, operation.slot);
    transfer->write = routine.write;
    transfer->start = operation.number;
    transfer->bytes = part->count * part->memory->size;
    if (transfer->bytes % view.etype->size != 0) return;
    if (planned.refused && transfer->bytes == 0) return;  // some libraries allow it
    if (transfer->bytes % view.etype->base_size != 0) return;
    switch (routine.position) {
      case Position::explicit_offset:
        transfer->etypes = part->offset;
        break;
      case Position::individual_pointer:
        transfer->etypes = handle.pointer[index];
        break;
      case Position::shared_pointer:
        transfer->etypes = shared_pointer;
        break;
    }
    if (shared) shared_pointer += transfer->bytes / view.etype->size;
    const int64_t start = transfer->etypes * view.etype->size;
    if (transfer->bytes > 0) {
      if (transfer->bytes > kFileLimit || view.offset_of(start) > kFileLimit ||
          view.offset_of(start + transfer->bytes - 1) >= kFileLimit) {
        return;
      }
      transfer->low = view.offset_of(start);
      transfer->high = view.offset_of(start + transfer->bytes - 1) + 1;
    }
    if (routine.completion == Completion::blocking) transfer->end = operation.number;
    if (routine.completion == Completion::nonblocking &&
        pending_[index][static_cast<std::size_t>(part->request)].transfer) {
      return;
    }
    // Libraries differ in how far a read that meets the end of the file moves the pointer. The
    // executor repairs the pointer after a blocking call with an individual pointer; other calls
    // must not meet the end.
    const bool repairable = routine.completion == Completion::blocking && !shared;
    const SizeRange size = model.size_seen(transfer->actor, transfer->start, transfer->end);
    if (!routine.write && routine.position != Position::explicit_offset && !repairable &&
        transfer->high > size.low) {
      return;
    }
    if (!routine.write && transfer->high > size.low && !features_.enabled("read_past_end") &&
        (routine.collective || routine.completion != Completion::blocking)) {
      return;
    }
    const int frozen = frozen_[static_cast<std::size_t>(handle.file)];
    if (routine.write && frozen >= 0 && frozen != transfer->actor && transfer->high > size.low) {
      return;
    }
    if (routine.write || rank == rank_) {
      transfer->pieces = pieces_of(view, transfer->etypes, transfer->bytes);
    }
    transfers.push_back(std::move(transfer));
  }

  planned.run = true;
  if (shared && !routine.ordered) handle.shared_user = operation.parts[0].rank;
  if (routine.ordered && !features_.enabled("ordered_moves_pointer_at_once")) {
    handle.shared_user = kMaxRanks;  // no rank may use it before the next barrier
  }
  for (const TransferRef& transfer : transfers) {
    const auto index = static_cast<std::size_t>(transfer->rank);
    if (transfer->rank == rank_) planned.mine = transfer;
    if (planned.refused) continue;
    if (routine.write) model.add_write(transfer);
    if (routine.position == Position::individual_pointer) {
      handle.pointer[index] += transfer->bytes / handle.view[index].etype->size;
    }
    if (routine.completion == Completion::nonblocking) {
      const int request = operation.part(transfer->rank)->request;
      pending_[index][static_cast<std::size_t>(request)] = {transfer, operation.slot};
    }
    if (routine.completion == Completion::split) handle.split_transfer[index] = transfer;
  }
  if (planned.refused) return;
  if (shared) handle.shared_pointer = shared_pointer;
  if (routine.completion == Completion::split) handle.split = &routine;
}

void Planner::plan_end(const Operation& operation, Planned& planned) {
  Handle& handle = handles_[static_cast<std::size_t>(operation.slot)];
  if (handle.split == nullptr) return;
  planned.run = true;
  handle.split = nullptr;
  for (TransferRef& transfer : handle.split_transfer) {
    if (transfer) transfer->end = operation.number;
    transfer.reset();
  }
}

void Planner::plan_completion(const Operation& operation, Planned& planned) {
  if (operation.parts.size() != 1 || operation.parts[0].rank >= ranks_) return;
  const Part& part = operation.parts[0];
  auto& requests = pending_[static_cast<std::size_t>(part.rank)];
  PendingRequest& request = requests[static_cast<std::size_t>(part.request)];
  planned.run = true;
  // The library decides whether a test finds its request complete; in the model only a wait
  // completes it.
  if (operation.name == "waitall") {
    for (PendingRequest& each : requests) {
      if (each.transfer) each.transfer->end = operation.number;
      each.transfer.reset();
    }
  } else if (operation.name == "wait") {
    if (request.transfer) request.transfer->end = operation.number;
    request.transfer.reset();
  }
}

std::optional<int64_t> Planner::end_in_etypes(const Handle& handle, int rank, int slot,
                                              int number) {
  const SizeRange size = file(handle.file).size_seen(actor(rank, slot), number, number);
  const View& view = handle.view[static_cast<std::size_t>(rank)];
  const int64_t data = view.data_below(size.low);
  if (size.low != size.high || data % view.etype->size != 0) return std::nullopt;
  return data / view.etype->size;
}

void Planner::plan_seek(const Operation& operation, Planned& planned) {
  Handle& handle = handles_[static_cast<std::size_t>(operation.slot)];
  if (operation.parts.size() != 1 || !handle.member(operation.parts[0].rank)) return;
  const Part& part = operation.parts[0];
  int64_t& pointer = handle.pointer[static_cast<std::size_t>(part.rank)];
  int64_t base = operation.mode == 1 ? pointer : 0;
  if (operation.mode == 2) {
    const auto end = end_in_etypes(handle, part.rank, operation.slot, operation.number);
    if (!end) return;
    base = *end;
  }
  if (base + part.offset < 0) return;
  if (operation.mode == 2) {
    int& frozen = frozen_[static_cast<std::size_t>(handle.file)];
    const int mine = actor(part.rank, operation.slot);
    if (frozen >= 0 && frozen != mine) return;
    frozen = mine;
  }
  planned.run = true;
  pointer = planned.expected = base + part.offset;
}

void Planner::plan_shared_seek(const Operation& operation, Planned& planned) {
  Handle& handle = handles_[static_cast<std::size_t>(operation.slot)];
  if (!handle.same_view()) return;
  if (!handle.alone && !features_.enabled("shared_pointer_per_handle")) return;
  complete_all(operation.slot, operation.number);
  int64_t base = operation.mode == 1 ? handle.shared_pointer : 0;
  if (operation.mode == 2) {
    const int first = std::countr_zero(static_cast<uint64_t>(handle.members));
    const auto end = end_in_etypes(handle, first, operation.slot, operation.number);
    if (!end || !file(handle.file).settled()) return;
    base = *end;
  }
  if (base + operation.value < 0) return;
  planned.run = true;
  planned.operation.members = handle.members;
  handle.shared_pointer = planned.expected = base + operation.value;
}

void Planner::plan_size_change(const Operation& operation, Planned& planned) {
  Handle& handle = handles_[static_cast<std::size_t>(operation.slot)];
  FileModel& model = file(handle.file);
  if (operation.value < 0 || operation.value > kFileLimit) return;
  if (!handle.writable() && operation.name == "preallocate") return;  // some libraries allow it
  complete_all(operation.slot, operation.number);
  planned.run = true;
  planned.operation.members = handle.members;
  planned.operation.file = handle.file;
  planned.refused = !handle.writable();
  if (planned.refused) return;
  if (!model.settled()) model.settle();
  if (operation.name == "set_size" || operation.value > model.settled_size()) {
    model.resize(operation.value);
  }
}

void Planner::plan_external(const Operation& operation, Planned& planned) {
  FileModel& model = file(operation.file);
  if (operation.name == "delete") {
    if (in_use(operation.file) || !storable(operation.file)) return;
    planned.run = true;
    planned.refused = !model.exists;
    model.reset(false);
    return;
  }
  if (!model.exists || !storable(operation.file) || operation.value < 0 || operation.length <= 0 ||
      operation.value + operation.length > kFileLimit) {
    return;
  }
  for (const Handle& handle : handles_) {
    const bool promised =
        handle.open && handle.file == operation.file && (handle.mode & kUniqueOpen) != 0;
    if (promised) return;  // the program has promised that nobody else has the file open
  }
  if (!model.settled()) model.settle();
  auto transfer = std::make_shared<Transfer>();
  transfer->id = operation_id(operation.number, 0);
  transfer->write = true;
  transfer->start = transfer->end = operation.number;
  transfer->bytes = operation.length;
  transfer->pieces = {{operation.value, operation.length, 0}};
  transfer->low = operation.value;
  transfer->high = operation.value + operation.length;
  model.add_write(transfer);
  model.settle();
  planned.run = true;
  planned.mine = transfer;
}

void Planner::plan_query(const Operation& operation, Planned& planned) {
  Handle& handle = handles_[static_cast<std::size_t>(operation.slot)];
  const std::string_view name = operation.name;
  if (name == "barrier") {
    planned.run = true;
  } else if (name == "check") {
    FileModel& model = file(operation.file);
    planned.run = model.exists;
    planned.compare = model.exists && !storage_fails_ && storable(operation.file);
    if (!model.settled()) model.settle();
  } else if (name == "sync" || name == "atomicity") {  // collective
    complete_all(operation.slot, operation.number);
    planned.run = true;
    if (name == "atomicity") handle.atomic = operation.mode != 0;
  } else if (name == "hints") {
    planned.run = true;
  } else {  // by one rank
    if (operation.parts.size() != 1 || !handle.member(operation.parts[0].rank)) return;
    const auto index = static_cast<std::size_t>(operation.parts[0].rank);
    if (name == "tell_shared") {
      if (!handle.same_view() || handle.split_ordered()) return;
      if (!handle.alone && !features_.enabled("shared_pointer_per_handle")) return;
      if (handle.shared_user >= 0 && handle.shared_user != operation.parts[0].rank) return;
      handle.shared_user = operation.parts[0].rank;
      planned.expected = handle.shared_pointer;
    } else if (name == "tell") {
      planned.expected = handle.pointer[index];
    } else if (name == "get_mode") {
      planned.expected = handle.mode;
    } else if (name == "get_atomicity") {
      planned.expected = handle.atomic ? 1 : 0;
    } else if (name != "get_size" && name != "get_view" && name != "get_hints") {
      return;
    }
    planned.run = true;
  }
}

}  // namespace random_io
