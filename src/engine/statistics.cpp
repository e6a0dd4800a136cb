#include "engine/statistics.h"

namespace forebay {

void Statistics::add(const Statistics& other) {
  write_calls += other.write_calls;
  read_calls += other.read_calls;
  write_bytes += other.write_bytes;
  read_bytes += other.read_bytes;
  read_storage_bytes += other.read_storage_bytes;
  read_remote_bytes += other.read_remote_bytes;
  hits += other.hits;
  misses += other.misses;
  evictions += other.evictions;
  write_requests += other.write_requests;
  read_requests += other.read_requests;
  write_syscalls += other.write_syscalls;
  read_syscalls += other.read_syscalls;
  committed_bytes += other.committed_bytes;
  commit_lists += other.commit_lists;
  fetched_bytes += other.fetched_bytes;
  ahead_pages += other.ahead_pages;
  ahead_used_pages += other.ahead_used_pages;
  ahead_late_pages += other.ahead_late_pages;
  kept_pages += other.kept_pages;
  pace_waits += other.pace_waits;
  guest_bytes += other.guest_bytes;
  accepted_bytes += other.accepted_bytes;
  asked_bytes += other.asked_bytes;
  exchanged_bytes += other.exchanged_bytes;
  asked_questions += other.asked_questions;
  exchanged_questions += other.exchanged_questions;
  bypass_calls += other.bypass_calls;
  bypass_bytes += other.bypass_bytes;
  bypass_written_bytes += other.bypass_written_bytes;
  aside_calls += other.aside_calls;
  local_calls += other.local_calls;
  no_page_calls += other.no_page_calls;
  commit_ns += other.commit_ns;
  io_ns += other.io_ns;
}

}  // namespace forebay
