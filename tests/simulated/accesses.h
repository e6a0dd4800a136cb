// What a rank does with a file, and what must hold of each access and commit.
#pragma once

#include "simulated/run_state.h"

namespace forebay::test {

class Accesses : public RunState {
 protected:
  using RunState::RunState;
  void write(const Operation& op, Opened& opened);
  void read(const Operation& op, Opened& opened);
  // In rounds the policy learns of what is touched, each page once, and of nothing else.
  // `whole`: the file has all of it.
  void check_touched(const Rounds& rounds, Opened& opened, bool whole);
  // Who wants every write committed at once has it in storage.
  void check_written_through(const Operation& op);
  // Writers keep to the bound themselves, but for pages that waited for their frames.
  void check_dirty(const Operation& op);
  // What a write or read has counted.
  void check_counts(const Operation& op, Opened& opened, const Statistics& before, bool well,
                    int64_t moved);
  // Pages of some kinds are filled before a part of them is written. Others, and those that are
  // written as a whole, are not fetched.
  void check_fill(const Operation& op, int64_t fetched);
  // The policy counts each page once for successive accesses.
  void check_pages(const Operation& op, Opened& opened, bool complete, int64_t counted,
                   int64_t fetched);
  bool commit(Opened& opened);
  bool commit_own(Opened& opened);

 private:
  template <typename Act>
  Status in_access(const Operation& op, Opened& opened, const Tiling& view, Act act);
};

}  // namespace forebay::test
