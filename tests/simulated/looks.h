// Looks at a cache while no rank uses it: what must hold of it between rounds.
#pragma once

#include "simulated/accesses.h"

namespace forebay::test {

class Looks : public Accesses {
 protected:
  using Accesses::Accesses;
  // No rank accesses a file, and none dies, meanwhile: commits in the background go on.
  void check_unsaved();
  // No rank accesses a file, and none dies, meanwhile. Nothing is wrong with the bytes if this
  // fails, but they are moved in vain.
  void look_closely(Opened& opened);
  bool leaves_in_background() const;
  void check_size(Opened& opened);
  // A commit leaves nothing to commit.
  void commit_twice(Opened& opened);
  // Clean bytes that are dropped are gone.
  void drop_clean(Opened& opened);
  // The pages that leave are gone before long.
  void check_leaving(Opened& opened);
  bool pages_leave();
  // What has been read is in the cache.
  void read_twice(Opened& opened, int64_t page);
  // Pages that are absent, and for which there are frames, are in the cache afterwards.
  void prefetch(Opened& opened, int64_t first_page);
};

}  // namespace forebay::test
