// libCacheSim's oracleGeneral format: https://github.com/1a1a11a/libCacheSim, reader
// "oracleGeneral".
#include <algorithm>

#include "sim/block_trace.h"

namespace forebay::sim {

namespace {

constexpr std::size_t record_bytes = 24;
constexpr std::size_t id_at = 4;

uint64_t little_endian(std::string_view bytes) {
  uint64_t value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i)
    value = (value << 8) | static_cast<unsigned char>(bytes[i - 1]);
  return value;
}

class OracleGeneralParser final : public BlockParser {
 public:
  explicit OracleGeneralParser(BlockTrace& trace) : trace_(trace) {}

  std::string feed(std::string_view bytes) override {
    if (!part_.empty()) {
      const std::size_t missing = std::min(record_bytes - part_.size(), bytes.size());
      part_ += bytes.substr(0, missing);
      bytes.remove_prefix(missing);
      if (part_.size() < record_bytes) return "";
      if (std::string wrong = take(part_); !wrong.empty()) return wrong;
      part_.clear();
    }
    for (; bytes.size() >= record_bytes; bytes.remove_prefix(record_bytes)) {
      if (std::string wrong = take(bytes); !wrong.empty()) return wrong;
    }
    part_ = bytes;
    return "";
  }

  std::string finish() override {
    if (!part_.empty()) {
      return place() + "the last record is cut off: " + std::to_string(part_.size()) + " of " +
             std::to_string(record_bytes) + " bytes";
    }
    return trace_.keys.empty() ? "it holds no record" : "";
  }

 private:
  std::string take(std::string_view record) {
    const auto time = static_cast<uint32_t>(little_endian(record.substr(0, id_at)));
    if (time < time_) {
      return place() + "time " + std::to_string(time) + " lies before the " +
             std::to_string(time_) + " of the record before; is it oracleGeneral, in order?";
    }
    time_ = time;
    if (trace_.keys.size() >= trace_.most_keys)
      return place() + "there is no memory for more than " + std::to_string(trace_.most_keys) +
             " accesses";
    const uint64_t id = little_endian(record.substr(id_at, sizeof(uint64_t)));
    trace_.keys.push_back({1, static_cast<int64_t>(id)});
    return "";
  }

  std::string place() const {
    return "byte " + std::to_string(trace_.keys.size() * record_bytes) + ": ";
  }

  BlockTrace& trace_;
  std::string part_;  // the incomplete record at the end of the bytes so far
  uint32_t time_ = 0;
};

}  // namespace

std::unique_ptr<BlockParser> oracle_general_parser(BlockTrace& trace) {
  return std::make_unique<OracleGeneralParser>(trace);
}

}  // namespace forebay::sim
