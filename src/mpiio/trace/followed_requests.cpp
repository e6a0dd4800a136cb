#include "mpiio/trace/followed_requests.h"

#include <array>
#include <limits>
#include <memory>
#include <new>

#include "runtime/trace/trace_log.h"

namespace forebay::mpiio {

std::atomic<int32_t> followed_requests{0};

namespace {

// A followed request. `key` is its handle, or says that the slot is free or taken. A thread that
// exchanges a handle (or `free_slot`) for `taken` may use the other members until it stores another
// key.
struct Slot {
  std::atomic<uintptr_t> key;
  uint32_t number;  // of an access; 0: the request is of a collective
  int64_t requested;
  Meeting meeting;
  int index;   // its index in the array of a routine that may complete it
  Slot* next;  // the next slot of that array
};

constexpr uintptr_t free_slot = 0, taken = 1;
constexpr std::size_t slot_count = 8192;
constexpr std::size_t searched = 16;  // slots, from its hash on, in which a request may be

constinit std::array<Slot, slot_count> slots{};

uintptr_t key_of(MPI_Request request) { return (uintptr_t)request; }

// Finds the first slot with key `from`, among those that may hold `key`, and exchanges its key for
// `to`; nullptr: there is none.
Slot* exchange(uintptr_t key, uintptr_t from, uintptr_t to) {
  const std::size_t first = key * 0x9e3779b97f4a7c15u >> 40;
  for (std::size_t i = 0; i < searched; ++i) {
    Slot& slot = slots[(first + i) % slot_count];
    uintptr_t found = slot.key.load(std::memory_order_relaxed);
    if (found == from && slot.key.compare_exchange_strong(found, to, std::memory_order_acquire,
                                                          std::memory_order_relaxed))
      return &slot;
  }
  return nullptr;
}

// Takes a free slot for a request: the caller fills it and calls publish(). nullptr: none is free.
Slot* take_free(MPI_Request request) {
  return key_of(request) > taken ? exchange(key_of(request), free_slot, taken) : nullptr;
}

void publish(Slot& slot, MPI_Request request) {
  followed_requests.fetch_add(1, std::memory_order_relaxed);
  slot.key.store(key_of(request), std::memory_order_release);
}

// Records the completion of a slot's request. `status`: null if the request has failed.
void record_end(const Slot& slot, const MPI_Status* status) {
  if (slot.number != 0)
    record_completion(slot.number, slot.requested, status);
  else if (status != nullptr)
    record_part(slot.meeting, Part::acquires, runtime::trace_ticks());
}

void release(Slot& slot) {
  slot.key.store(free_slot, std::memory_order_release);
  followed_requests.fetch_sub(1, std::memory_order_relaxed);
}

// The followed ones among the requests of a call that may complete them. They are taken out of the
// table before the call: as soon as the library has completed a request, another thread's access
// may get the same handle. Requests that the call does not complete are put back.
class Taken {
 public:
  Taken(const MPI_Request* requests, int count) : requests_(requests) {
    Slot** end = &first_;
    for (int i = 0; requests != nullptr && i < count; ++i) {
      const uintptr_t key = key_of(requests[i]);
      Slot* const slot = key > taken ? exchange(key, key, taken) : nullptr;
      if (slot == nullptr) continue;
      slot->index = i;
      slot->next = nullptr;
      *end = slot;
      end = &slot->next;
    }
  }
  bool none() const { return first_ == nullptr; }

  // Makes statuses for a call that ignores them; null without memory, or if none of the requests is
  // followed.
  std::unique_ptr<MPI_Status[]> statuses_for(int count, MPI_Status*& statuses) const {
    std::unique_ptr<MPI_Status[]> own;
    if (none() || statuses != MPI_STATUSES_IGNORE) return own;
    // Zeroed, since MPICH's MPI_Testall takes an error that it finds there for its own.
    own.reset(new (std::nothrow) MPI_Status[static_cast<std::size_t>(count)]());
    if (own != nullptr) statuses = own.get();
    return own;
  }

  // Puts the requests back for which complete(index) is false. For the others calls done(slot), and
  // stops following them.
  template <typename Complete, typename Done>
  void settle(Complete complete, Done done) {
    for (Slot* slot = first_; slot != nullptr;) {
      Slot* const next = slot->next;
      if (complete(slot->index)) {
        done(*slot);
        release(*slot);
      } else {
        slot->key.store(key_of(requests_[slot->index]), std::memory_order_release);
      }
      slot = next;
    }
  }
  // The same for routines that replace completed requests with MPI_REQUEST_NULL.
  template <typename Done>
  void settle(Done done) {
    settle([this](int index) { return requests_[index] == mpi().request_null; }, done);
  }

 private:
  const MPI_Request* requests_;
  Slot* first_ = nullptr;
};

// Calls a routine that completes at most one of `requests`.
template <typename LibraryCall>
int complete_one(int count, MPI_Request* requests, MPI_Status* status, LibraryCall library_call) {
  Taken followed(requests, count);
  MPI_Status own{};
  if (!followed.none() && status == MPI_STATUS_IGNORE) status = &own;
  const int code = library_call(status);
  followed.settle(
      [&](const Slot& slot) { record_end(slot, code == MPI_SUCCESS ? status : nullptr); });
  return code;
}

constexpr int no_place = -1;

// Calls a routine that completes any number of `requests`. place_of(index): the place of a
// completed request's status in the array of statuses.
template <typename LibraryCall, typename PlaceOf>
int complete_many(int count, MPI_Request* requests, MPI_Status* statuses, LibraryCall library_call,
                  PlaceOf place_of) {
  Taken followed(requests, count);
  const std::unique_ptr<MPI_Status[]> own = followed.statuses_for(count, statuses);
  const int code = library_call(statuses);
  followed.settle([&](const Slot& slot) {
    const int place = statuses == MPI_STATUSES_IGNORE ? no_place : place_of(slot.index);
    if (place == no_place) return;  // without memory, the completion stays unknown
    // Statuses have error codes only if the routine returned an error.
    const bool failed = code != MPI_SUCCESS && statuses[place].MPI_ERROR != MPI_SUCCESS;
    record_end(slot, failed ? nullptr : &statuses[place]);
  });
  return code;
}

int same_place(int index) { return index; }

// The place of a status for routines that list the requests they have completed.
auto listed_place(const int* completed, const int* indices) {
  return [=](int index) {
    for (int i = 0; i < *completed; ++i)
      if (indices[i] == index) return i;
    return no_place;
  };
}

// Calls a routine that tells whether `requests` are complete and does not free them. A request that
// it says is complete is recorded and no longer followed; if it fails, all are followed further.
// told_of(index): whether the status is that of this request.
template <typename LibraryCall, typename ToldOf>
int status_of_one(int count, const MPI_Request* requests, MPI_Status* status,
                  LibraryCall library_call, ToldOf told_of) {
  Taken followed(requests, count);
  MPI_Status own{};
  if (!followed.none() && status == MPI_STATUS_IGNORE) status = &own;
  const int code = library_call(status);
  followed.settle([&](int index) { return code == MPI_SUCCESS && told_of(index); },
                  [&](const Slot& slot) { record_end(slot, status); });
  return code;
}

// The same for a routine with many statuses. place_of(index): the place of this request's status,
// or no_place.
template <typename LibraryCall, typename PlaceOf>
[[maybe_unused]] int status_of_many(int count, const MPI_Request* requests, MPI_Status* statuses,
                                    LibraryCall library_call, PlaceOf place_of) {
  Taken followed(requests, count);
  const std::unique_ptr<MPI_Status[]> own = followed.statuses_for(count, statuses);
  const int code = library_call(statuses);
  const bool told = code == MPI_SUCCESS && statuses != MPI_STATUSES_IGNORE;
  followed.settle([&](int index) { return told && place_of(index) != no_place; },
                  [&](const Slot& slot) { record_end(slot, &statuses[place_of(slot.index)]); });
  return code;
}

}  // namespace

uint32_t next_request_number() {
  static std::atomic<uint64_t> last{0};
  const uint64_t number = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return number <= std::numeric_limits<uint32_t>::max() ? static_cast<uint32_t>(number) : 0;
}

uint32_t follow_request(MPI_Request request, int64_t requested) {
  const uint32_t number = next_request_number();
  Slot* const slot = number != 0 ? take_free(request) : nullptr;
  if (slot == nullptr) return 0;
  slot->number = number;
  slot->requested = requested;
  publish(*slot, request);
  return number;
}

void follow_meeting(MPI_Request request, const Meeting& meeting) {
  if (request == mpi().request_null) {  // nothing is left to complete
    record_part(meeting, Part::acquires, runtime::trace_ticks());
    return;
  }
  Slot* const slot = take_free(request);
  if (slot == nullptr) return;
  slot->number = 0;
  slot->meeting = meeting;
  publish(*slot, request);
}

void record_completion(uint32_t number, int64_t requested, const MPI_Status* status) {
  const int64_t now = runtime::trace_ticks();
  MPI_Count bytes = 0;
  const bool told = status != nullptr &&
                    mpi().Get_elements_x(status, mpi().byte, &bytes) == MPI_SUCCESS && bytes > 0;
  runtime::trace_completion({number, now, requested - (told ? int64_t{bytes} : 0)});
}

int wait_followed(MPI_Request* request, MPI_Status* status) {
  return complete_one(1, request, status,
                      [&](MPI_Status* told) { return mpi().Wait(request, told); });
}

int test_followed(MPI_Request* request, int* flag, MPI_Status* status) {
  return complete_one(1, request, status,
                      [&](MPI_Status* told) { return mpi().Test(request, flag, told); });
}

int waitany_followed(int count, MPI_Request* requests, int* index, MPI_Status* status) {
  return complete_one(count, requests, status, [&](MPI_Status* told) {
    return mpi().Waitany(count, requests, index, told);
  });
}

int testany_followed(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  return complete_one(count, requests, status, [&](MPI_Status* told) {
    return mpi().Testany(count, requests, index, flag, told);
  });
}

int waitall_followed(int count, MPI_Request* requests, MPI_Status* statuses) {
  return complete_many(
      count, requests, statuses,
      [&](MPI_Status* told) { return mpi().Waitall(count, requests, told); }, same_place);
}

int testall_followed(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  return complete_many(
      count, requests, statuses,
      [&](MPI_Status* told) { return mpi().Testall(count, requests, flag, told); }, same_place);
}

int waitsome_followed(int count, MPI_Request* requests, int* completed, int* indices,
                      MPI_Status* statuses) {
  return complete_many(
      count, requests, statuses,
      [&](MPI_Status* told) { return mpi().Waitsome(count, requests, completed, indices, told); },
      listed_place(completed, indices));
}

int testsome_followed(int count, MPI_Request* requests, int* completed, int* indices,
                      MPI_Status* statuses) {
  return complete_many(
      count, requests, statuses,
      [&](MPI_Status* told) { return mpi().Testsome(count, requests, completed, indices, told); },
      listed_place(completed, indices));
}

int request_get_status_followed(MPI_Request request, int* flag, MPI_Status* status) {
  return status_of_one(
      1, &request, status,
      [&](MPI_Status* told) { return mpi().Request_get_status(request, flag, told); },
      [=](int) { return *flag != 0; });
}

#if defined(FOREBAY_STATUS_OF_MANY)

int request_get_status_any_followed(int count, const MPI_Request* requests, int* index, int* flag,
                                    MPI_Status* status) {
  return status_of_one(
      count, requests, status,
      [&](MPI_Status* told) {
        return mpi().Request_get_status_any(count, requests, index, flag, told);
      },
      [=](int asked) { return *flag != 0 && *index == asked; });
}

int request_get_status_some_followed(int count, const MPI_Request* requests, int* completed,
                                     int* indices, MPI_Status* statuses) {
  return status_of_many(
      count, requests, statuses,
      [&](MPI_Status* told) {
        return mpi().Request_get_status_some(count, requests, completed, indices, told);
      },
      listed_place(completed, indices));
}

int request_get_status_all_followed(int count, const MPI_Request* requests, int* flag,
                                    MPI_Status* statuses) {
  return status_of_many(
      count, requests, statuses,
      [&](MPI_Status* told) { return mpi().Request_get_status_all(count, requests, flag, told); },
      [=](int index) { return *flag != 0 ? index : no_place; });
}

#endif

// After this call nobody is told of the request's completion, so it is no longer followed.
int request_free_followed(MPI_Request* request) {
  Taken followed(request, 1);
  const int code = mpi().Request_free(request);
  followed.settle([](const Slot&) {});
  return code;
}

}  // namespace forebay::mpiio
