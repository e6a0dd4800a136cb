// What Python hands in: columns of a table of accesses, without copying, and checks of the rest.
#pragma once

#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace forebay {

template <typename Value>
using Column =
    nanobind::ndarray<const Value, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

// Numbers of any shape that are added to.
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

// Raises ValueError, which says `otherwise`, unless it holds.
inline void expect(bool holds, const char* otherwise) {
  if (!holds) throw nanobind::value_error(otherwise);
}

inline void expect_page(int64_t page_bytes) {
  expect(page_bytes > 0, "a page has at least one byte");
}

// The columns' common length; raises ValueError if they have none.
template <typename First, typename... Others>
std::size_t rows_of(const First& first, const Others&... others) {
  const std::size_t rows = first.shape(0);
  if (((others.shape(0) != rows) || ...))
    throw nanobind::value_error("columns of one table are of one length");
  return rows;
}

}  // namespace forebay
