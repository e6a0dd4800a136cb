// Block traces as text.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "sim/block_trace.h"

namespace forebay::sim {

namespace {

constexpr std::size_t most_line_bytes = 64 << 10;
constexpr std::size_t most_fields = 64;
constexpr std::size_t most_files = 1 << 20;
constexpr std::size_t most_name_bytes = 4096;
constexpr uint32_t most_processes = 1 << 24;
constexpr std::size_t shown_bytes = 40;  // of a text that cannot be read
constexpr double most_seconds = 9e9;

enum Field : uint8_t { time, id, size, process, operation, offset, length, file, fields, ignored };

struct Named {
  std::string_view name;
  Field field;
};

// The names that a column may have.
constexpr std::array names = {
    Named{"time", time},        Named{"timestamp", time},
    Named{"start", time},       Named{"id", id},
    Named{"obj_id", id},        Named{"block", id},
    Named{"page", id},          Named{"key", id},
    Named{"lba", id},           Named{"size", size},
    Named{"obj_size", size},    Named{"process", process},
    Named{"rank", process},     Named{"operation", operation},
    Named{"op", operation},     Named{"offset", offset},
    Named{"length", length},    Named{"bytes", length},
    Named{"requested", length}, Named{"file", file},
    Named{"path", file},
};

std::string lower(std::string_view text) {
  std::string lowered(text);
  for (char& c : lowered) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lowered;
}

// Makes `text` safe to print in a message.
std::string quoted(std::string_view text) {
  std::string shown = "'";
  for (const char c : text.substr(0, shown_bytes)) shown += c >= ' ' && c <= '~' ? c : '?';
  return shown + (text.size() > shown_bytes ? "...'" : "'");
}

template <typename Number>
bool parse(std::string_view text, Number& number) {
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && rest == text.data() + text.size();
}

class TextParser final : public BlockParser {
 public:
  explicit TextParser(BlockTrace& trace) : trace_(trace) {}

  std::string feed(std::string_view bytes) override {
    while (true) {
      const std::size_t end = bytes.find('\n');
      if (end == std::string_view::npos) break;
      std::string_view line = bytes.substr(0, end);
      if (!part_.empty()) {
        part_ += line;
        line = part_;
      }
      if (std::string wrong = take(line); !wrong.empty()) return place() + wrong;
      part_.clear();
      bytes.remove_prefix(end + 1);
    }
    part_ += bytes;
    return part_.size() > most_line_bytes ? (++line_, place() + too_long()) : "";
  }

  std::string finish() override {
    if (!part_.empty()) {
      if (std::string wrong = take(part_); !wrong.empty()) return place() + wrong;
    }
    return trace_.keys.empty() && trace_.log.accesses().empty() ? "it holds no access" : "";
  }

 private:
  std::string place() const { return "line " + std::to_string(line_) + ": "; }
  static std::string too_long() {
    return "it is longer than " + std::to_string(most_line_bytes) + " bytes";
  }

  std::string take(std::string_view line) {
    ++line_;
    if (line.size() > most_line_bytes) return too_long();
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (std::string wrong = split(line); !wrong.empty()) return wrong;
    if (count_ == 0) return "";
    if (columns_.empty()) {
      bool named = false;
      if (std::string wrong = begin(named); !wrong.empty()) return wrong;
      if (named) return "";
    }
    if (count_ != columns_.size())
      return std::to_string(count_) + " fields instead of " + std::to_string(columns_.size());
    for (std::size_t i = 0; i < count_; ++i) {
      if (columns_[i] < fields) values_[columns_[i]] = parts_[i];
    }
    if (has_[time]) {
      if (std::string wrong = take_time(values_[time]); !wrong.empty()) return wrong;
    }
    return has_[id] ? take_id(values_[id]) : take_access();
  }

  // Divides a line at commas, or at blanks if it has no comma. A comment or an empty line has no
  // parts.
  std::string split(std::string_view line) {
    constexpr std::string_view blank = " \t";
    count_ = 0;
    const auto trimmed = [&](std::string_view text) {
      const std::size_t first = text.find_first_not_of(blank);
      if (first == std::string_view::npos) return std::string_view();
      text = text.substr(first, text.find_last_not_of(blank) - first + 1);
      if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
        text = text.substr(1, text.size() - 2);
      return text;
    };
    line = trimmed(line);
    if (line.empty() || line.front() == '#') return "";
    const bool commas = line.find(',') != std::string_view::npos;
    for (bool more = true; more;) {
      if (count_ == most_fields) return "more than " + std::to_string(most_fields) + " fields";
      const std::size_t end = commas ? line.find(',') : line.find_first_of(blank);
      more = end != std::string_view::npos;
      parts_[count_++] = trimmed(line.substr(0, end));
      if (!more) break;
      line.remove_prefix(end + 1);
      if (!commas) line.remove_prefix(std::min(line.find_first_not_of(blank), line.size()));
    }
    return "";
  }

  // Reads from the first line which columns there are.
  std::string begin(bool& named) {
    double number = 0;
    named = !parse(parts_[0], number);
    if (named) {
      for (std::size_t i = 0; i < count_; ++i) columns_.push_back(column_named(parts_[i]));
    } else if (count_ == 1) {
      columns_ = {id};
    } else if (count_ == 3) {
      columns_ = {time, id, size};
    } else if (count_ == 5 || count_ == 6) {
      columns_ = {time, process, operation, offset, length, file};
      columns_.resize(count_);
    } else {
      return std::to_string(count_) +
             " fields: name them in a first line (id; time,id,size;"
             " time,process,operation,offset,length,file)";
    }
    for (const Field field : columns_) {
      if (field < fields && std::exchange(has_[field], true))
        return "two columns of the same meaning";
    }
    if (!has_[length] && has_[offset] && has_[size]) {
      std::ranges::replace(columns_, size, length);
      has_[length] = true;
    }
    if (has_[id] == (has_[offset] && has_[length]))
      return "its columns need a name 'id', or 'offset' and 'length'";
    return "";
  }

  static Field column_named(std::string_view text) {
    const std::string name = lower(text);
    const auto* const found = std::ranges::find(names, name, &Named::name);
    return found == names.end() ? ignored : found->field;
  }

  std::string take_time(std::string_view text) {
    double now = 0;
    if (!parse(text, now) || !std::isfinite(now)) return quoted(text) + " is no time";
    if (now < seconds_)
      return "time " + std::string(text) + " lies before that of the line before; sort it by time";
    seconds_ = now;
    return "";
  }

  std::string take_id(std::string_view text) {
    uint64_t number = 0;
    if (!parse(text, number)) return quoted(text) + " is no block number";
    if (trace_.keys.size() >= trace_.most_keys)
      return "there is no memory for more than " + std::to_string(trace_.most_keys) + " accesses";
    trace_.keys.push_back({1, static_cast<int64_t>(number)});
    return "";
  }

  std::string take_access() {
    DataAccess access;
    if (!parse(values_[offset], access.offset) || access.offset < 0)
      return quoted(values_[offset]) + " is no offset";
    if (!parse(values_[length], access.bytes) || access.bytes < 0 ||
        access.bytes > std::numeric_limits<int64_t>::max() - access.offset)
      return quoted(values_[length]) + " is no length at offset " + std::to_string(access.offset);
    access.end = access.offset + access.bytes;
    if (has_[process] &&
        (!parse(values_[process], access.process) || access.process >= most_processes))
      return quoted(values_[process]) + " is no process number";
    if (has_[operation]) {
      const std::string what = lower(values_[operation]);
      access.writes = what == "w" || what == "write";
      if (!access.writes && what != "r" && what != "read")
        return quoted(values_[operation]) + " is neither read nor write";
    }
    if (has_[time]) {
      if (std::abs(seconds_) > most_seconds) return "its time in seconds is beyond reason";
      access.start_ns = std::llround(seconds_ * 1e9);
    }
    if (!number_file(has_[file] ? values_[file] : std::string_view(), access.file))
      return "there is no memory for the names of more files";
    const auto handles = static_cast<uint32_t>(handles_.size());
    access.handle = handles_.try_emplace({access.process, access.file}, handles).first->second;
    if (!trace_.log.add(access)) return "there is no memory for more accesses";
    return "";
  }

  bool number_file(std::string_view name, uint32_t& number) {
    if (!trace_.files.empty() && trace_.files[last_file_] == name) {
      number = last_file_;
      return true;
    }
    if (name.size() > most_name_bytes) return false;
    const auto known = files_.find(name);
    if (known == files_.end()) {
      if (trace_.files.size() >= most_files) return false;
      number = static_cast<uint32_t>(trace_.files.size());
      files_.emplace(name, number);
      trace_.files.emplace_back(name);
    } else {
      number = known->second;
    }
    last_file_ = number;
    return true;
  }

  BlockTrace& trace_;
  std::string part_;  // the incomplete line at the end of the bytes so far
  uint64_t line_ = 0;
  std::vector<Field> columns_;
  std::array<bool, fields> has_{};
  std::array<std::string_view, most_fields> parts_;
  std::size_t count_ = 0;
  std::array<std::string_view, fields> values_;
  double seconds_ = -std::numeric_limits<double>::infinity();
  std::map<std::string, uint32_t, std::less<>> files_;
  uint32_t last_file_ = 0;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> handles_;
};

}  // namespace

std::unique_ptr<BlockParser> text_parser(BlockTrace& trace) {
  return std::make_unique<TextParser>(trace);
}

}  // namespace forebay::sim
