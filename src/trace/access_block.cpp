#include "trace/access_block.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <map>

#include "trace/durations.h"

namespace forebay::trace {

namespace {

enum class Packing : uint8_t { plain, zstd, constant };

enum Stream : uint8_t {
  routines,
  files,
  views,
  positions,
  sizes,
  shortfalls,
  completions,
  sequences,
  gap_symbols,  // with Times::histogram these hold both histograms
  gap_bits,
  duration_symbols,
  duration_bits,
  stream_count,
};

constexpr int compression_level = 3;
constexpr std::size_t most_varint_bytes = 10;
constexpr std::size_t symbols = 256;
constexpr uint64_t completed_at_end = 0, completion_unknown = 1, completed_at = 2, told_apart = 3;

// The state from which the next access to a file is predicted. Sums wrap around, so any number can
// be predicted from any other.
struct FileState {
  uint64_t position = 0;
  uint64_t stride = 0;
  uint64_t size = 0;
  uint32_t view = 0;

  uint64_t expected() const { return position + stride; }
  void saw(const Access& access) {
    stride = static_cast<uint64_t>(access.position) - position;
    position = static_cast<uint64_t>(access.position);
    size = static_cast<uint64_t>(access.requested);
    view = access.view;
  }
};

class FileStates {
 public:
  FileState& of(uint32_t file) {
    if (last_ == nullptr || file != last_file_) {
      last_file_ = file;
      last_ = &states_[file];
    }
    return *last_;
  }

 private:
  // Ordered: a file could choose numbers that collide in a hash map.
  std::map<uint32_t, FileState> states_;
  uint32_t last_file_ = 0;
  FileState* last_ = nullptr;
};

// Times may run backwards: the accesses may come from several clocks.
struct TimeColumns {
  std::vector<uint64_t> gaps, durations;
  bool backwards = false;

  explicit TimeColumns(std::span<const Access> accesses) {
    gaps.reserve(accesses.size());
    durations.reserve(accesses.size());
    int64_t before = accesses.front().start_ns;
    for (const Access& access : accesses) {
      gaps.push_back(static_cast<uint64_t>(difference_of(access.start_ns, before)));
      durations.push_back(static_cast<uint64_t>(difference_of(access.end_ns, access.start_ns)));
      before = access.end_ns;
    }
    if (!backwards) return;
    for (std::vector<uint64_t>* column : {&gaps, &durations}) {
      for (uint64_t& value : *column) value = zigzag(static_cast<int64_t>(value));
    }
  }

 private:
  int64_t difference_of(int64_t later, int64_t earlier) {
    const int64_t passed = difference(static_cast<uint64_t>(later), static_cast<uint64_t>(earlier));
    backwards |= passed < 0;
    return passed;
  }
};

void cut(const std::vector<uint64_t>& values, Bytes& symbols_of, Bytes& bits_of) {
  BitWriter bits(bits_of);
  for (const uint64_t value : values) {
    const Magnitude magnitude = Magnitude::of(value);
    symbols_of.push_back(static_cast<std::byte>(magnitude.symbol));
    bits.put(value - magnitude.base(), magnitude.low_bits);
  }
  bits.finish();
}

void count(const std::vector<uint64_t>& values, Bytes& stream) {
  std::array<uint64_t, symbols> counts{};
  for (const uint64_t value : values) ++counts[Magnitude::of(value).symbol];
  ByteWriter writer(stream);
  for (const uint64_t times : counts) writer.varint(times);
}

bool counted(ByteReader& reader, uint32_t of, std::vector<uint64_t>& counts) {
  counts.resize(symbols);
  uint64_t sum_of = 0;
  for (uint64_t& times : counts) {
    times = reader.varint();
    if (times > of) return false;
    sum_of += times;
  }
  return reader.ok() && sum_of == of;
}

// Decodes the numbers of a stream, all of which must be used.
class Column {
 public:
  explicit Column(const Bytes& stream) : reader_(stream) {}
  uint64_t next() { return reader_.varint(); }
  int64_t next_signed() { return reader_.signed_varint(); }
  bool complete() const { return reader_.ok() && reader_.at_end(); }

 private:
  ByteReader reader_;
};

class TimeColumn {
 public:
  TimeColumn(const Bytes& symbols_of, const Bytes& bits_of)
      : symbols_(symbols_of), bits_(bits_of) {}
  uint64_t next() {
    const Magnitude magnitude = Magnitude::of_symbol(static_cast<uint8_t>(symbols_[next_++]));
    return magnitude.base() + bits_.get(magnitude.low_bits);
  }
  bool ok() const { return bits_.ok(); }

 private:
  const Bytes& symbols_;
  BitReader bits_;
  std::size_t next_ = 0;
};

}  // namespace

BlockEncoder::BlockEncoder() : context_(ZSTD_createCCtx()) {}
BlockEncoder::~BlockEncoder() { ZSTD_freeCCtx(context_); }
BlockDecoder::BlockDecoder() : context_(ZSTD_createDCtx()) {}
BlockDecoder::~BlockDecoder() { ZSTD_freeDCtx(context_); }

bool BlockEncoder::add_stream(ByteView stream, Bytes& bytes) {
  ByteWriter writer(bytes);
  writer.varint(stream.size());
  if (stream.empty()) return true;
  if (std::all_of(stream.begin(), stream.end(), [&](std::byte b) { return b == stream[0]; })) {
    writer.u8(static_cast<uint8_t>(Packing::constant));
    writer.u8(static_cast<uint8_t>(stream[0]));
    return true;
  }
  packed_.resize(ZSTD_compressBound(stream.size()));
  const std::size_t packed = ZSTD_compressCCtx(context_, packed_.data(), packed_.size(),
                                               stream.data(), stream.size(), compression_level);
  if (ZSTD_isError(packed)) return false;
  const bool smaller = packed < stream.size();
  writer.u8(static_cast<uint8_t>(smaller ? Packing::zstd : Packing::plain));
  if (smaller) writer.varint(packed);
  writer.bytes(smaller ? ByteView(packed_.data(), packed) : stream);
  return true;
}

bool BlockEncoder::encode(std::span<const Access> accesses, Times times, Bytes& bytes) {
  if (context_ == nullptr) return false;
  if (accesses.empty()) return true;
  std::array<Bytes, stream_count> streams;
  FileStates states;
  uint32_t file = 0, request = 0;
  uint64_t sequence = 0;
  const auto add = [&](Stream stream, int64_t value) {
    ByteWriter(streams[stream]).signed_varint(value);
  };
  for (const Access& access : accesses) {
    FileState& state = states.of(access.file);
    streams[routines].push_back(static_cast<std::byte>(access.routine));
    add(files, difference(access.file, file));
    add(views, difference(access.view, state.view));
    add(positions, difference(static_cast<uint64_t>(access.position), state.expected()));
    add(sizes, difference(static_cast<uint64_t>(access.requested), state.size));
    add(shortfalls, difference(static_cast<uint64_t>(access.requested),
                               static_cast<uint64_t>(access.transferred)));
    ByteWriter completion(streams[completions]);
    if (access.request != 0) {
      completion.varint(told_apart);
      completion.signed_varint(int64_t{access.request} - request - 1);
      request = access.request;
    } else if (access.completed_ns == unknown_time) {
      completion.varint(completion_unknown);
    } else if (access.completed_ns == access.end_ns || times == Times::histogram) {
      completion.varint(completed_at_end);
    } else {
      completion.varint(completed_at);
      completion.signed_varint(difference(static_cast<uint64_t>(access.completed_ns),
                                          static_cast<uint64_t>(access.end_ns)));
    }
    add(sequences, difference(access.sequence, sequence));
    file = access.file;
    sequence = access.sequence + 1;
    state.saw(access);
  }
  const TimeColumns columns(accesses);
  if (times == Times::exact) {
    cut(columns.gaps, streams[gap_symbols], streams[gap_bits]);
    cut(columns.durations, streams[duration_symbols], streams[duration_bits]);
  } else {
    count(columns.gaps, streams[gap_symbols]);
    count(columns.durations, streams[gap_symbols]);
  }
  ByteWriter writer(bytes);
  writer.u8(static_cast<uint8_t>(times));
  writer.u8(columns.backwards ? 1 : 0);
  writer.signed_varint(accesses.front().start_ns);
  return std::all_of(streams.begin(), streams.end(),
                     [&](const Bytes& stream) { return add_stream(stream, bytes); });
}

std::string BlockDecoder::unpack(ByteReader& reader, std::size_t most_bytes, Bytes& stream) {
  const uint64_t size = reader.varint();
  if (!reader.ok() || size > most_bytes) return "a column is too long";
  stream.clear();
  if (size == 0) return "";
  const auto bytes = static_cast<std::size_t>(size);
  switch (const auto packing = static_cast<Packing>(reader.u8()); packing) {
    case Packing::constant:
      stream.assign(bytes, static_cast<std::byte>(reader.u8()));
      return reader.ok() ? "" : "a column is cut off";
    case Packing::plain: {
      const ByteView plain = reader.bytes(bytes);
      stream.assign(plain.begin(), plain.end());
      return reader.ok() ? "" : "a column is cut off";
    }
    case Packing::zstd: {
      const ByteView packed = reader.bytes(reader.varint());
      if (!reader.ok()) return "a column is cut off";
      stream.resize(bytes);
      const std::size_t unpacked =
          ZSTD_decompressDCtx(context_, stream.data(), bytes, packed.data(), packed.size());
      return !ZSTD_isError(unpacked) && unpacked == bytes ? "" : "a column cannot be decompressed";
    }
  }
  return "a column is packed in an unknown way";
}

std::string BlockDecoder::decode(ByteView bytes, uint32_t count, uint32_t thread,
                                 Accesses& accesses, TimeHistogram* folded) {
  if (count == 0 || count > most_accesses) return "the number of accesses is wrong";
  ByteReader reader(bytes);
  const uint8_t times = reader.u8();
  const bool backwards = reader.u8() != 0;
  const int64_t first_start = reader.signed_varint();
  if (!reader.ok() || times > static_cast<uint8_t>(Times::histogram))
    return "the times are kept in an unknown way";
  const bool exact = times == static_cast<uint8_t>(Times::exact);
  std::array<Bytes, stream_count> streams;
  for (Bytes& stream : streams) {
    const std::size_t most = 2 * most_varint_bytes * std::max<std::size_t>(count, symbols);
    if (std::string problem = unpack(reader, most, stream); !problem.empty()) return problem;
  }
  if (!reader.at_end()) return "bytes follow the last column";
  if (streams[routines].size() != count) return "the column of routines has a wrong length";

  TimeHistogram histogram;
  if (exact) {
    if (streams[gap_symbols].size() != count || streams[duration_symbols].size() != count)
      return "the columns of times have a wrong length";
  } else {
    ByteReader counts(streams[gap_symbols]);
    if (!counted(counts, count, histogram.gaps) || !counted(counts, count, histogram.durations) ||
        !counts.at_end())
      return "the histograms of times are wrong";
  }

  Column file_column(streams[files]), view_column(streams[views]),
      position_column(streams[positions]), size_column(streams[sizes]),
      shortfall_column(streams[shortfalls]), completion_column(streams[completions]),
      sequence_column(streams[sequences]);
  TimeColumn gaps(streams[gap_symbols], streams[gap_bits]);
  TimeColumn durations(streams[duration_symbols], streams[duration_bits]);
  const auto passed = [&](TimeColumn& column) {
    if (!exact) return uint64_t{0};
    const uint64_t value = column.next();
    return backwards ? static_cast<uint64_t>(unzigzag(value)) : value;
  };
  std::vector<Access> decoded(count);
  FileStates states;
  uint32_t file = 0, request = 0;
  uint64_t sequence = 0;
  auto now = static_cast<uint64_t>(first_start);
  for (uint32_t i = 0; i < count; ++i) {
    Access& access = decoded[i];
    access.routine = static_cast<uint8_t>(streams[routines][i]);
    access.file = file = static_cast<uint32_t>(sum(file, file_column.next_signed()));
    FileState& state = states.of(file);
    access.view = static_cast<uint32_t>(sum(state.view, view_column.next_signed()));
    access.position = static_cast<int64_t>(sum(state.expected(), position_column.next_signed()));
    access.requested = static_cast<int64_t>(sum(state.size, size_column.next_signed()));
    access.transferred =
        static_cast<int64_t>(static_cast<uint64_t>(access.requested) -
                             static_cast<uint64_t>(shortfall_column.next_signed()));
    access.sequence = sum(sequence, sequence_column.next_signed());
    sequence = access.sequence + 1;
    now += passed(gaps);
    access.start_ns = static_cast<int64_t>(now);
    now += passed(durations);
    access.end_ns = static_cast<int64_t>(now);
    switch (completion_column.next()) {
      case completed_at_end:
        access.completed_ns = access.end_ns;
        break;
      case completion_unknown:
        access.completed_ns = unknown_time;
        break;
      case completed_at:
        access.completed_ns = static_cast<int64_t>(sum(now, completion_column.next_signed()));
        break;
      case told_apart:
        access.completed_ns = unknown_time;
        access.request = request =
            static_cast<uint32_t>(sum(request, completion_column.next_signed()) + 1);
        break;
      default:
        return "the column of completions is wrong";
    }
    state.saw(access);
  }
  for (const Column* column : {&file_column, &view_column, &position_column, &size_column,
                               &shortfall_column, &completion_column, &sequence_column}) {
    if (!column->complete()) return "a column has a wrong length";
  }
  if (exact && (!gaps.ok() || !durations.ok())) return "the columns of times are cut off";
  for (const Access& access : decoded) accesses.push_back(access, thread);
  if (folded != nullptr) *folded = std::move(histogram);
  return "";
}

}  // namespace forebay::trace
