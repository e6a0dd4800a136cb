// The state that all handles of an open file share: in shared memory if several processes have it
// open.
#pragma once

#include <atomic>
#include <cstdint>

namespace forebay {

enum Aside : uint32_t { writes_aside = 1, reads_aside = 2 };

// Whether several handles write to most of the pages that write-behind found at its last look
// (cache_commit.h).
enum class SharesPages : uint32_t { unknown, yes, no };

struct FileState {
  uint64_t id = 0;                   // PageKey::file; never used twice
  std::atomic<uint32_t> handles{0};  // open handles
  // One past the highest byte that handles now closed have written and storage may still lack.
  std::atomic<int64_t> unstored_end{0};
  // Writes past the cache: those under way, and those that have ended. A fill that overlaps one in
  // time must not keep what it read.
  std::atomic<uint32_t> direct_writers{0};
  std::atomic<uint64_t> direct_writes{0};
  std::atomic<uint32_t> write_through{0};  // handles that want every write committed at once
  std::atomic<uint32_t> aside{0};  // kinds of calls for which the cache brings no gain (Aside)
  // What fetching ahead took from the ranks: processor time of fetches for which storage let no
  // thread wait. A fetch that waited hid this wait from a rank, which is worth more than it took.
  std::atomic<int64_t> fetch_ahead_ns{0};
  std::atomic<int64_t> cached_reads{0};  // reads through the cache, about
  std::atomic<SharesPages> shares_pages{SharesPages::unknown};
};

}  // namespace forebay
