// forebay._core: signatures of a trace's accesses. Only a binding; forebay.signatures documents its
// use.
#include "pattern_binding.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bytes.h"
#include "columns.h"
#include "pattern/classify.h"
#include "pattern/global.h"
#include "pattern/notation.h"
#include "pattern/signature_code.h"
#include "pattern/streams.h"
#include "signature_messages.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace forebay {

namespace {

using pattern::Signature;

using pattern::Streams;

uint64_t add_to_streams(Streams& streams, const Column<uint32_t>& process,
                        const Column<uint32_t>& thread, const Column<int32_t>& file,
                        const Column<uint16_t>& routine, const Column<uint8_t>& operation,
                        const Column<int64_t>& offset, const Column<int64_t>& size,
                        const Column<int64_t>& start_ns, const Column<int64_t>& end_ns,
                        const Column<uint8_t>& folded) {
  rows_of(process, thread, file, routine, operation, offset, size, start_ns, end_ns, folded);
  const pattern::StreamColumns columns{
      span_of(process), span_of(thread), span_of(file),     span_of(routine), span_of(operation),
      span_of(offset),  span_of(size),   span_of(start_ns), span_of(end_ns),  span_of(folded)};
  const nb::gil_scoped_release release;
  return streams.add(columns);
}

// The operations, by number, from pairs of a routine's name and whether it writes.
std::vector<pattern::Operation> operations_of(
    const std::vector<std::pair<std::string, bool>>& routines) {
  std::vector<pattern::Operation> operations;
  for (const auto& [name, writes] : routines) operations.push_back({name, writes});
  return operations;
}

std::tuple<Array<uint8_t>, Array<int64_t>, Array<int64_t>> expanded(const Signature& signature) {
  pattern::AccessColumns columns = pattern::expand(signature);
  return {array_of(std::move(columns.operation)), array_of(std::move(columns.offset)),
          array_of(std::move(columns.size))};
}

Values classes_of(const pattern::Classes& classes) {
  nb::dict values;
  values["direction"] = name_of(classes.direction);
  values["spatial"] = name_of(classes.spatial);
  values["dimension"] = classes.dimension;
  values["backward"] = classes.backward;
  values["repetitions"] = classes.repetitions;
  values["magnitude"] = name_of(classes.magnitude);
  values["sizes"] = name_of(classes.sizes);
  values["temporal"] = name_of(classes.temporal);
  return values;
}

using Routines = std::vector<std::pair<std::string, bool>>;

pattern::GlobalSignature merge_signatures(
    const std::vector<std::pair<uint32_t, const Signature*>>& of_ranks) {
  std::vector<pattern::LocalSignature> locals;
  for (const auto& [rank, signature] : of_ranks) {
    expect(signature != nullptr, "a rank's signature is missing");
    locals.push_back({rank, signature});
  }
  const nb::gil_scoped_release release;
  return pattern::merge(locals);
}

void bind_global(nb::module_& module) {
  using pattern::GlobalPattern;
  using pattern::GlobalSignature;
  nb::class_<GlobalPattern>(module, "GlobalPattern",
                            "A pattern that ranks have in common (src/pattern/global.h).")
      .def_ro("processes", &GlobalPattern::processes)
      .def_prop_ro("ranks", [](const GlobalPattern& p) { return pattern::notation(p.ranks); })
      .def_prop_ro("base",
                   [](const GlobalPattern& p) {
                     return p.own_starts.empty() ? pattern::notation(p.base)
                                                 : pattern::notation(p.own_starts);
                   })
      .def_prop_ro(
          "accesses", [](const GlobalPattern& p) { return p.pattern.accesses(); },
          "Accesses of one rank.")
      .def_prop_ro("spatial", [](const GlobalPattern& p) { return name_of(p.spatial); })
      .def_ro("dimension", &GlobalPattern::dimension)
      .def_ro("overlapping", &GlobalPattern::overlapping)
      .def_ro("start_ns", &GlobalPattern::start_ns)
      .def_ro("end_ns", &GlobalPattern::end_ns);
  nb::class_<GlobalSignature>(module, "GlobalSignature", "What all ranks did to one file.")
      .def_ro("processes", &GlobalSignature::processes)
      .def_prop_ro("ranks", [](const GlobalSignature& s) { return pattern::notation(s.ranks); })
      .def_ro("patterns", &GlobalSignature::patterns)
      .def_ro("accesses", &GlobalSignature::accesses)
      .def_ro("covered", &GlobalSignature::covered)
      .def_ro("unmerged", &GlobalSignature::unmerged)
      .def_ro("lost", &GlobalSignature::lost)
      .def(
          "message", [](const GlobalSignature& s) { return message_of(s); },
          "The message GlobalSignature as plain values, without the file.")
      .def(
          "lines",
          [](const GlobalSignature& s, const Routines& routines, int64_t page_bytes,
             int64_t zero_ns) {
            expect_page(page_bytes);
            std::vector<std::pair<std::string, uint64_t>> lines;
            for (pattern::Line& line :
                 global_signature(s, operations_of(routines), page_bytes, zero_ns))
              lines.emplace_back(std::move(line.text), line.accesses);
            return lines;
          },
          "routines"_a, "page_bytes"_a, "zero_ns"_a,
          "In Yin's notation, with the accesses that each line stands for; times are seconds after "
          "`zero_ns`.");
  module.def(
      "merge_signatures", merge_signatures, "of_ranks"_a,
      "One signature of a file from those of its ranks, of which any may have several: pairs of "
      "rank and Signature.");
}

}  // namespace

void bind_pattern(nb::module_& module) {
  nb::class_<Signature>(module, "Signature",
                        "What one thread of a process did to one file (src/pattern/signature.h).")
      .def_ro("accesses", &Signature::accesses)
      .def_ro("covered", &Signature::covered)
      .def_ro("lost", &Signature::lost)
      .def_prop_ro("coverage", &Signature::coverage)
      .def_prop_ro("parts", [](const Signature& s) { return s.parts.size(); })
      .def_prop_ro("patterns", [](const Signature& s) { return s.patterns.size(); })
      .def_prop_ro("memory_bytes", &Signature::memory_bytes)
      .def("__getstate__",
           [](const Signature& s) {
             return written_by([&](trace::ByteWriter& writer) { pattern::write(s, writer); });
           })
      .def("__setstate__",
           [](Signature& s, const nb::bytes& bytes) {
             new (&s) Signature();
             trace::ByteReader reader(view_of(bytes));
             if (!pattern::read(reader, s)) throw nb::value_error("that is no signature");
           })
      .def(
          "message", [](const Signature& s) { return message_of(s); },
          "The message LocalSignature as plain values, without rank, thread and file.")
      .def("expand", expanded, "Routine, offset and size of each access, in order.")
      .def(
          "trace_signature",
          [](const Signature& s, const std::string& file, const Routines& routines) {
            return trace_signature(s, file, operations_of(routines));
          },
          "file"_a, "routines"_a, "In Yin's notation, one line per part.")
      .def(
          "pattern_signature",
          [](const Signature& s, const Routines& routines, int64_t page_bytes) {
            expect_page(page_bytes);
            return pattern_signature(classify(s, operations_of(routines), page_bytes));
          },
          "routines"_a, "page_bytes"_a)
      .def(
          "classes",
          [](const Signature& s, const Routines& routines, int64_t page_bytes) {
            expect_page(page_bytes);
            return classes_of(classify(s, operations_of(routines), page_bytes));
          },
          "routines"_a, "page_bytes"_a);
  nb::class_<Streams>(module, "Streams", "Folds the accesses of a job into signatures.")
      .def(nb::init<>())
      .def("add", add_to_streams, "process"_a, "thread"_a, "file"_a, "routine"_a, "operation"_a,
           "offset"_a, "size"_a, "start_ns"_a, "end_ns"_a, "folded"_a,
           "Adds the reads and writes of a batch. Returns how many of them have no known place.")
      .def(
          "finish",
          [](Streams& streams) {
            std::vector<std::tuple<uint32_t, uint32_t, int32_t, Signature>> all;
            for (pattern::Stream& stream : streams.finish())
              all.emplace_back(stream.process, stream.thread, stream.file,
                               std::move(stream.signature));
            return all;
          },
          "Process, thread, file and signature of each stream.");
  bind_global(module);
}

}  // namespace forebay
