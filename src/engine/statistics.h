// Counts of what one handle did, and caused, in its cache.
#pragma once

#include <cstdint>

namespace forebay {

struct Statistics {
  int64_t write_calls = 0, read_calls = 0;  // the user's
  int64_t write_bytes = 0, read_bytes = 0;
  // Of read_bytes: what storage delivered while the read waited for it, and what other nodes'
  // caches had. The rest was in the cache of the reader's node.
  int64_t read_storage_bytes = 0, read_remote_bytes = 0;
  int64_t hits = 0, misses = 0, evictions = 0;    // pages, as the replacement policy counts them
  int64_t write_requests = 0, read_requests = 0;  // contiguous extents handed to storage
  int64_t write_syscalls = 0, read_syscalls = 0;
  int64_t committed_bytes = 0;  // written back
  int64_t commit_lists = 0;     // lists of requests, each written back at once
  int64_t fetched_bytes = 0;    // read into pages, ahead or on demand
  // Pages fetched ahead; those of them that somebody used; and those of these that he had to wait
  // for, since they were still on their way.
  int64_t ahead_pages = 0, ahead_used_pages = 0, ahead_late_pages = 0;
  int64_t kept_pages = 0;  // that an earlier open had left, and an open found
  // Bytes of pages that other nodes own, handed over to them; and such bytes taken from others.
  int64_t guest_bytes = 0, accepted_bytes = 0;
  // Bytes of accesses that other nodes own: moved through their agents, or in the exchange of a
  // collective call.
  int64_t asked_bytes = 0, exchanged_bytes = 0;
  int64_t asked_questions = 0, exchanged_questions = 0;  // messages to owners, each answered by one
  // Calls with contiguous runs that went past the cache, and the bytes of those runs.
  int64_t bypass_calls = 0, bypass_bytes = 0;
  int64_t bypass_written_bytes = 0;  // of bypass_bytes
  int64_t aside_calls = 0;           // of bypass_calls: the cache brought no gain
  int64_t local_calls = 0;           // of aside_calls: expected of local storage, not measured
  int64_t no_page_calls = 0;         // of bypass_calls: there was no memory for a page
  int64_t pace_waits = 0;            // for ranks that were far behind
  int64_t commit_ns = 0;             // inside storage's write, for commits
  int64_t io_ns = 0;                 // time inside read and write (sampled estimate)

  void add(const Statistics& other);
  bool operator==(const Statistics&) const = default;
};

}  // namespace forebay
