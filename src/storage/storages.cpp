// The table of storages. Options, tests and documentation use it.
#include "storage/posix.h"
#include "storage/storage.h"

namespace forebay {
namespace {

constexpr StorageSpec specs[] = {
    {"posix", "the file itself, by pwritev and preadv", open_posix},
    {"mpi", "the MPI library's own file handle", nullptr},
};

}  // namespace

std::span<const StorageSpec> storages() { return specs; }

const StorageSpec* find_storage(std::string_view name) {
  for (const StorageSpec& spec : specs) {
    if (name == spec.name) return &spec;
  }
  return nullptr;
}

}  // namespace forebay
