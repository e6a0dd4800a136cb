#include "fuzz/scripted_trace.h"

#include <algorithm>
#include <random>

#include "trace/container.h"
#include "trace/job.h"

namespace forebay::trace {
namespace {

constexpr std::size_t length_at = 20;  // in a block's head
constexpr std::size_t checksum_at = 24;
constexpr std::size_t head_checksum_at = 28;
constexpr std::size_t most_listed = 100;  // accesses whose extents are listed

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
    std::vector<Completion> completions;
    for (Access& access : accesses) {
      access.view = static_cast<uint32_t>(pick(random, views + 1));
      access.position = static_cast<int64_t>(pick(random, 5000));
      access.requested = access.transferred = static_cast<int64_t>(pick(random, 300));
      access.end_ns = access.completed_ns = static_cast<int64_t>(pick(random, 99));
      access.routine = static_cast<uint8_t>(pick(random, 3));
      if (pick(random, 3) != 0) continue;
      access.request = 1 + static_cast<uint32_t>(pick(random, 99));
      completions.push_back({access.request, access.end_ns + 10, 1});
    }
    container.accesses(accesses, 0, times, bytes);
    container.completions(completions, bytes);
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

// Corrects the checksums of everything that looks like a block.
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

void change(Bytes& bytes, std::size_t where, uint8_t what, uint8_t value) {
  if (bytes.size() <= head_bytes) return;
  const auto place = [&](std::size_t at) {
    return bytes.begin() + static_cast<std::ptrdiff_t>(at);
  };
  const std::size_t at = head_bytes + where % (bytes.size() - head_bytes);
  switch (what % 5) {
    case 0:
      bytes[at] ^= static_cast<std::byte>(value);
      break;
    case 1:
      bytes[at] = static_cast<std::byte>(value);
      break;
    case 2: {  // a number of up to ten bytes
      Bytes number;
      ByteWriter(number).varint(~uint64_t{0} >> (value % 64));
      bytes.insert(place(at), number.begin(), number.end());
      break;
    }
    case 3:
      bytes.erase(place(at), place(std::min(bytes.size(), at + 1 + value % 8)));
      break;
    default: {
      const std::size_t from = at - std::min<std::size_t>(at, value);
      const std::size_t count = std::min(bytes.size() - at, std::size_t{8});
      const Bytes copied(place(from), place(from + count));
      std::copy(copied.begin(), copied.end(), place(at));
    }
  }
}

std::string broken_in(const Table& table, const Job& job, std::size_t i) {
  if (table.routine[i] >= job.routines().size()) return "there is no such routine";
  if (table.file[i] >= static_cast<int64_t>(job.files().size())) return "there is no such file";
  if (table.view[i] >= static_cast<int64_t>(job.views().size())) return "there is no such view";
  if (table.offset[i] < 0) return "";
  if (table.view[i] < 0) return "a place in an unknown view";
  Cursor cursor(job.views()[static_cast<std::size_t>(table.view[i])].tiling, table.position[i]);
  if (cursor.offset() != table.offset[i]) return "an access begins elsewhere";
  int64_t left = table.requested[i];
  for (int runs = 0; runs < 20 && left > 0; ++runs) {
    const Extent run = cursor.next(left);
    if (run.length <= 0 || run.length > left) return "a run of a wrong length";
    if (table.contiguous[i] != 0 && run.length != left) return "it is not contiguous";
    left -= run.length;
    if (left == 0 && run.end() != table.end[i]) return "an access ends elsewhere";
  }
  return "";
}

}  // namespace

Bytes scripted_trace(ByteView script) {
  ByteReader reader(script);
  Random random(script.size() < sizeof(uint64_t) ? 0 : reader.u64());
  Bytes bytes = some_trace(random);
  while (reader.left() >= 4) {
    const std::size_t where = reader.u8() + std::size_t{256} * reader.u8();
    const uint8_t what = reader.u8();
    change(bytes, where, what, reader.u8());
  }
  mend(bytes);
  return bytes;
}

std::string broken_promise(const Bytes& file, std::size_t& accesses) {
  MemorySource source(file);
  Outline outline;
  if (!read_outline(source, outline)) return "";
  Job job;
  const uint32_t process = job.add("a file", outline);
  Table table;
  BlockReader reader;
  for (const AccessBlock& block : outline.blocks) {
    Accesses decoded;
    const bool good = reader.read(source, block, decoded).empty();
    if (decoded.size() != (good ? block.count : 0)) return "a block has a wrong number of accesses";
    if (good) job.append(process, block, decoded, table);
  }
  accesses += table.size();
  bool even = true;
  table.for_each_column(
      [&](const char*, const auto& column) { even &= column.size() == table.size(); });
  if (!even) return "columns of different lengths";
  for (std::size_t i = 0; i < std::min(table.size(), most_listed); ++i) {
    if (std::string broken = broken_in(table, job, i); !broken.empty()) return broken;
  }
  return "";
}

}  // namespace forebay::trace
