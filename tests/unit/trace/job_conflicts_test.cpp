// Columns of a job's accesses become conflicts by file: at once, in parts, and through bytes.
#include "trace/job_conflicts.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "trace/routine.h"
#include "trace/table.h"

namespace forebay::trace {
namespace {

constexpr uint64_t most_findings = 1 << 20;

// 3 blocks of 4 bytes at steps of 10, of every 30 bytes.
const Views views{{{Layout::block(1), 0, 1}, {Layout::repeat(3, 10, Layout::block(4)), 0, 30}}};

// Rows of a table. Each process has an open of each file.
struct Rows {
  std::vector<int32_t> file, open, view;
  std::vector<uint32_t> process, thread;
  std::vector<uint8_t> operation, contiguous;
  std::vector<int64_t> offset, end, position, transferred, start_ns, end_ns, completed_ns;

  Rows& add(Operation what, uint32_t who, int32_t where, int64_t begin, int64_t bytes, int64_t at,
            int32_t by_view = 0) {
    file.push_back(where);
    open.push_back(static_cast<int32_t>(10 * who) + where);
    view.push_back(by_view);
    process.push_back(who);
    thread.push_back(0);
    operation.push_back(static_cast<uint8_t>(what));
    contiguous.push_back(by_view == 0);
    offset.push_back(begin);
    end.push_back(begin + bytes);
    position.push_back(begin);
    transferred.push_back(bytes);
    start_ns.push_back(at);
    end_ns.push_back(at + 5);
    completed_ns.push_back(at + 5);
    return *this;
  }
  ConflictColumns columns() const {
    return {file,       process, thread,   open,        operation, offset, end,
            contiguous, view,    position, transferred, start_ns,  end_ns, completed_ns};
  }
};

using Found = std::vector<std::pair<int32_t, Conflicts>>;

Found found_in(const Rows& rows, const Views* known = &views) {
  JobConflicts job(most_findings);
  job.add(rows.columns(), known);
  return job.finish();
}

uint64_t pairs(const Conflicts& conflicts, Separation separation) {
  return conflicts.counts[static_cast<std::size_t>(separation)];
}

TEST(TraceJobConflicts, FilesAreApart) {
  Rows rows;
  rows.add(Operation::write, 0, 0, 0, 10, 0).add(Operation::read, 1, 0, 5, 10, 100);
  rows.add(Operation::write, 0, 3, 0, 10, 200).add(Operation::write, 1, 3, 0, 10, 202);
  rows.add(Operation::write, 1, -1, 0, 10, 0).add(Operation::write, 1, 0, -1, 10, 0);
  rows.add(Operation::write, 2, 0, 0, 0, 0).add(Operation::write, 2, 0, 0, 10, no_time);
  const Found found = found_in(rows);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].first, 0);
  EXPECT_EQ(pairs(found[0].second, Separation::chance), 1u);
  EXPECT_EQ(found[0].second.sharing.bytes, 5u);
  EXPECT_EQ(found[1].first, 3);
  EXPECT_EQ(pairs(found[1].second, Separation::none), 1u);
}

TEST(TraceJobConflicts, ViewsTellRunsApart) {
  Rows rows;
  rows.add(Operation::write, 0, 0, 0, 12, 0, 1);  // bytes 0-4, 10-14 and 20-24
  rows.end.back() = 24;
  rows.add(Operation::write, 1, 0, 4, 6, 100);
  EXPECT_EQ(pairs(found_in(rows).front().second, Separation::chance), 0u);
  EXPECT_EQ(pairs(found_in(rows, nullptr).front().second, Separation::chance), 1u);
  rows.add(Operation::write, 1, 0, 13, 2, 200);
  const Found found = found_in(rows);
  EXPECT_EQ(pairs(found.front().second, Separation::chance), 1u);
  EXPECT_EQ(found.front().second.sharing.bytes, 1u);
}

TEST(TraceJobConflicts, RequestsEndWhenTheyAreComplete) {
  Rows rows;
  rows.add(Operation::write, 0, 0, 0, 10, 0).add(Operation::write, 1, 0, 0, 10, 50);
  EXPECT_EQ(pairs(found_in(rows).front().second, Separation::chance), 1u);
  rows.completed_ns[0] = 60;
  EXPECT_EQ(pairs(found_in(rows).front().second, Separation::none), 1u);
}

// A writes, both meet, B reads; with `synced` also a sync before and after the meeting.
Rows meeting(bool synced) {
  Rows rows;
  rows.add(Operation::write, 0, 0, 0, 10, 0);
  if (synced) rows.add(Operation::sync, 0, 0, 0, 0, 10);
  rows.add(Operation::exchange, 0, -1, 77, 0, 20).add(Operation::exchange, 1, -1, 77, 0, 20);
  if (synced) rows.add(Operation::sync, 1, 0, 0, 0, 30);
  rows.add(Operation::read, 1, 0, 0, 10, 40);
  return rows;
}

TEST(TraceJobConflicts, CollectivesAndSyncsSeparate) {
  EXPECT_EQ(pairs(found_in(meeting(false)).front().second, Separation::order), 1u);
  EXPECT_EQ(pairs(found_in(meeting(true)).front().second, Separation::synced), 1u);
}

TEST(TraceJobConflicts, PartsCarriedAsBytesAreTheWhole) {
  Rows all = meeting(true);
  all.add(Operation::write, 0, 2, 5, 5, 50).add(Operation::write, 1, 2, 5, 5, 60);
  JobConflicts whole(most_findings);
  for (const uint32_t process : {0u, 1u}) {
    Rows rows;
    for (std::size_t i = 0; i < all.file.size(); ++i) {
      if (all.process[i] == process)
        rows.add(static_cast<Operation>(all.operation[i]), process, all.file[i], all.offset[i],
                 all.transferred[i], all.start_ns[i]);
    }
    JobConflicts part(most_findings);
    part.add(rows.columns(), &views);
    Bytes bytes;
    ByteWriter writer(bytes);
    part.write(writer);
    JobConflicts carried(0);
    ByteReader reader(bytes);
    ASSERT_TRUE(carried.read(reader));
    EXPECT_TRUE(reader.at_end());
    whole.merge(std::move(carried));
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      JobConflicts cut(0);
      ByteReader cut_reader(ByteView(bytes).first(length));
      EXPECT_FALSE(cut.read(cut_reader)) << length;
    }
  }
  const Found found = whole.finish();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(pairs(found[0].second, Separation::synced), 1u);
  EXPECT_EQ(found[1].first, 2);
  EXPECT_EQ(pairs(found[1].second, Separation::chance), 1u);
  EXPECT_TRUE(whole.finish().empty());
}

}  // namespace
}  // namespace forebay::trace
