// A collective call in which no rank of another node answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

#include "agent/owners_exchange.h"

namespace forebay::agent {

class SilentExchange final : public OwnersExchange {
 public:
  explicit SilentExchange(int64_t ranks = 2) : ranks_(ranks) {}
  int64_t ranks() const override { return ranks_; }
  bool reaches(uint32_t) const override { return true; }
  Status begin_write(uint32_t, std::span<const Extent>, std::span<const std::byte> data) override {
    asked_bytes = std::ssize(data);
    return {Code::network, 0, -1};
  }
  Status begin_read(uint32_t, std::span<const Extent>, int64_t) override {
    return {Code::network, 0, -1};
  }
  Status end(uint32_t, int64_t*) override { return {Code::network, 0, -1}; }
  std::span<const std::byte> answer(uint32_t) const override { return {}; }
  int64_t storage_bytes_for_others() const override { return 0; }

  int64_t asked_bytes = 0;  // by the latest write

 private:
  int64_t ranks_;
};

}  // namespace forebay::agent
