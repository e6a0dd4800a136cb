// Python's bytes objects: paths, names that programs chose, and serialised objects.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

#include "trace/bytes.h"

namespace forebay {

inline nanobind::bytes bytes_of(std::string_view text) {
  return nanobind::bytes(text.data(), text.size());
}
inline nanobind::bytes bytes_of(const trace::Bytes& bytes) {
  return nanobind::bytes(bytes.data(), bytes.size());
}
inline std::string text_of(const nanobind::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }
inline trace::ByteView view_of(const nanobind::bytes& bytes) {
  return {static_cast<const std::byte*>(bytes.data()), bytes.size()};
}

// The bytes that `write` writes to a ByteWriter.
template <typename Write>
nanobind::bytes written_by(Write&& write) {
  trace::Bytes bytes;
  trace::ByteWriter writer(bytes);
  write(writer);
  return bytes_of(bytes);
}

}  // namespace forebay
