// A list of requests on its way to or from storage: what each one moves, and how it ended. A
// transfer is submitted to a Storage, and completed there (storage.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "extent/status.h"
#include "storage/few.h"

namespace forebay {

class Storage;

// One contiguous file extent, and the memory segments whose bytes form it, in order.
struct Segment {
  std::byte* memory;
  int64_t length;
};
struct Request {
  int64_t offset;  // file offset of the first byte
  std::span<const Segment> segments;
};
int64_t length_of(const Request& request);

struct StorageCounters {
  int64_t requests = 0;  // contiguous file extents
  int64_t syscalls = 0;
};

// Thread rule: one thread at a time. A transfer that is destroyed is completed first.
class Transfer {
 public:
  enum class Direction : uint8_t { write, read };
  // How a request ended; of no meaning while the transfer is under way.
  struct Outcome {
    Status status;
    int64_t transferred = 0;  // bytes, from the request's first on
    int64_t syscalls = 0;
  };
  // What a storage keeps of a transfer while it is under way.
  class Progress {
   public:
    virtual ~Progress() = default;
  };

  Transfer() = default;
  Transfer(Direction direction, std::span<const Request> requests) { set(direction, requests); }
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // What is to be moved: ascending, disjoint requests. They, their segments and their memory stay
  // in place until the transfer is complete. Not while it is under way.
  void set(Direction direction, std::span<const Request> requests) {
    direction_ = direction;
    requests_ = requests;
    outcomes_.make(requests.size());
  }

  Direction direction() const { return direction_; }
  std::span<const Request> requests() const { return requests_; }
  bool under_way() const { return storage_ != nullptr; }

  // Once it is complete:
  std::span<const Outcome> outcomes() const { return outcomes_.values(); }
  Status status() const;  // the first failure in the order of the requests
  StorageCounters counters() const;

  // For storages:
  Outcome& outcome(std::size_t request) { return outcomes_.values()[request]; }
  void keep(std::unique_ptr<Progress> progress) { progress_ = std::move(progress); }
  Progress* progress() const { return progress_.get(); }

 private:
  friend class Storage;
  Direction direction_ = Direction::write;
  std::span<const Request> requests_;
  Few<Outcome, 4> outcomes_;
  std::unique_ptr<Progress> progress_;
  Storage* storage_ = nullptr;  // to which it was submitted
};

}  // namespace forebay
