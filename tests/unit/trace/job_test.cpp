// Traces of several processes combined: numbers of the job, times of one clock, places in files.
#include "trace/job.h"

#include <gtest/gtest.h>

#include <random>

#include "trace/container.h"

namespace forebay::trace {
namespace {

const Tiling strided{Layout::repeat(10, 64, Layout::block(16)), 128, 640};

TEST(TracePlace, AnAccessLiesWhereItsViewSays) {
  const Place within = place_of(strided, 20, 10);
  EXPECT_EQ(within.offset, 128 + 64 + 4);
  EXPECT_EQ(within.end, 128 + 64 + 14);
  EXPECT_TRUE(within.contiguous);
  const Place across = place_of(strided, 20, 20);
  EXPECT_EQ(across.end, 128 + 128 + 8);
  EXPECT_FALSE(across.contiguous);
  const Place nothing = place_of(strided, 16, 0);
  EXPECT_EQ(nothing.offset, nothing.end);
  EXPECT_TRUE(nothing.contiguous);
}

// By definition: the extents that a cursor returns.
TEST(TracePlace, AgreesWithTheExtents) {
  std::mt19937 random(7);
  const auto pick = [&](int64_t below) { return static_cast<int64_t>(random() % below); };
  for (int round = 0; round < 3000; ++round) {
    std::vector<int64_t> displacements, lengths;
    int64_t at = pick(20);
    for (int64_t i = 0; i <= pick(5); ++i) {
      displacements.push_back(at);
      lengths.push_back(1 + pick(9));
      at += lengths.back() + (pick(2) == 0 ? 0 : pick(12));
    }
    if (pick(4) == 0) std::reverse(displacements.begin(), displacements.end());
    const LayoutRef layout = Layout::indexed(displacements, lengths, 1, Layout::block(1));
    ASSERT_NE(layout, nullptr);
    const Tiling tiling{layout, pick(100), at + pick(10)};
    const int64_t position = pick(80), bytes = 1 + pick(60);
    Cursor cursor(tiling, position);
    const int64_t first = cursor.offset();
    int64_t end = 0, runs = 0;
    for (int64_t left = bytes; left > 0; ++runs) {
      const Extent run = cursor.next(left);
      end = run.end();
      left -= run.length;
    }
    const Place place = place_of(tiling, position, bytes);
    ASSERT_EQ(place.offset, first);
    ASSERT_EQ(place.end, end);
    ASSERT_EQ(place.contiguous, runs == 1);
  }
}

TEST(TracePlace, WhatLiesNowhereHasNoPlace) {
  constexpr int64_t largest = std::numeric_limits<int64_t>::max();
  const Tiling all{Layout::block(1), 0, 1};
  for (const Tiling& tiling :
       {strided, all, Tiling{Layout::block(0), 0, 0}, Tiling{Layout::block(8), -100, 16}}) {
    const bool below = tiling.origin < 0 || tiling.layout->size() == 0;
    for (const auto& [position, bytes] : std::initializer_list<std::pair<int64_t, int64_t>>{
             {-1, 1}, {0, -1}, {largest, largest}, {largest, 1}, {below ? 0 : -5, 1}}) {
      EXPECT_EQ(place_of(tiling, position, bytes).offset, -1) << position << " " << bytes;
      EXPECT_EQ(place_of(tiling, position, bytes).end, -1);
    }
  }
}

TEST(TracePlace, WhatEndsBeyond64BitsHasNoPlace) {
  constexpr int64_t largest = std::numeric_limits<int64_t>::max();
  const Tiling later{Layout::block(8), 16, 8}, before{Layout::block(8), -100, 8};
  const Tiling over_and_over{Layout::block(8), 0, 0};
  const Tiling sparse{Layout::block(8), 0, int64_t{1} << 62};
  EXPECT_EQ(place_of(later, largest - 36, 20).end, largest);
  EXPECT_EQ(place_of(later, largest - 20, 20).offset, -1);
  EXPECT_EQ(place_of(before, 0, 8).offset, -1);
  EXPECT_EQ(place_of(before, 100, 8).offset, -1);  // rejected because of the view's beginning
  EXPECT_EQ(place_of(over_and_over, largest - 5, 5).offset, 2);
  EXPECT_EQ(place_of(over_and_over, largest - 5, 10).offset, -1);
  EXPECT_EQ(place_of(sparse, 8, 8).offset, int64_t{1} << 62);
  EXPECT_EQ(place_of(sparse, 8, 16).offset, -1);
  EXPECT_EQ(place_of(sparse, 8, 16).end, -1);
}

TEST(TraceRoutine, NamesTellWhatRoutinesDo) {
  const auto kind = kind_of_routine;
  using enum Operation;
  EXPECT_EQ(kind("MPI_File_write_at"), (RoutineKind{write, false, false}));
  EXPECT_EQ(kind("PMPI_File_write_at"), (RoutineKind{write, false, false}));
  EXPECT_EQ(kind("MPI_File_iwrite_at_all_c"), (RoutineKind{write, true, true}));
  EXPECT_EQ(kind("File_read_all_begin"), (RoutineKind{read, true, false}));
  EXPECT_EQ(kind("MPI_FILE_READ_ORDERED"), (RoutineKind{read, true, false}));
  EXPECT_EQ(kind("iread_shared"), (RoutineKind{read, false, true}));
  EXPECT_EQ(kind("read"), (RoutineKind{read, false, false}));
  EXPECT_EQ(kind("MPI_File_open"), (RoutineKind{open, true, false}));
  EXPECT_EQ(kind("MPI_File_close"), (RoutineKind{close, true, false}));
  EXPECT_EQ(kind("MPI_File_set_view"), (RoutineKind{view, true, false}));
  EXPECT_EQ(kind("MPI_File_seek"), (RoutineKind{seek, false, false}));
  EXPECT_EQ(kind("MPI_File_seek_shared"), (RoutineKind{seek, true, false}));
  EXPECT_EQ(kind("MPI_File_sync"), (RoutineKind{sync, true, false}));
  EXPECT_EQ(kind("MPI_File_preallocate"), (RoutineKind{size, true, false}));
  EXPECT_EQ(kind("MPI_File_set_size"), (RoutineKind{size, true, false}));
  EXPECT_EQ(kind("forebay_cache_commit"), (RoutineKind{step, false, false}));
  EXPECT_EQ(kind("forebay_release"), (RoutineKind{release, true, false}));
  EXPECT_EQ(kind("forebay_acquire"), (RoutineKind{acquire, true, false}));
  EXPECT_EQ(kind("forebay_exchange"), (RoutineKind{exchange, true, false}));
  for (const char* name : {"", "MPI_Wait", "readable", "MPI_File_", "i", "unknown", "reallocate"})
    EXPECT_EQ(kind(name), RoutineKind{}) << name;
}

Bytes file_of(const ProcessInfo& info, const std::vector<Access>& accesses) {
  Bytes bytes;
  Container container;
  Container::begin(bytes);
  container.process(info, bytes);
  container.file({0, 1, 1, false, "/a"}, bytes);
  container.view({1, strided}, bytes);
  EXPECT_TRUE(container.accesses(accesses, 3, Times::exact, bytes));
  container.end({accesses.size() + 2, 2}, bytes);
  return bytes;
}

Table table_of(const std::vector<Bytes>& files, Job& job) {
  Table table;
  std::vector<Outline> outlines(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    MemorySource source(files[i]);
    EXPECT_TRUE(read_outline(source, outlines[i]));
    job.add("a file", outlines[i]);
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    MemorySource source(files[i]);
    for (const AccessBlock& block : outlines[i].blocks) {
      Accesses accesses;
      EXPECT_EQ(BlockReader().read(source, block, accesses), "");
      job.append(static_cast<uint32_t>(i), block, accesses, table);
    }
  }
  return table;
}

TEST(TraceJob, ProcessesAreNumberedThroughout) {
  Access access;
  access.routine = 1;
  access.view = 1;
  access.position = 16;
  access.requested = 16;
  access.start_ns = 100;
  access.end_ns = access.completed_ns = 200;
  Access waiting = access;
  waiting.completed_ns = unknown_time;
  Job job;
  const Table table = table_of(
      {file_of({{"rank", "0"}, {"routines", "File_open File_write"}}, {access, waiting}),
       file_of(
           {{"rank", "1"}, {"clock_offset_ns", "-150"}, {"routines", "File_sync\nFile_write\n"}},
           {access})},
      job);
  ASSERT_EQ(table.size(), 3u);
  EXPECT_EQ(job.files(), std::vector<std::string>{"/a"});
  EXPECT_EQ(job.opens().size(), 2u);
  EXPECT_EQ(job.views().size(), 3u);
  ASSERT_EQ(job.routines().size(), 4u);  // the unknown routine included
  EXPECT_EQ(table.rank, (std::vector<int32_t>{0, 0, 1}));
  EXPECT_EQ(table.open, (std::vector<int32_t>{0, 0, 1}));
  EXPECT_EQ(table.view, (std::vector<int32_t>{1, 1, 2}));
  EXPECT_EQ(table.routine[0], table.routine[2]);
  EXPECT_EQ(job.routines()[table.routine[2]].name, "File_write");
  EXPECT_EQ(table.start_ns, (std::vector<int64_t>{100, 100, -50}));
  EXPECT_EQ(table.completed_ns, (std::vector<int64_t>{200, no_time, 50}));
  EXPECT_EQ(table.thread[2], 3u);
  EXPECT_EQ(table.offset[2], 192);
  EXPECT_EQ(table.end[2], 208);
  EXPECT_EQ(job.processes()[1].lost, 2u);
  EXPECT_EQ(job.processes()[1].damaged, 0u);
  std::size_t columns = 0, bytes = 0;
  Table(table).for_each_column([&](const char*, auto& column) {
    ++columns;
    bytes += sizeof(column[0]);
    EXPECT_EQ(column.size(), 3u);
  });
  EXPECT_EQ(columns, 20u);
  EXPECT_EQ(bytes, table_bytes_per_access);
}

// Completions may be anywhere in the file, and belong to their own process.
TEST(TraceJob, RequestsAreCompletedByWhatIsToldApart) {
  std::vector<Access> accesses(4);
  for (uint32_t i = 0; i < 4; ++i) {
    accesses[i].start_ns = accesses[i].end_ns = accesses[i].completed_ns = 100;
    accesses[i].requested = accesses[i].transferred = 50;
    if (i > 0) accesses[i].completed_ns = unknown_time;
    accesses[i].request = i;  // the first access has no request
  }
  std::vector<Bytes> files(2);
  for (std::size_t i = 0; i < 2; ++i) {
    Container container;
    Container::begin(files[i]);
    container.process({{"clock_offset_ns", i == 0 ? "0" : "1000"}}, files[i]);
    if (i == 0) container.completions(std::vector<Completion>{{3, 700, 50}, {1, 300, 0}}, files[i]);
    for (const Times times : {Times::exact, Times::histogram})
      EXPECT_TRUE(container.accesses(accesses, 0, times, files[i]));
    if (i == 1) container.completions(std::vector<Completion>{{2, 400, 20}}, files[i]);
  }
  Job job;
  const Table table = table_of(files, job);
  const std::vector<int64_t> first{100, 300, no_time, 700}, second{1100, no_time, 1400, no_time};
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(table.completed_ns[i], (i < 8 ? first : second)[i % 4]) << i;
    const int64_t moved = i < 8 ? (i % 4 == 3 ? 0 : 50) : (i % 4 == 2 ? 30 : 50);
    EXPECT_EQ(table.transferred[i], moved) << i;
  }
}

TEST(TraceJob, TimesBeginWithTheFirstProcess) {
  Access access;
  access.start_ns = 100;
  Job job;
  const Table table = table_of(
      {file_of({{"rank", "0"}, {"zero_monotonic_ns", "5000"}}, {access}),
       file_of({{"rank", "1"}, {"zero_monotonic_ns", "905000"}, {"clock_offset_ns", "-899970"}},
               {access}),
       file_of({{"rank", "2"}, {"zero_monotonic_ns", "4000"}}, {access})},
      job);
  EXPECT_EQ(table.start_ns, (std::vector<int64_t>{1100, 1130, 100}));
}

TEST(TraceJob, ClocksDriftEvenlyFromOneComparisonToTheOther) {
  std::vector<Access> accesses(5);
  const std::vector<int64_t> times{-10, 0, 500'000, 1'000'000, 2'000'000};
  for (std::size_t i = 0; i < 5; ++i) accesses[i].start_ns = times[i];
  accesses[2].completed_ns = 250'000;
  accesses[2].end_ns = 750'000;
  const ProcessInfo first{{"zero_monotonic_ns", "1000"}, {"clock_offset_ns", "0"}};
  ProcessInfo second{{"zero_monotonic_ns", "7000000"}, {"clock_offset_ns", "-6999000"}};
  const auto starts = [&](const std::vector<std::pair<std::string, std::string>>& more) {
    for (const auto& [name, value] : more) second[name] = value;
    Job job;
    const Table table = table_of({file_of(first, {}), file_of(second, accesses)}, job);
    return table;
  };
  // Without the time of the comparison.
  EXPECT_EQ(starts({{"clock_offset_at_end_ns", "-6999400"}}).start_ns, times);
  const Table drifted = starts({{"compared_monotonic_ns", "8000000"}});
  EXPECT_EQ(drifted.start_ns, (std::vector<int64_t>{-10, 0, 499'800, 999'600, 1'999'600}));
  EXPECT_EQ(drifted.end_ns[2], 749'700);
  EXPECT_EQ(drifted.completed_ns[2], 249'900);
  for (const char* absurd : {"-7999000", "9223372036854775807", "-9223372036854775808"})
    EXPECT_EQ(starts({{"clock_offset_at_end_ns", absurd}}).start_ns, times) << absurd;
  EXPECT_EQ(starts({{"compared_monotonic_ns", "7000000"}}).start_ns, times);
}

TEST(TraceJob, DamageIsCounted) {
  Bytes bytes = file_of({{"rank", "0"}}, std::vector<Access>(70));
  const Bytes whole = bytes;
  MemorySource source(bytes);
  Outline outline;
  ASSERT_TRUE(read_outline(source, outline));
  bytes[outline.blocks[0].at + 40] ^= std::byte{1};
  // With and without an end block.
  for (const std::size_t length : {bytes.size(), bytes.size() - 1}) {
    Job job;
    table_of({Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length))}, job);
    EXPECT_EQ(job.processes()[0].accesses, 0u);
    EXPECT_EQ(job.processes()[0].damaged, 70u);
  }
  Accesses accesses;
  EXPECT_NE(BlockReader().read(source, outline.blocks[0], accesses), "");
}

TEST(TraceJob, NumbersThatAreNoneAreUnknown) {
  Job job;
  const Table table = table_of({file_of({{"rank", "99999999999"}, {"pid", "12x"}}, {Access{}}),
                                file_of({{"rank", "-"}, {"clock_offset_ns", "1e9"}}, {Access{}})},
                               job);
  EXPECT_EQ(table.rank, (std::vector<int32_t>{-1, -1}));
  EXPECT_EQ(job.processes()[0].pid, -1);
  EXPECT_EQ(job.processes()[1].rank, -1);
  EXPECT_EQ(job.processes()[1].clock_offset_ns, 0);
}

TEST(TraceJob, AnEndThatContradictsTheFileIsNotBelieved) {
  for (const Totals& totals : {Totals{3, 0}, Totals{5, 10}}) {
    Bytes bytes;
    Container container;
    Container::begin(bytes);
    EXPECT_TRUE(container.accesses(std::vector<Access>(70), 0, Times::exact, bytes));
    container.end(totals, bytes);
    Job job;
    EXPECT_EQ(table_of({bytes}, job).size(), 70u);
    EXPECT_EQ(job.processes()[0].damaged, 0u);
    EXPECT_EQ(job.processes()[0].lost, 0u);
    EXPECT_EQ(job.processes()[0].ended, totals.lost == 0);
  }
}

// Wherever the reader's windows end.
TEST(TraceOutline, BlocksAreFoundBehindRubbishOfAnyLength) {
  for (std::size_t rubbish = 1; rubbish < 600; ++rubbish) {
    Bytes bytes;
    Container container;
    Container::begin(bytes);
    bytes.resize(bytes.size() + rubbish, std::byte{'F'});
    container.file({3, 0, 1, false, "/a"}, bytes);
    container.end({0, 0}, bytes);
    MemorySource source(bytes);
    Outline outline;
    ASSERT_TRUE(read_outline(source, outline));
    ASSERT_EQ(outline.files.size(), 1u) << rubbish;
    ASSERT_TRUE(outline.ended);
    ASSERT_EQ(outline.problems, std::vector<std::string>{"at byte 12: " + std::to_string(rubbish) +
                                                         " bytes are no block"});
  }
}

// Heads that claim long payloads must not make the reader check the same bytes repeatedly: the
// bytes read may not grow with the square of the file's size.
TEST(TraceOutline, HostileHeadsCostNoMoreThanTheFile) {
  class Counting final : public Source {
   public:
    explicit Counting(ByteView bytes) : source_(bytes) {}
    uint64_t size() const override { return source_.size(); }
    bool read(uint64_t at, std::span<std::byte> bytes) override {
      read_ += bytes.size();
      return source_.read(at, bytes);
    }
    uint64_t read_ = 0;

   private:
    MemorySource source_;
  };
  constexpr uint32_t heads = 20'000;
  for (const uint32_t payload : {heads * 16, heads * 64}) {  // within the file, and beyond its end
    Bytes bytes;
    Container::begin(bytes);
    for (uint32_t i = 0; i < heads; ++i)
      BlockHead{BlockKind::accesses, i, 1, 0, payload, 12345}.write(bytes);
    Counting source(bytes);
    Outline outline;
    ASSERT_TRUE(read_outline(source, outline));
    EXPECT_LT(source.read_, 8 * bytes.size());
    EXPECT_TRUE(outline.blocks.empty());
    EXPECT_LE(outline.problems.size(), 100u);
    EXPECT_GT(outline.problem_count, 0u);
  }
}

}  // namespace
}  // namespace forebay::trace
