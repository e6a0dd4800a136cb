#include "mpiio/file/visibility.h"

#include <array>
#include <atomic>

#include "mpiio/library/agreement.h"

namespace forebay::mpiio {
namespace {

constexpr const char* key = "romio_visibility_immediate";

std::atomic<Visibility> latest{Visibility::at_once};

bool has_key(MPI_Info info) {
  std::array<char, MPI_MAX_INFO_VAL + 1> value{};
  int found = 0;
  return mpi().Info_get(info, key, MPI_MAX_INFO_VAL, value.data(), &found) == MPI_SUCCESS && found;
}

}  // namespace

void tell_visibility(const Handle& handle, MPI_Info info) {
  // The library carries out accesses, so its answer holds.
  if (handle.pass_through != cached_mode) return;
  if (handle.coherent())
    mpi().Info_set(info, key, "true");
  else if (has_key(info))
    mpi().Info_delete(info, key);
}

void note_visibility(const Handle& handle) {
  if (handle.ranks == 1 || handle.coherent()) return;
  const Visibility mine =
      handle.nodes != nullptr ? Visibility::at_collective_calls : Visibility::at_sync;
  if (latest.load() < mine) latest.store(mine);
}

Visibility latest_visibility() {
  return static_cast<Visibility>(agree_max(mpi().comm_world, static_cast<int64_t>(latest.load())));
}

}  // namespace forebay::mpiio
