#include "mpiio/library/own_comm.h"

#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "extent/status.h"
#include "mpiio/library/comm_attribute.h"

namespace forebay::mpiio {

struct CommPool {
  std::mutex mutex;
  std::map<int64_t, MPI_Comm> spares;  // by number
  int64_t made = 0;
  bool orphaned = false;  // the user's communicator was freed: nobody will ask again
  std::optional<bool> one_node;
};

namespace {

constexpr std::size_t most_spares = 16;

std::atomic<bool> ending{false};

// The attribute of the user's communicator; destroyed when the user frees it.
struct PoolOfComm {
  std::shared_ptr<CommPool> pool = std::make_shared<CommPool>();

  ~PoolOfComm() {
    const std::lock_guard lock(pool->mutex);
    pool->orphaned = true;
    if (ending) return;
    for (auto& [number, comm] : pool->spares) mpi().Comm_free(&comm);
  }
};

// The communicator's pool, or null. With `make`, a new pool if there is none.
std::shared_ptr<CommPool> pool_of(MPI_Comm users, bool make) {
  if (const PoolOfComm* const known = CommAttribute<PoolOfComm>::of(users)) return known->pool;
  if (!make) return nullptr;
  const PoolOfComm* const fresh =
      CommAttribute<PoolOfComm>::attach(users, std::make_unique<PoolOfComm>());
  return fresh != nullptr ? fresh->pool : nullptr;
}

}  // namespace

void prepare_own_comms() { CommAttribute<PoolOfComm>::key(); }

int64_t spare_comm(MPI_Comm users) {
  const std::shared_ptr<CommPool> pool = pool_of(users, false);
  if (pool == nullptr) return -1;
  const std::lock_guard lock(pool->mutex);
  return pool->spares.empty() ? -1 : pool->spares.begin()->first;
}

OwnComm take_comm(MPI_Comm users, int64_t number) {
  OwnComm own{mpi().comm_null, number, {}};
  const Status pooled = within_memory([&] { own.pool = pool_of(users, true); });
  (void)pooled;  // without a pool, give_back() frees the communicator
  if (number >= 0) {
    const std::lock_guard lock(own.pool->mutex);
    own.comm = own.pool->spares.extract(number).mapped();
    return own;
  }
  if (own.pool != nullptr) {
    const std::lock_guard lock(own.pool->mutex);
    own.number = own.pool->made++;
  }
  // MPI_Comm_create, unlike MPI_Comm_dup, does not call the user's functions that copy attributes.
  MPI_Group ranks;
  if (mpi().Comm_group(users, &ranks) != MPI_SUCCESS) return own;
  if (mpi().Comm_create(users, ranks, &own.comm) != MPI_SUCCESS)
    own.comm = mpi().comm_null;
  else
    mpi().Comm_set_errhandler(own.comm, mpi().errors_return);
  mpi().Group_free(&ranks);
  return own;
}

std::optional<bool> known_one_node(MPI_Comm users) {
  const std::shared_ptr<CommPool> pool = pool_of(users, false);
  if (pool == nullptr) return std::nullopt;
  const std::lock_guard lock(pool->mutex);
  return pool->one_node;
}

void keep_one_node(const OwnComm& own, bool one_node) {
  const std::lock_guard lock(own.pool->mutex);
  own.pool->one_node = one_node;
}

void give_back(OwnComm own) {
  if (own.comm == mpi().comm_null) return;
  if (own.pool != nullptr) {
    const std::lock_guard lock(own.pool->mutex);
    if (!own.pool->orphaned && own.pool->spares.size() < most_spares) {
      const Status kept = within_memory([&] { own.pool->spares.emplace(own.number, own.comm); });
      (void)kept;  // without memory it is not kept, nor freed: to free it would need all ranks
      return;
    }
  }
  mpi().Comm_free(&own.comm);
}

void keep_comms_to_the_end() { ending = true; }

}  // namespace forebay::mpiio
