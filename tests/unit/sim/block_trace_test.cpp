// Block traces: valid ones are read, errors of others are named, and no bytes do harm.
#include "sim/block_trace.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <random>

#include "fuzz/scripted_blocks.h"

namespace forebay::sim {
namespace {

constexpr uint64_t plenty = 1 << 24;

std::string complaint(BlockFormat format, std::string_view bytes, uint64_t most_bytes = plenty) {
  BlockReader reader(format, most_bytes);
  const std::string wrong = reader.feed(bytes);
  return wrong.empty() ? reader.finish() : wrong;
}
std::string text_complaint(std::string_view text) { return complaint(BlockFormat::text, text); }

std::vector<int64_t> ids(BlockFormat format, std::string_view bytes) {
  BlockReader reader(format, plenty);
  EXPECT_EQ(reader.feed(bytes), "");
  EXPECT_EQ(reader.finish(), "");
  std::vector<int64_t> pages;
  for (const PageKey key : reader.trace().keys) pages.push_back(key.page);
  return pages;
}

std::string compressed(const std::string& bytes) {
  std::string frame(ZSTD_compressBound(bytes.size()), '\0');
  frame.resize(ZSTD_compress(frame.data(), frame.size(), bytes.data(), bytes.size(), 3));
  return frame;
}

TEST(BlockTraces, IdsAreReadFromOneColumnOrFromANamedOne) {
  using Ids = std::vector<int64_t>;
  EXPECT_EQ(ids(BlockFormat::text, "7\n8\n7"), (Ids{7, 8, 7}));
  EXPECT_EQ(ids(BlockFormat::text, "# ids\n\n  7 \r\n8\n"), (Ids{7, 8}));
  EXPECT_EQ(ids(BlockFormat::text, "1,7,4096\n1.5,8,512\n"), (Ids{7, 8}));
  EXPECT_EQ(ids(BlockFormat::text, "1 7 4096\n2\t 8  512\n"), (Ids{7, 8}));
  EXPECT_EQ(ids(BlockFormat::text, "size,Obj_ID,op\n1,7,get\n1,8,set\n"), (Ids{7, 8}));
  EXPECT_EQ(ids(BlockFormat::text, "18446744073709551615\n"), (Ids{-1}));
  EXPECT_EQ(ids(BlockFormat::oracle_general, sound_oracle_general()), (Ids{0, 1, 2, 0, 1}));
}

TEST(BlockTraces, CompressedOnesAreTheSame) {
  EXPECT_EQ(ids(BlockFormat::text, compressed("7\n8\n")), (std::vector<int64_t>{7, 8}));
  const std::string records = sound_oracle_general();
  EXPECT_EQ(ids(BlockFormat::oracle_general, compressed(records)),
            ids(BlockFormat::oracle_general, records));
  EXPECT_EQ(ids(BlockFormat::text, compressed("7\n") + compressed("8\n")),
            (std::vector<int64_t>{7, 8}));
  const std::string frame = compressed(records);
  EXPECT_EQ(complaint(BlockFormat::oracle_general, frame.substr(0, frame.size() - 1)),
            "byte " + std::to_string(frame.size() - 1) + ": its compressed data ends early");
}

TEST(BlockTraces, AccessesKeepProcessFileAndPlace) {
  BlockReader reader(BlockFormat::text, plenty);
  EXPECT_EQ(reader.feed(sound_text()), "");
  EXPECT_EQ(reader.finish(), "");
  const auto accesses = reader.trace().log.accesses();
  ASSERT_EQ(accesses.size(), 3U);
  EXPECT_EQ(reader.trace().files, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(accesses[0].start_ns, 500'000'000);
  EXPECT_TRUE(accesses[0].writes);
  EXPECT_EQ(accesses[0].end, 4096);
  EXPECT_EQ(accesses[1].file, 1U);
  EXPECT_EQ(accesses[1].process, 1U);
  EXPECT_FALSE(accesses[1].writes);
  EXPECT_EQ(accesses[2].offset, 18446744);
  EXPECT_EQ(accesses[2].handle, accesses[0].handle);
  EXPECT_NE(accesses[1].handle, accesses[0].handle);
}

TEST(BlockTraces, WhatIsWrongIsSaidWithItsPlace) {
  EXPECT_EQ(text_complaint(""), "it holds no access");
  EXPECT_EQ(text_complaint("1\n2\nx\n"), "line 3: 'x' is no block number");
  EXPECT_EQ(text_complaint("1\n-2\n"), "line 2: '-2' is no block number");
  EXPECT_EQ(text_complaint("1\n18446744073709551616\n"),
            "line 2: '18446744073709551616' is no block number");
  EXPECT_EQ(text_complaint("1,2,3\n1,2\n"), "line 2: 2 fields instead of 3");
  EXPECT_EQ(text_complaint("5,2,3\n4,2,3\n"),
            "line 2: time 4 lies before that of the line before; sort it by time");
  EXPECT_EQ(text_complaint("nan,2,3\n"), "line 1: 'nan' is no time");
  EXPECT_EQ(text_complaint("time,size\n"),
            "line 1: its columns need a name 'id', or 'offset' and 'length'");
  EXPECT_EQ(text_complaint("id,block\n"), "line 1: two columns of the same meaning");
  EXPECT_EQ(text_complaint("1,0,w,-5,10\n"), "line 1: '-5' is no offset");
  EXPECT_EQ(text_complaint("1,0,w,9223372036854775807,10\n"),
            "line 1: '10' is no length at offset 9223372036854775807");
  EXPECT_EQ(text_complaint("1,99999999,w,0,10\n"), "line 1: '99999999' is no process number");
  EXPECT_EQ(text_complaint("1,0,open,0,10\n"), "line 1: 'open' is neither read nor write");
  EXPECT_EQ(text_complaint("1e300,0,w,0,10\n"), "line 1: its time in seconds is beyond reason");
  EXPECT_EQ(text_complaint(std::string(100'000, '1')), "line 1: it is longer than 65536 bytes");
  EXPECT_EQ(text_complaint("1\n" + std::string("\x1b[31m") + "\n"),
            "line 2: '?[31m' is no block "
            "number");
  std::string records = sound_oracle_general();
  EXPECT_EQ(complaint(BlockFormat::oracle_general, records.substr(0, 100)),
            "byte 96: the last record is cut off: 4 of 24 bytes");
  records[24] = 9;
  EXPECT_EQ(complaint(BlockFormat::oracle_general, records),
            "byte 48: time 2 lies before the 9 of the record before; is it oracleGeneral, in "
            "order?");
}

TEST(BlockTraces, ATraceThatHasEndedOrIsWrongTakesNoMoreBytes) {
  BlockReader ended(BlockFormat::text, plenty);
  EXPECT_EQ(ended.feed("7\n"), "");
  EXPECT_EQ(ended.finish(), "");
  EXPECT_EQ(ended.feed("8\n"), "the trace has ended");
  EXPECT_EQ(ended.finish(), "the trace has ended");
  EXPECT_EQ(ended.trace().keys.size(), 1U);
  BlockReader wrong(BlockFormat::text, plenty);
  EXPECT_EQ(wrong.feed("7\nx\n"), "line 2: 'x' is no block number");
  EXPECT_EQ(wrong.feed("8\n"), "the trace has ended");
  EXPECT_EQ(wrong.finish(), "the trace has ended");
}

TEST(BlockTraces, FormatsHaveNames) {
  EXPECT_EQ(find_block_format("text"), BlockFormat::text);
  EXPECT_EQ(find_block_format("oracleGeneral"), BlockFormat::oracle_general);
  EXPECT_EQ(find_block_format("csv"), std::nullopt);
}

TEST(BlockTraces, MemoryIsBounded) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += std::to_string(i) + "\n";
  EXPECT_EQ(complaint(BlockFormat::text, text, 48 * 100),
            "line 101: there is no memory for more than 100 accesses");
  EXPECT_EQ(complaint(BlockFormat::oracle_general, sound_oracle_general(), 48 * 2),
            "byte 48: there is no memory for more than 2 accesses");
  EXPECT_EQ(complaint(BlockFormat::text, "1,0,r,0,5\n2,0,r,0,5\n", 3 * log_bytes_per_access),
            "line 2: there is no memory for more accesses");
}

TEST(BlockTraces, EveryTruncationIsReadWithinBounds) {
  for (const std::string& sound : {sound_text(), sound_oracle_general(), compressed(sound_text()),
                                   compressed(sound_oracle_general())}) {
    for (std::size_t length = 0; length <= sound.size(); ++length)
      ASSERT_EQ(broken_block_promise(sound.substr(0, length), 1 + length % 7), "") << length;
  }
}

// zstd reads this frame's first blocks before it meets the damage, but only if it gets the frame in
// pieces.
TEST(BlockTraces, DamageIsMetWhateverThePieces) {
  constexpr char damaged[] =
      "\050\265\057\375\001\003\000\000\001\000\000\000\000\000\000\000\000\000\000\000"
      "\003\000\001\000\000\000\000\000\000\000\057\375\000\162\000\000\000\240\000\000"
      "\000\000\000\000\000\000\000\000\000\000\376";
  EXPECT_EQ(broken_block_promise({damaged, sizeof damaged - 1}, 41), "");
}

TEST(BlockTraces, HostileFilesAreReadWithinBounds) {
  std::mt19937_64 random(1);
  const std::vector<std::string> sound = {sound_text(), sound_oracle_general(),
                                          compressed(sound_text()), "id\n1\n2\n", "1 2 3\n4 5 6\n"};
  const std::string letters = "0123456789,.-+einfa# \n\t\"";
  for (int run = 0; run < 4000; ++run) {
    std::string bytes = sound[random() % sound.size()];
    for (uint64_t changes = random() % 6; changes > 0; --changes) {
      const std::size_t at = random() % (bytes.size() + 1);
      const char letter =
          random() % 2 == 0 ? letters[random() % letters.size()] : static_cast<char>(random());
      if (random() % 3 == 0 && at < bytes.size())
        bytes.erase(at, 1 + random() % 4);
      else
        bytes.insert(at, 1 + random() % 3, letter);
    }
    ASSERT_EQ(broken_block_promise(bytes, 1 + random() % 40), "") << run;
  }
}

}  // namespace
}  // namespace forebay::sim
