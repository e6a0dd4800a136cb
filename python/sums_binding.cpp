// forebay._core: sums over a trace's accesses. Only a binding; forebay.analysis.sums documents its
// use.
#include "sums_binding.h"

#include <nanobind/ndarray.h>

#include "columns.h"
#include "trace/sums.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace forebay {

namespace {

void add(const Column<int32_t>& file, const Column<uint32_t>& process,
         const Column<uint8_t>& operation, const Column<int8_t>& collective,
         const Column<uint8_t>& folded, const Column<int64_t>& offset, const Column<int64_t>& end,
         const Column<int64_t>& requested, const Column<int64_t>& transferred,
         const Column<int64_t>& start_ns, const Column<int64_t>& end_ns, const Sums<int64_t>& calls,
         const Sums<int64_t>& in_collective, const Sums<int64_t>& undeclared,
         const Sums<int64_t>& asked, const Sums<int64_t>& moved, const Sums<int64_t>& ns,
         const Sums<int64_t>& sizes, const Sums<int64_t>& size_ns, const Sums<int64_t>& ends,
         const Sums<int64_t>& unplaced, const Sums<int64_t>& process_ns, const Sums<uint8_t>& users,
         const Sums<int64_t>& first_last_ns, const Sums<int64_t>& steps,
         const Sums<int64_t>& orders) {
  rows_of(file, process, operation, collective, folded, offset, end, requested, transferred,
          start_ns, end_ns);
  const std::size_t rows = calls.size(), files = ends.size();
  if (rows != files * trace::operation_count || in_collective.size() != rows ||
      undeclared.size() != rows || asked.size() != rows || moved.size() != rows ||
      ns.size() != rows || sizes.size() != rows * trace::size_classes ||
      size_ns.size() != sizes.size() || unplaced.size() != files ||
      users.size() != files * process_ns.size() || first_last_ns.size() != 2 || steps.size() != 2 ||
      orders.size() != 2)
    throw nb::value_error("these are no tables for sums");
  const trace::SumColumns columns{span_of(file),       span_of(process),   span_of(operation),
                                  span_of(collective), span_of(folded),    span_of(offset),
                                  span_of(end),        span_of(requested), span_of(transferred),
                                  span_of(start_ns),   span_of(end_ns)};
  const trace::SumTables tables{span_of(calls),         span_of(in_collective), span_of(undeclared),
                                span_of(asked),         span_of(moved),         span_of(ns),
                                span_of(sizes),         span_of(size_ns),       span_of(ends),
                                span_of(unplaced),      span_of(process_ns),    span_of(users),
                                span_of(first_last_ns), span_of(steps),         span_of(orders)};
  bool fits = false;
  {
    const nb::gil_scoped_release release;
    fits = trace::add_sums(columns, tables);
  }
  if (!fits) throw nb::index_error("an access names what the trace does not have");
}

}  // namespace

void bind_sums(nb::module_& module) {
  module.def(
      "add_sums", add, "file"_a, "process"_a, "operation"_a, "collective"_a, "folded"_a, "offset"_a,
      "end"_a, "requested"_a, "transferred"_a, "start_ns"_a, "end_ns"_a, "calls"_a,
      "in_collective"_a, "undeclared"_a, "asked"_a, "moved"_a, "ns"_a, "sizes"_a, "size_ns"_a,
      "ends"_a, "unplaced"_a, "process_ns"_a, "users"_a, "first_last_ns"_a, "steps"_a, "orders"_a,
      "Adds a batch, given by its columns, to the tables after them. IndexError: it does not fit.");
}

}  // namespace forebay
