// Trace files changed at random behind right checksums, as a hostile writer would make them:
// reading stays within its memory and its promises. AddressSanitizer and UBSan watch in their
// builds. TRACE_FUZZ_RUNS says how many files are tried.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "trace/container.h"
#include "trace/job.h"

namespace forebay::trace {
namespace {

constexpr int usual_runs = 6000;
constexpr std::size_t length_at = 20;  // in a block's head
constexpr std::size_t checksum_at = 24;
constexpr std::size_t head_checksum_at = 28;

using Random = std::mt19937_64;

uint64_t pick(Random& random, uint64_t below) { return random() % below; }

LayoutRef some_layout(Random& random, int depth) {
  const auto number = [&](uint64_t below) { return static_cast<int64_t>(pick(random, below)); };
  if (depth == 0) return Layout::block(1 + number(20));
  std::vector<int64_t> displacements, counts;
  std::vector<LayoutRef> children;
  for (int64_t at = number(9); children.size() < 1 + pick(random, 3);
       at += 100'000 + number(1000)) {
    displacements.push_back(at);
    counts.push_back(1 + number(4));
    children.push_back(some_layout(random, depth - 1));
  }
  switch (pick(random, 4)) {
    case 0:
      return Layout::repeat(1 + number(9), 400'000 + number(99), children[0]);
    case 1:
      return Layout::indexed(displacements, counts, 1 + number(500), children[0]);
    case 2:
      return Layout::structure(displacements, children);
    default:
      return Layout::shifted(number(99), children[0]);
  }
}

Bytes some_trace(Random& random) {
  Bytes bytes;
  Container container;
  Container::begin(bytes);
  container.process({{"rank", "1"}, {"ranks", "2"}, {"routines", "write read_all"}}, bytes);
  container.file({0, 5, 2, true, "/path"}, bytes);
  const uint32_t views = 1 + static_cast<uint32_t>(pick(random, 3));
  for (uint32_t view = 1; view <= views; ++view) {
    const LayoutRef layout = some_layout(random, static_cast<int>(pick(random, 4)));
    container.view({view, {layout, static_cast<int64_t>(pick(random, 100)), 1 << 22}}, bytes);
  }
  for (const Times times : {Times::exact, Times::histogram}) {
    std::vector<Access> accesses(1 + pick(random, 40));
    for (Access& access : accesses) {
      access.view = static_cast<uint32_t>(pick(random, views + 1));
      access.position = static_cast<int64_t>(pick(random, 5000));
      access.requested = access.transferred = static_cast<int64_t>(pick(random, 300));
      access.end_ns = access.completed_ns = static_cast<int64_t>(pick(random, 99));
      access.routine = static_cast<uint8_t>(pick(random, 3));
    }
    EXPECT_TRUE(container.accesses(accesses, 0, times, bytes));
  }
  container.end({100, 10}, bytes);
  return bytes;
}

uint32_t word(const Bytes& bytes, std::size_t at) {
  return ByteReader(ByteView(bytes).subspan(at, 4)).u32();
}

void set_word(Bytes& bytes, std::size_t at, uint32_t value) {
  Bytes as_bytes;
  ByteWriter(as_bytes).u32(value);
  std::copy(as_bytes.begin(), as_bytes.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
}

// What of the file looks like blocks gets right checksums.
void mend(Bytes& bytes) {
  for (std::size_t at = head_bytes; at + block_head_bytes <= bytes.size();) {
    if (word(bytes, at) != block_magic) {
      ++at;
      continue;
    }
    const std::size_t left = bytes.size() - at - block_head_bytes;
    const std::size_t length = std::min<std::size_t>(word(bytes, at + length_at), left);
    const ByteView payload = ByteView(bytes).subspan(at + block_head_bytes, length);
    set_word(bytes, at + checksum_at, crc32c(payload));
    set_word(bytes, at + head_checksum_at, crc32c(ByteView(bytes).subspan(at, head_checksum_at)));
    at += block_head_bytes + length;
  }
}

void change(Bytes& bytes, Random& random) {
  const auto place = [&](std::size_t at) {
    return bytes.begin() + static_cast<std::ptrdiff_t>(at);
  };
  const std::size_t at = head_bytes + pick(random, bytes.size() - head_bytes);
  constexpr uint8_t telling[] = {0, 1, 2, 0x7f, 0x80, 0xff};
  switch (pick(random, 5)) {
    case 0:
      bytes[at] ^= static_cast<std::byte>(1 << pick(random, 8));
      break;
    case 1:
      bytes[at] = static_cast<std::byte>(telling[pick(random, std::size(telling))]);
      break;
    case 2: {  // a number of ten bytes
      Bytes number;
      ByteWriter(number).varint(random() >> pick(random, 64));
      bytes.insert(place(at), number.begin(), number.end());
      break;
    }
    case 3:
      bytes.erase(place(at), place(std::min(bytes.size(), at + 1 + pick(random, 4))));
      break;
    default: {
      const std::size_t from = head_bytes + pick(random, bytes.size() - head_bytes);
      const std::size_t count = std::min({bytes.size() - from, bytes.size() - at, std::size_t{8}});
      std::copy_n(Bytes(place(from), place(from + count)).begin(), count, place(at));
    }
  }
}

void list_some_extents(const Table& table, const Job& job, std::size_t i) {
  const Tiling& tiling = job.views()[static_cast<std::size_t>(table.view[i])].tiling;
  Cursor cursor(tiling, table.position[i]);
  EXPECT_EQ(cursor.offset(), table.offset[i]);
  int64_t left = table.requested[i];
  for (int runs = 0; runs < 20 && left > 0; ++runs) {
    const Extent run = cursor.next(left);
    ASSERT_GT(run.length, 0);
    ASSERT_LE(run.length, left);
    if (table.contiguous[i] != 0) {
      EXPECT_EQ(run.length, table.requested[i]);
    }
    left -= run.length;
  }
}

// Reads everything; how many accesses there were.
std::size_t read_all(const Bytes& bytes) {
  MemorySource source(bytes);
  Outline outline;
  if (!read_outline(source, outline)) return 0;
  Job job;
  const uint32_t process = job.add("a file", outline);
  Table table;
  BlockReader reader;
  for (const AccessBlock& block : outline.blocks) {
    Accesses accesses;
    if (!reader.read(source, block, accesses).empty()) {
      EXPECT_EQ(accesses.size(), 0u);
      continue;
    }
    EXPECT_EQ(accesses.size(), block.count);
    job.append(process, block, accesses, table);
  }
  table.for_each_column(
      [&](const char*, const auto& column) { EXPECT_EQ(column.size(), table.size()); });
  for (std::size_t i = 0; i < std::min<std::size_t>(table.size(), 100); ++i) {
    EXPECT_LT(table.routine[i], job.routines().size());
    EXPECT_LT(table.file[i], static_cast<int64_t>(job.files().size()));
    EXPECT_LT(table.view[i], static_cast<int64_t>(job.views().size()));
    if (table.offset[i] >= 0 && table.view[i] >= 0) list_some_extents(table, job, i);
  }
  return table.size();
}

TEST(TraceFuzz, HostileFilesAreReadWithinBounds) {
  const char* wanted = std::getenv("TRACE_FUZZ_RUNS");
  const int runs = wanted == nullptr ? usual_runs : std::atoi(wanted);
  std::size_t accesses = 0;
  for (int run = 0; run < runs && !::testing::Test::HasFailure(); ++run) {
    SCOPED_TRACE(run);
    Random random(static_cast<uint64_t>(run));
    Bytes bytes = some_trace(random);
    for (uint64_t changes = 1 + pick(random, 6); changes > 0 && bytes.size() > head_bytes;
         --changes)
      change(bytes, random);
    mend(bytes);
    accesses += read_all(bytes);
  }
  EXPECT_GT(accesses, static_cast<std::size_t>(runs));  // checksums were right
}

}  // namespace
}  // namespace forebay::trace
