#include "agent/guests.h"

#include <atomic>
#include <utility>

namespace forebay::agent {

Guests::Guests(runtime::CachedFile& here, const Owners& owners, uint32_t self, FileTerms terms)
    : here_(here), owners_(owners), self_(self), terms_(std::move(terms)) {}

// `here` carries the access out in this node's cache, `through` through the owners.
template <typename Here, typename Through>
Status Guests::carry_out(bool writes, int64_t* moved, Here here, Through through) {
  ++calls_[writes];
  Status status;
  if (writes && here_.keeps_guests()) status = give_if_full();
  bool done = false;
  if (status.ok() && here_.keeps_guests()) {
    status = here();
    std::atomic_thread_fence(std::memory_order_seq_cst);
    done = here_.keeps_guests();
    // The guests have left meanwhile, perhaps without all that this access has written.
    if (!done && status.ok()) status = give();
    if (!done && status.ok()) status = here_.commit_guests({0, INT64_MAX}, owners_.domains, self_);
  } else if (status.ok()) {
    status = give();
  }
  if (!done && status.ok()) status = through(*through_);
  if (status.ok()) bytes_[writes] += *moved;
  return status;
}

Status Guests::access(const Access& access, std::byte* memory, int64_t* moved) {
  return carry_out(
      access.writes, moved, [&] { return here_.access(access, memory, moved); },
      [&](JobFile& file) { return file.access(access, memory, moved); });
}

Status Guests::access(const Access& access, const Tiling& memory, int64_t* moved) {
  return carry_out(
      access.writes, moved, [&] { return here_.access(access, memory, moved); },
      [&](JobFile& file) { return file.access(access, memory, moved); });
}

Status Guests::write(int64_t offset, const std::byte* memory, int64_t length) {
  return carry_out(
      true, &length, [&] { return here_.write(offset, memory, length); },
      [&](JobFile& file) { return file.write(offset, memory, length); });
}

Status Guests::read(int64_t offset, std::byte* memory, int64_t length, int64_t* moved) {
  return carry_out(
      false, moved, [&] { return here_.read(offset, memory, length, moved); },
      [&](JobFile& file) { return file.read(offset, memory, length, moved); });
}

// Without owners, guests stay, and this node commits them when it needs their frames.
Status Guests::give_if_full() {
  if (!gives_ || !here_.lacks_room_for_guests()) return {};
  gives_ = reach_owners().ok();
  return gives_ ? give() : Status();
}

// This rank reaches the file through its owners, once the node has no guests left: it gives them,
// or waits for the rank that does.
Status Guests::give() {
  if (goes_through_) return {};
  Status status = reach_owners();
  if (!status.ok()) return status;
  status = here_.give_guests(
      owners_.domains, self_,
      [this](uint32_t owner, std::span<const Request> bytes) {
        return through_->give(owner, bytes);
      },
      [this] { return through_->refresh_others(); });
  goes_through_ = status.ok();
  return status;
}

// All of them, before the first guest leaves.
Status Guests::reach_owners() {
  if (through_ != nullptr) return {};
  Status status =
      within_memory([&] { through_ = std::make_unique<JobFile>(here_, owners_, self_, terms_); });
  if (status.ok()) status = through_->reach_owners();
  if (!status.ok() && through_ != nullptr) {
    (void)through_->leave(false);
    through_.reset();
  }
  return status;
}

Status Guests::size(int64_t* bytes) {
  if (here_.keeps_guests()) return here_.size(bytes);
  const Status status = give();
  return status.ok() ? through_->size(bytes) : status;
}

bool Guests::has_written() { return std::exchange(noted_writes_, calls_[1]) != calls_[1]; }

// What this rank has written may have been given away by another one.
Status Guests::commit_everywhere(bool forget) {
  if (!here_.keeps_guests()) {
    const Status status = give();
    return status.ok() ? through_->commit_everywhere(forget) : status;
  }
  const Status status = here_.commit();
  if (forget) here_.drop_clean();
  return status;
}

void Guests::forget_everywhere() {
  if (!here_.keeps_guests() && give().ok()) return through_->forget_everywhere();
  here_.drop_clean();
  here_.note_own_change();
}

Status Guests::leave(bool discard) {
  return through_ != nullptr ? through_->leave(discard) : Status();
}

Statistics Guests::statistics() const {
  Statistics sum = through_ != nullptr ? through_->statistics() : here_.statistics();
  // Calls are the user's, each once.
  sum.read_calls = calls_[0];
  sum.write_calls = calls_[1];
  sum.read_bytes = bytes_[0];
  sum.write_bytes = bytes_[1];
  return sum;
}

}  // namespace forebay::agent
