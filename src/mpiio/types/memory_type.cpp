#include "mpiio/types/memory_type.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "mpiio/types/datatype.h"
#include "mpiio/types/envelope.h"

namespace forebay::mpiio {
namespace {

// A hash table of predefined types, by handle. A slot is filled once and never changed, so readers
// need no lock.
struct PredefinedSlot {
  std::atomic<uintptr_t> key{0};
  MemoryType type;
};
constexpr std::size_t predefined_slots = 256;
PredefinedSlot predefined_table[predefined_slots];
std::mutex predefined_mutex;

uintptr_t key_of_type(MPI_Datatype type) { return (uintptr_t)type; }

std::size_t first_slot(uintptr_t key) {
  return (key * 0x9e3779b97f4a7c15u >> 32) % predefined_slots;
}

const MemoryType* find_predefined(MPI_Datatype type) {
  const uintptr_t key = key_of_type(type);
  for (std::size_t i = 0, slot = first_slot(key); i < 8;
       ++i, slot = (slot + 1) % predefined_slots) {
    const uintptr_t found = predefined_table[slot].key.load(std::memory_order_acquire);
    if (found == key) return &predefined_table[slot].type;
    if (found == 0) return nullptr;
  }
  return nullptr;
}

const MemoryType* remember_predefined(MPI_Datatype type, const MemoryType& decoded) {
  const std::lock_guard guard(predefined_mutex);
  if (const MemoryType* known = find_predefined(type)) return known;
  const uintptr_t key = key_of_type(type);
  for (std::size_t i = 0, slot = first_slot(key); i < 8;
       ++i, slot = (slot + 1) % predefined_slots) {
    PredefinedSlot& place = predefined_table[slot];
    if (place.key.load(std::memory_order_relaxed) != 0) continue;
    place.type = decoded;
    place.key.store(key, std::memory_order_release);
    return &place.type;
  }
  return nullptr;
}

// A duplicate does not inherit the decoded form: the original may be freed, and its decoded form
// with it.
int copy_nothing(MPI_Datatype, int, void*, void*, void*, int* copied) {
  *copied = 0;
  return MPI_SUCCESS;
}

int delete_decoded(MPI_Datatype, int, void* decoded, void*) {
  delete static_cast<MemoryType*>(decoded);
  return MPI_SUCCESS;
}

int attribute_key() {
  static const int key = [] {
    int created = MPI_KEYVAL_INVALID;
    const int code = mpi().Type_create_keyval(copy_nothing, delete_decoded, &created, nullptr);
    return code == MPI_SUCCESS ? created : MPI_KEYVAL_INVALID;
  }();
  return key;
}

bool decode_into(MPI_Datatype type, MemoryType& decoded) {
  std::optional<Datatype> datatype = decode(type);
  if (!datatype) return false;
  decoded.size = datatype->size();
  decoded.extent = datatype->extent_bytes;
  decoded.first = datatype->layout->first();
  decoded.dense = datatype->contiguous;
  decoded.layout = std::move(datatype->layout);
  return true;
}

}  // namespace

bool predefined(MPI_Datatype type) {
  Envelope envelope;
  return get_envelope(type, envelope) && envelope.combiner == MPI_COMBINER_NAMED;
}

bool committed(MPI_Comm comm, MPI_Datatype type) {
  if (type == mpi().datatype_null) return false;
  char nothing = 0;
  int position = 0;
  return mpi().Pack(&nothing, 0, type, &nothing, 1, &position, comm) == MPI_SUCCESS;
}

const MemoryType* memory_type(MPI_Comm comm, MPI_Datatype type) {
  if (const MemoryType* known = find_predefined(type)) return known;
  if (!committed(comm, type)) return nullptr;
  const int key = attribute_key();
  void* attribute = nullptr;
  int found = 0;
  if (key != MPI_KEYVAL_INVALID &&
      mpi().Type_get_attr(type, key, static_cast<void*>(&attribute), &found) == MPI_SUCCESS &&
      found)
    return static_cast<const MemoryType*>(attribute);

  std::unique_ptr<MemoryType> decoded(new (std::nothrow) MemoryType);
  if (decoded == nullptr || !decode_into(type, *decoded)) return nullptr;
  if (predefined(type))
    if (const MemoryType* kept = remember_predefined(type, *decoded)) return kept;
  if (key != MPI_KEYVAL_INVALID && mpi().Type_set_attr(type, key, decoded.get()) == MPI_SUCCESS)
    return decoded.release();
  thread_local std::unique_ptr<MemoryType> latest;
  latest = std::move(decoded);
  return latest.get();
}

}  // namespace forebay::mpiio
