// Text to operation and back.
#include "operation.h"

#include <charconv>

namespace random_io {
namespace {

struct Field {
  char key;
  int64_t Operation::*number;
};
constexpr Field kFields[] = {{'m', &Operation::members}, {'w', &Operation::mode},
                             {'v', &Operation::value},   {'l', &Operation::length},
                             {'i', &Operation::hints},   {'c', &Operation::large},
                             {'x', &Operation::error}};
struct PartField {
  char key;
  int64_t Part::*number;
};
constexpr PartField kPartFields[] = {
    {'o', &Part::offset}, {'n', &Part::count}, {'h', &Part::shift}, {'d', &Part::displacement}};

void put(std::string& text, char key, int64_t number) {
  if (number == 0) return;
  text += ' ';
  text += key;
  text += '=' + std::to_string(number);
}

void put(std::string& text, char key, const DatatypeRef& type) {
  if (!type) return;
  text += ' ';
  text += key;
  text += '=' + type->text;
}

std::string_view take_word(std::string_view& line) {
  while (!line.empty() && line[0] == ' ') line.remove_prefix(1);
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

bool to_number(std::string_view text, int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

bool set_part_field(Part& part, char key, std::string_view value) {
  if (key == 't') return (part.memory = parse_datatype(value)) != nullptr;
  if (key == 'y') return (part.file_type = parse_datatype(value)) != nullptr;
  int64_t number = 0;
  if (!to_number(value, number)) return false;
  if (key == 'q' && number >= 0 && number < kRequests) {
    part.request = static_cast<int>(number);
    return true;
  }
  for (const PartField& field : kPartFields) {
    if (field.key == key) {
      part.*field.number = number;
      return true;
    }
  }
  return false;
}

bool set_field(Operation& operation, char key, std::string_view value) {
  if (key == 'e') return (operation.etype = parse_datatype(value)) != nullptr;
  int64_t number = 0;
  if (!to_number(value, number)) return false;
  const auto index = [&](int& target, int bound) {
    target = static_cast<int>(number);
    return number >= 0 && number < bound;
  };
  if (key == 's') return index(operation.slot, kSlots);
  if (key == 'f') return index(operation.file, kFiles);
  if (key == 'a') return index(operation.alias, kAliases);
  for (const Field& field : kFields) {
    if (field.key == key) {
      operation.*field.number = number;
      return true;
    }
  }
  return false;
}

}  // namespace

const Part* Operation::part(int rank) const {
  for (const Part& candidate : parts) {
    if (candidate.rank == rank) return &candidate;
  }
  return nullptr;
}

std::string format_operation(const Operation& operation) {
  std::string text = std::to_string(operation.number) + ' ' + operation.name;
  put(text, 's', operation.slot);
  put(text, 'f', operation.file);
  put(text, 'a', operation.alias);
  for (const Field& field : kFields) put(text, field.key, operation.*field.number);
  put(text, 'e', operation.etype);
  for (const Part& part : operation.parts) {
    text += " | " + std::to_string(part.rank);
    for (const PartField& field : kPartFields) put(text, field.key, part.*field.number);
    put(text, 'q', part.request);
    put(text, 't', part.memory);
    put(text, 'y', part.file_type);
  }
  return text;
}

std::optional<Operation> parse_operation(std::string_view line) {
  Operation operation;
  int64_t number = 0;
  if (!to_number(take_word(line), number)) return std::nullopt;
  operation.number = static_cast<int>(number);
  operation.name = take_word(line);
  for (std::string_view word = take_word(line); !word.empty(); word = take_word(line)) {
    if (word == "|") {
      if (!to_number(take_word(line), number) || number < 0 || number >= kMaxRanks) {
        return std::nullopt;
      }
      operation.parts.emplace_back().rank = static_cast<int>(number);
      continue;
    }
    if (word.size() < 3 || word[1] != '=') return std::nullopt;
    const bool fine = operation.parts.empty()
                          ? set_field(operation, word[0], word.substr(2))
                          : set_part_field(operation.parts.back(), word[0], word.substr(2));
    if (!fine) return std::nullopt;
  }
  return operation;
}

}  // namespace random_io
