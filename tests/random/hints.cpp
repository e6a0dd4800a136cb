// Hints that change how ROMIO and OMPIO carry out collective accesses, but not what these do.
#include "hints.h"

#include <utility>
#include <vector>

namespace random_io {

MPI_Info make_hints(int64_t index, bool data_sieving) {
  static const std::vector<std::vector<std::pair<const char*, const char*>>> kSets = {
      {},
      {{"cb_buffer_size", "4096"}, {"romio_cb_write", "enable"}, {"romio_cb_read", "enable"}},
      {{"romio_cb_write", "disable"}, {"romio_cb_read", "disable"}},
      {{"cb_nodes", "1"}, {"cb_buffer_size", "65536"}},
      {{"ind_rd_buffer_size", "1024"}, {"access_style", "random"}, {"nonsense", "42"}},
  };
  const auto& set = kSets[static_cast<std::size_t>(index) % kSets.size()];
  if (set.empty() && data_sieving) return MPI_INFO_NULL;
  MPI_Info info;
  MPI_Info_create(&info);
  for (const auto& [key, value] : set) MPI_Info_set(info, key, value);
  if (!data_sieving) {
    MPI_Info_set(info, "romio_ds_write", "disable");
    MPI_Info_set(info, "romio_cb_write", "disable");
  }
  return info;
}

void free_hints(MPI_Info info) {
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
}

}  // namespace random_io
