// Columns of tables: arguments from Python, used without a copy, and checked; and results.
#pragma once

#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace forebay {

template <typename Value>
using Column =
    nanobind::ndarray<const Value, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

// An array of any shape whose numbers are added to.
template <typename Value>
using Sums = nanobind::ndarray<Value, nanobind::c_contig, nanobind::device::cpu>;

template <typename Value>
std::span<const Value> span_of(const Column<Value>& column) {
  return {column.data(), column.size()};
}
template <typename Value>
std::span<Value> span_of(const Sums<Value>& sums) {
  return {sums.data(), sums.size()};
}

// A result as a NumPy array, which owns the values.
template <typename Value>
using Array = nanobind::ndarray<nanobind::numpy, Value, nanobind::ndim<1>, nanobind::c_contig>;

template <typename Value>
Array<Value> array_of(std::vector<Value>&& values) {
  auto* kept = new std::vector<Value>(std::move(values));
  const nanobind::capsule owner(
      kept, [](void* p) noexcept { delete static_cast<std::vector<Value>*>(p); });
  return Array<Value>(kept->data(), {kept->size()}, owner);
}

// Raises ValueError with the text `otherwise` unless `holds`.
inline void expect(bool holds, const char* otherwise) {
  if (!holds) throw nanobind::value_error(otherwise);
}

inline void expect_page(int64_t page_bytes) {
  expect(page_bytes > 0, "a page has at least one byte");
}

// The common length of the columns. Raises ValueError if their lengths differ.
template <typename First, typename... Others>
std::size_t rows_of(const First& first, const Others&... others) {
  const std::size_t rows = first.shape(0);
  if (((others.shape(0) != rows) || ...))
    throw nanobind::value_error("columns of one table are of one length");
  return rows;
}

}  // namespace forebay
