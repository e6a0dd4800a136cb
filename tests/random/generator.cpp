// The mix of operations. Offsets concentrate in hot regions and around page boundaries. Lengths are
// mostly tiny, and sometimes span many pages. Ranks often share a page.
#include "generator.h"

#include <algorithm>
#include <cerrno>
#include <numeric>

#include "inject.h"

namespace random_io {
namespace {

constexpr int64_t kHintSets = 5;  // see hints.cpp

struct Weight {
  const char* name;
  int64_t weight;
};
// Weights: about so many of a thousand operations are of each kind; the others are data accesses.
constexpr Weight kWeights[] = {
    {"barrier", 90},    {"view", 30},        {"seek", 25},     {"open", 25},  {"close", 16},
    {"completion", 60}, {"query", 50},       {"sync", 15},     {"check", 12}, {"change_size", 12},
    {"external", 6},    {"seek_shared", 10}, {"atomicity", 6}, {"hints", 4},  {"delete", 3},
    {"burst", 8},       {"end", 30},         {"fail", 10},     {"heal", 30},  {"arm", 4},
    {"kill", 4},        {"records", 6},
};

}  // namespace

Operation Generator::make(std::string_view name) const {
  Operation operation;
  operation.number = number_;
  operation.name = name;
  return operation;
}

Operation Generator::next() {
  for (;;) {
    Operation operation;
    if (!queue_.empty()) {
      operation = std::move(queue_.front());
      queue_.pop_front();
    } else {
      operation = invent();
    }
    if (operation.name.empty() || !features_.enabled(operation.name)) continue;
    operation.number = ++number_;
    return operation;
  }
}

Operation Generator::invent() {
  const int slot = open_slot();
  if (slot < 0) return open_file();
  const Handle& handle = planner_.handle(slot);
  int64_t roll = random_.below(1000);
  std::string_view kind = "data";
  for (const Weight& weight : kWeights) {
    if (roll < weight.weight) {
      kind = weight.name;
      break;
    }
    roll -= weight.weight;
  }
  if (!features_.enabled(kind)) return Operation();
  if (kind == "data") return data_access(slot);
  if (kind == "open") return open_file();
  if (kind == "view") return set_view(slot);
  if (kind == "seek") return seek(slot);
  if (kind == "completion") return completion();
  if (kind == "query") return query(slot);
  if (kind == "change_size") return change_size(slot);
  if (kind == "fail" || kind == "heal" || kind == "arm" || kind == "kill") return fault(kind);
  if (kind == "burst") {
    interleaved_burst(slot);
    return Operation();
  }
  if (kind == "records") {
    read_records(slot);
    return Operation();
  }
  Operation operation = make(kind);
  operation.slot =
      kind == "barrier" || kind == "check" || kind == "external" || kind == "delete" ? 0 : slot;
  if (kind == "check") operation.file = handle.file;
  if (kind == "end" && handle.split == nullptr) return Operation();
  if (kind == "seek_shared") {
    operation.mode = random_.below(features_.enabled("seek_end") ? 3 : 2);
    operation.value = operation.mode == 0 ? random_.below(400) : random_.between(-20, 20);
    if (!handle.same_view()) return Operation();
  }
  if (kind == "atomicity") operation.mode = random_.below(2);
  if (kind == "hints") operation.hints = random_.below(kHintSets);
  if (kind == "delete" || kind == "external")
    operation.file = static_cast<int>(random_.below(kFiles));
  if (kind == "external") {
    operation.value = random_offset(operation.file);
    operation.length = std::max<int64_t>(1, std::min<int64_t>(random_length(), 100000));
  }
  return operation;
}

int Generator::open_slot() {
  int open[kSlots], count = 0;
  for (int slot = 0; slot < kSlots; ++slot) {
    if (planner_.handle(slot).open) open[count++] = slot;
  }
  return count == 0 ? -1 : open[random_.below(count)];
}

int Generator::random_member(const Handle& handle) {
  int rank = 0;
  do {
    rank = static_cast<int>(random_.below(planner_.ranks()));
  } while (!handle.member(rank));
  return rank;
}

Operation Generator::open_file() {
  Operation operation = make("open");
  operation.slot = static_cast<int>(random_.below(kSlots));
  operation.file = random_.one_in(2) ? 0 : static_cast<int>(random_.below(kFiles));
  if (random_.one_in(5) && features_.enabled("aliases")) {
    operation.alias = static_cast<int>(random_.below(kAliases));
  }
  const int64_t world = (1 << planner_.ranks()) - 1;
  operation.members = world;
  if (random_.one_in(3) && features_.enabled("subcommunicators")) {
    operation.members =
        random_.one_in(2) ? 1 << random_.below(planner_.ranks()) : random_.between(1, world);
  }
  const int64_t kind = random_.below(12);
  if (kind == 0 && features_.enabled("write_only")) {
    operation.mode = kWriteOnly | kCreate;
  } else if (kind == 1 && features_.enabled("read_only")) {
    operation.mode = kReadOnly;
  } else {
    operation.mode = kReadWrite;
    if (!random_.one_in(10)) operation.mode |= kCreate;
  }
  if ((operation.mode & kCreate) != 0 && random_.one_in(12)) operation.mode |= kExclusive;
  if (random_.one_in(10) && features_.enabled("append")) operation.mode |= kAppend;
  if (random_.one_in(15) &&
      ((operation.mode & kExclusive) == 0 || features_.enabled("refused_delete_on_close"))) {
    operation.mode |= kDeleteOnClose;
  }
  if (random_.one_in(15) && features_.enabled("unique_open")) operation.mode |= kUniqueOpen;
  if (random_.one_in(3)) operation.hints = random_.below(kHintSets);
  return operation;
}

Operation Generator::set_view(int slot) {
  const Handle& handle = planner_.handle(slot);
  Operation operation = make("view");
  operation.slot = slot;
  static constexpr const char* kEtypes[] = {"b1", "b1",        "b1",        "i4",
                                            "d8", "con(3;i4)", "con(5;b1)", "dup(;d8)"};
  operation.etype = parse_datatype(kEtypes[random_.below(std::size(kEtypes))]);
  operation.large = features_.enabled("large_counts") ? random_.below(2) : 0;
  DatatypeLimits limits;
  limits.file_type = true;
  limits.data_outside_bounds = features_.enabled("data_outside_bounds");
  limits.gapless_structs_within = features_.enabled("gapless_structs_within");
  limits.nested = features_.enabled("nested_file_types");
  limits.darray = features_.enabled("darray");
  limits.zero_length_blocks = features_.enabled("zero_length_blocks");
  const bool plain = random_.one_in(3), same = random_.one_in(2), stagger = random_.one_in(2);
  const DatatypeRef common =
      plain ? operation.etype : random_datatype(random_, operation.etype, limits);
  const int64_t displacement = random_.one_in(2) ? 0 : random_.below(3000);
  for (int rank = 0; rank < planner_.ranks(); ++rank) {
    if (!handle.member(rank)) continue;
    Part part;
    part.rank = rank;
    part.displacement = displacement;
    part.file_type = common;
    if (!same) {
      if (stagger) {
        part.displacement += rank * common->size;
      } else {
        part.displacement = random_.below(3000);
        part.file_type = random_datatype(random_, operation.etype, limits);
      }
    }
    operation.parts.push_back(part);
  }
  return operation;
}

int64_t Generator::random_offset(int file) {
  const int64_t size = planner_.file(file).settled_size();
  const int64_t roll = random_.below(100);
  if (roll < 40) return random_.below(4096);
  if (roll < 60) {
    static constexpr int64_t kPages[] = {512, 4096, 4096, 65536};
    const int64_t page = kPages[random_.below(4)];
    return std::max<int64_t>(
        0, random_.below(page == 65536 ? 6 : 20) * page + random_.between(-40, 40));
  }
  if (roll < 85) return random_.below(300 << 10);
  if (roll < 98) return std::max<int64_t>(0, size + random_.between(-60, 20));
  return random_.below(3 << 20);
}

int64_t Generator::random_length() {
  const int64_t roll = random_.below(1000);
  if (roll < 40) return 0;
  if (roll < 500) return random_.between(1, 64);
  if (roll < 850) return random_.between(1, 1000);
  if (roll < 985) return random_.between(1, 12000);
  if (roll < 997) return random_.between(1, 300 << 10);
  return random_.between(1, 2 << 20);
}

Part Generator::transfer_part(const Handle& handle, int rank, const Routine& routine) {
  Part part;
  part.rank = rank;
  const View& view = handle.view[static_cast<std::size_t>(rank)];
  const bool as_bytes = random_.one_in(3);
  const DatatypeRef element = as_bytes ? parse_datatype("b1")
                                       : parse_datatype(std::string(1, view.etype->base) +
                                                        std::to_string(view.etype->base_size));
  part.memory = element;
  if (random_.one_in(2) && features_.enabled("memory_types")) {
    DatatypeLimits limits;
    limits.negative_bounds = features_.enabled("negative_bounds");
    limits.darray = features_.enabled("darray");
    limits.zero_length_blocks = features_.enabled("zero_length_blocks");
    limits.gapless_structs_within = features_.enabled("gapless_structs_within");
    part.memory = random_datatype(random_, element, limits);
  }
  if (part.memory->runs.size() == 1 && part.memory->true_lower != 0 &&
      !features_.enabled("displaced_memory")) {
    part.memory = element;
  }
  if (part.memory->base == 'b') part.shift = random_.below(8);
  const int64_t size = part.memory->size, unit = view.etype->size;
  const int64_t step = unit / std::gcd(unit, size);
  int64_t copies = (random_length() + size - 1) / size;
  copies = std::min(copies, (4 << 20) / std::max<int64_t>(1, part.memory->extent()));
  part.count = (copies + step - 1) / step * step;
  if (routine.position == Position::explicit_offset) {
    part.offset = view.data_below(random_offset(handle.file)) / unit;
  }
  return part;
}

Operation Generator::data_access(int slot) {
  const Handle& handle = planner_.handle(slot);
  for (int attempt = 0; attempt < 20; ++attempt) {
    const auto all = routines();
    const Routine& routine =
        all[static_cast<std::size_t>(random_.below(static_cast<int64_t>(all.size())))];
    if (!features_.enabled(routine.name)) continue;
    const bool possible = routine.write ? handle.writable() : handle.readable();
    if (!possible && !(random_.one_in(20) && features_.enabled("refused_access"))) continue;
    if (routine.position == Position::shared_pointer && !handle.same_view()) continue;
    if (routine.collective && handle.split != nullptr) continue;
    return data_access(slot, routine);
  }
  return Operation();
}

Operation Generator::data_access(int slot, const Routine& routine) {
  const Handle& handle = planner_.handle(slot);
  Operation operation = make(routine.name);
  operation.slot = slot;
  operation.large = features_.enabled("large_counts") ? random_.below(2) : 0;
  const auto add = [&](int rank) {
    Part part = transfer_part(handle, rank, routine);
    if (routine.completion == Completion::nonblocking) {
      part.request = static_cast<int>(random_.below(kRequests));
    }
    operation.parts.push_back(part);
  };
  if (!routine.collective) {
    add(random_member(handle));
    return operation;
  }
  const bool interleave = random_.one_in(3);
  for (int rank = 0; rank < planner_.ranks(); ++rank) {
    if (!handle.member(rank)) continue;
    if (interleave && !operation.parts.empty()) {
      Part part = operation.parts.back();
      const auto index = static_cast<std::size_t>(rank);
      part.rank = rank;
      part.offset += part.count * part.memory->size / handle.view[index].etype->size;
      operation.parts.push_back(part);
    } else {
      add(rank);
    }
  }
  return operation;
}

// Ranks write (or read) small records in turn, as the field's programs do.
void Generator::interleaved_burst(int slot) {
  const Handle& handle = planner_.handle(slot);
  const Routine& routine =
      *find_routine(handle.writable() && !random_.one_in(3) ? "write_at" : "read_at");
  if (!(routine.write ? handle.writable() : handle.readable())) return;
  const int64_t length = random_.between(1, 700), rounds = random_.between(2, 12);
  int64_t offset = random_offset(handle.file);
  for (int64_t round = 0; round < rounds; ++round) {
    for (int rank = 0; rank < planner_.ranks(); ++rank) {
      if (!handle.member(rank)) continue;
      offset += queue_contiguous(slot, routine, rank, offset, length);
    }
  }
}

// A rank reads a few variables of each record, unlike in place and size, while another one may
// write among them.
void Generator::read_records(int slot) {
  const Handle& handle = planner_.handle(slot);
  if (!handle.readable()) return;
  struct Variable {
    int64_t offset, length;
  };
  std::vector<Variable> variables;
  for (int64_t left = random_.between(1, 4); left > 0; --left) {
    variables.push_back({random_.below(6000), random_.between(1, 400)});
  }
  const int reader = random_member(handle), writer = random_member(handle);
  const bool writes = handle.writable() && random_.one_in(2);
  const int64_t begin = random_offset(handle.file), step = random_.below(20000);
  for (int64_t record = 0, records = random_.between(4, 9); record < records; ++record) {
    for (const Variable& variable : variables) {
      const int64_t offset = begin + record * step + variable.offset;
      if (writes && random_.one_in(3)) {
        queue_contiguous(slot, *find_routine("write_at"), writer, offset + random_.below(5000),
                         random_.between(1, 50));
      }
      queue_contiguous(slot, *find_routine("read_at"), reader, offset, variable.length);
    }
  }
}

// `offset` is in bytes of the rank's view, `etypes` how many are moved; returns the bytes moved.
int64_t Generator::queue_contiguous(int slot, const Routine& routine, int rank, int64_t offset,
                                    int64_t etypes) {
  const View& view = planner_.handle(slot).view[static_cast<std::size_t>(rank)];
  Operation operation = make(routine.name);
  operation.slot = slot;
  Part part;
  part.rank = rank;
  part.memory = parse_datatype("b1");
  part.count = etypes * view.etype->size;
  part.offset = offset / view.etype->size;
  operation.parts.push_back(part);
  queue_.push_back(operation);
  return part.count;
}

Operation Generator::completion() {
  static constexpr const char* kNames[] = {"wait", "wait",    "wait",   "waitall",
                                           "test", "testany", "status", "cancel"};
  Operation operation = make(kNames[random_.below(std::size(kNames))]);
  Part part;
  part.rank = static_cast<int>(random_.below(planner_.ranks()));
  const auto first = static_cast<int>(random_.below(kRequests));
  for (int i = 0; i < kRequests; ++i) {
    part.request = (first + i) % kRequests;
    if (planner_.pending(part.rank, part.request).transfer) {
      operation.parts.push_back(part);
      return operation;
    }
  }
  return Operation();
}

Operation Generator::query(int slot) {
  static constexpr const char* kNames[] = {"tell",     "tell",     "tell_shared",   "get_size",
                                           "get_view", "get_mode", "get_atomicity", "get_hints"};
  Operation operation = make(kNames[random_.below(std::size(kNames))]);
  operation.slot = slot;
  Part part;
  part.rank = random_member(planner_.handle(slot));
  part.offset = random_.below(2000);
  operation.parts.push_back(part);
  return operation;
}

Operation Generator::seek(int slot) {
  const Handle& handle = planner_.handle(slot);
  Operation operation = make("seek");
  operation.slot = slot;
  Part part;
  part.rank = random_member(handle);
  operation.mode = random_.below(features_.enabled("seek_end") ? 3 : 2);
  const View& view = handle.view[static_cast<std::size_t>(part.rank)];
  part.offset = operation.mode == 0 ? view.data_below(random_offset(handle.file)) / view.etype->size
                                    : random_.between(-100, 60);
  operation.parts.push_back(part);
  return operation;
}

Operation Generator::change_size(int slot) {
  const Handle& handle = planner_.handle(slot);
  Operation operation = make(random_.one_in(3) ? "preallocate" : "set_size");
  operation.slot = slot;
  operation.value = random_.one_in(4) ? 0 : random_offset(handle.file);
  return operation;
}

// Some ranks' storage calls fail; some ranks are killed, here or within the next operations.
Operation Generator::fault(std::string_view kind) {
  if (kind == "heal" && !planner_.storage_fails()) return Operation();
  Operation operation = make(kind);
  const int64_t all = (1 << planner_.ranks()) - 1;
  operation.members = random_.one_in(2) ? all : random_.between(1, all);
  if (kind == "fail") {
    static constexpr int64_t kErrors[] = {ENOSPC, ENOSPC, EDQUOT, EIO};
    static constexpr int64_t kCalls[] = {INJECT_WRITE, INJECT_WRITE, INJECT_WRITE, INJECT_READ,
                                         INJECT_WRITE | INJECT_READ};
    operation.error = kErrors[random_.below(std::size(kErrors))];
    operation.mode = kCalls[random_.below(std::size(kCalls))];
    if (features_.enabled("fail_flush") && random_.one_in(10)) operation.mode = INJECT_FSYNC;
    operation.value = random_.between(1, random_.one_in(2) ? 2 : 12);
    operation.length = random_.one_in(2) ? 0 : random_.between(1, 4);
  } else if (kind == "arm") {
    operation.mode = random_.one_in(2) ? kAtStorageCall : kAfterMicroseconds;
    operation.value =
        operation.mode == kAtStorageCall ? random_.between(1, 30) : random_.below(20000);
  } else if (kind == "kill") {
    operation.mode = random_.one_in(2) ? kEachItself : kFirstKillsAll;
  }
  return operation;
}

}  // namespace random_io
