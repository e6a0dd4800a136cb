// Generates the next operation of a schedule from the seed and the state of the handles. All ranks
// run the same generator, so each knows the operations of all.
#pragma once

#include <deque>
#include <string_view>

#include "features.h"
#include "operation.h"
#include "planner.h"
#include "random_source.h"

namespace random_io {

class Generator {
 public:
  Generator(uint64_t seed, const Planner& planner, const Features& features, int first_number = 1)
      : random_(seed), planner_(planner), features_(features), number_(first_number - 1) {}

  Operation next();

 private:
  Operation invent();
  Operation make(std::string_view name) const;
  Operation open_file();
  Operation set_view(int slot);
  Operation data_access(int slot);
  Operation data_access(int slot, const Routine& routine);
  Operation completion();
  Operation query(int slot);
  Operation seek(int slot);
  Operation change_size(int slot);
  Operation fault(std::string_view kind);
  void interleaved_burst(int slot);
  void read_records(int slot);
  int64_t queue_contiguous(int slot, const Routine& routine, int rank, int64_t offset,
                           int64_t etypes);

  Part transfer_part(const Handle& handle, int rank, const Routine& routine);
  int64_t random_offset(int file);  // bytes
  int64_t random_length();          // bytes
  int random_member(const Handle& handle);
  int open_slot();  // -1: none

  RandomSource random_;
  const Planner& planner_;
  const Features& features_;
  std::deque<Operation> queue_;
  int number_;
};

}  // namespace random_io
