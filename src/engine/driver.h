// What the engine asks of a driver. The engine decides; the driver locks, moves bytes, does I/O and
// waits, and tells the engine the outcome. A call that waits returns when the wait is over: in the
// runtime it blocks the thread; in virtual time it suspends the access, and others run meanwhile.
// Storage's requests are begun and completed: what is between the two runs beside them.
//
// Driver::PageBytes   the place of a page's bytes
// Driver::OpenFile    a file as one handle has it open: its state, its storage, its statistics
// Driver::Target      a file's storage for commits; false where there is none
// Driver::Staging     room for pages beside the frames, for as long as it lives
// Driver::Transfer    a plan's requests under way; one that is destroyed is completed first
//
// Sources and targets of an access's bytes are types of the driver, too: values that `+ n` moves on
// by n bytes. NoBytes stands for no bytes at all.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/file_state.h"
#include "engine/frame.h"
#include "engine/io_plan.h"
#include "engine/next_reads.h"
#include "engine/statistics.h"
#include "engine/stragglers.h"
#include "extent/extent.h"
#include "extent/status.h"
#include "policy/policy.h"

namespace forebay {

struct NoBytes {
  NoBytes operator+(int64_t) const { return {}; }
};

// What commits to a file's device have cost so far.
struct CommitCost {
  int64_t ns = 0;
  int64_t bytes = 0;
  int64_t requests = 0;
};

template <typename D>
concept CacheDriver = requires(D& driver, typename D::OpenFile& file, uint32_t shard,
                               FrameIndex frame, typename D::Target& target,
                               typename D::Staging& staging, typename D::Transfer& transfer,
                               const IoPlan& plan, int64_t* bytes, std::vector<HandleEnd>& ends,
                               std::vector<NextReads*>& reads) {
  // A shard's lock. True: its last owner died with it, and the shard must be repaired.
  { driver.lock(shard) } -> std::same_as<bool>;
  driver.unlock(shard);
  // Waiting for the end of a frame's I/O: signal() wakes all that wait. wait() returns once there
  // was a signal after events() returned its argument; false: there was none for long.
  { driver.events(shard) } -> std::same_as<uint32_t>;
  { driver.wait(shard, uint32_t{}) } -> std::same_as<bool>;
  driver.signal(shard);

  // This process's number, and whether the process with a number lives.
  { driver.process() } -> std::same_as<uint32_t>;
  { driver.alive(uint32_t{}) } -> std::same_as<bool>;
  // Waits until no handle uses the frame without the lock.
  driver.drain(frame);
  // The word that a handle publishes while it uses the frame (OpenFile::begin_use).
  { driver.use_word(frame) } -> std::same_as<uint64_t>;

  // Puts memory behind frames that had none, from `frame` on; false: there is no memory.
  { driver.reserve(frame, uint32_t{}) } -> std::same_as<bool>;
  driver.populate(frame);  // this process is about to use the frame's memory
  { driver.page_bytes(frame) } -> std::same_as<typename D::PageBytes>;
  // Copies bytes that were fetched beside the frames into the page.
  driver.copy_staged(staging, uint32_t{}, frame, Extent{});
  driver.zero(staging, IoPlan::Part{});

  // The storage to which a file's frames are committed.
  { driver.target(file, uint32_t{}, uint64_t{}) } -> std::same_as<typename D::Target>;
  // Begin to write or read a plan, which stays in place, like its pages, until complete() returns.
  driver.begin_write(target, plan, transfer);
  driver.begin_read(file, plan, staging, transfer);
  // Waits for the end of a transfer, and counts it. The first failure; the other requests were
  // attempted, too.
  { driver.complete(transfer, file.statistics()) } -> std::same_as<Status>;
  // After complete(): the bytes of a run that were written, or that the file holds.
  { transfer.transferred(std::size_t{}) } -> std::same_as<int64_t>;

  { file.state() } -> std::same_as<FileState&>;
  { file.statistics() } -> std::same_as<Statistics&>;
  { file.slot() } -> std::same_as<uint32_t>;    // the driver's number of the file
  { file.number() } -> std::same_as<uint32_t>;  // of the handle
  { file.writer() } -> std::same_as<Writers>;   // of the handle
  { file.readable() } -> std::same_as<bool>;    // whether this handle can read storage
  { file.commit_size_bytes() } -> std::same_as<int64_t>;
  // Two missing parts of a page are fetched with one request if fewer bytes than these lie between.
  { file.bytes_worth_a_request() } -> std::same_as<int64_t>;
  { file.storage_size(bytes) } -> std::same_as<Status>;
  // Asks for Cache::write_back() in the background. False: this handle has no background.
  { file.write_back_in_background() } -> std::same_as<bool>;
  // One past the highest byte written through any handle of the file and not yet known to storage.
  { file.written_end() } -> std::same_as<int64_t>;
  file.ends_of_others(ends);  // replaces `ends` by those of the file's other handles
  { file.own_end() } -> std::same_as<int64_t>;        // this handle's
  { file.next_reads() } -> std::same_as<NextReads&>;  // likewise
  file.next_reads_of_others(reads);
  file.pause();  // lets others work, for less than a millisecond
};

}  // namespace forebay
