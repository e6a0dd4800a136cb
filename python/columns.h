// Columns of a table of accesses that Python hands in, without copying.
#pragma once

#include <nanobind/ndarray.h>

#include <cstddef>
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

// The columns' common length; raises ValueError if they have none.
template <typename First, typename... Others>
std::size_t rows_of(const First& first, const Others&... others) {
  const std::size_t rows = first.shape(0);
  if (((others.shape(0) != rows) || ...))
    throw nanobind::value_error("columns of one table are of one length");
  return rows;
}

}  // namespace forebay
