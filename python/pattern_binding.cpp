// forebay._core: signatures of a trace's accesses. A binding only; forebay.signatures says what is
// here for users.
#include "pattern_binding.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <utility>
#include <vector>

#include "columns.h"
#include "pattern/classify.h"
#include "pattern/global.h"
#include "pattern/notation.h"
#include "pattern/signature_code.h"
#include "pattern/streams.h"
#include "trace/routine.h"
#include "trace/table.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace forebay {

namespace {

using pattern::Signature;
using pattern::Stream;
using pattern::Streams;

// Adds the data accesses of a batch whose place is known; how many have none. Folded times are
// those of a block, and say nothing of an access.
uint64_t add(Streams& streams, const Column<uint32_t>& process, const Column<uint32_t>& thread,
             const Column<int32_t>& file, const Column<uint16_t>& routine,
             const Column<uint8_t>& operation, const Column<int64_t>& offset,
             const Column<int64_t>& size, const Column<int64_t>& start_ns,
             const Column<int64_t>& end_ns, const Column<uint8_t>& folded) {
  const std::size_t rows =
      rows_of(process, thread, file, routine, operation, offset, size, start_ns, end_ns, folded);
  const auto time_of = [&](std::size_t i, const Column<int64_t>& times) {
    const int64_t ns = times.data()[i];
    return ns == trace::no_time || folded.data()[i] != 0 ? pattern::unknown_time : ns;
  };
  const nb::gil_scoped_release release;
  uint64_t unplaced = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    const auto what = static_cast<trace::Operation>(operation.data()[i]);
    if (what != trace::Operation::read && what != trace::Operation::write) continue;
    if (size.data()[i] == 0) continue;
    if (offset.data()[i] < 0) {
      ++unplaced;
      continue;
    }
    streams.of(process.data()[i], thread.data()[i], file.data()[i])
        .add({offset.data()[i], size.data()[i], static_cast<uint8_t>(routine.data()[i])},
             time_of(i, start_ns), time_of(i, end_ns));
  }
  return unplaced;
}

// (name, whether it writes) of each routine, by number.
std::vector<pattern::Operation> operations_of(
    const std::vector<std::pair<std::string, bool>>& routines) {
  std::vector<pattern::Operation> operations;
  for (const auto& [name, writes] : routines) operations.push_back({name, writes});
  return operations;
}

template <typename Value>
nb::object array_of(std::vector<Value>&& values) {
  auto* kept = new std::vector<Value>(std::move(values));
  const nb::capsule owner(kept,
                          [](void* p) noexcept { delete static_cast<std::vector<Value>*>(p); });
  return nb::ndarray<nb::numpy, Value, nb::ndim<1>>(kept->data(), {kept->size()}, owner).cast();
}

// The accesses that a signature stands for.
nb::tuple expand(const Signature& signature) {
  std::vector<uint8_t> operations;
  std::vector<int64_t> offsets, sizes;
  pattern::Cursor cursor(signature);
  for (pattern::Access access; cursor.next(access);) {
    operations.push_back(access.operation);
    offsets.push_back(access.offset);
    sizes.push_back(access.size);
  }
  return nb::make_tuple(array_of(std::move(operations)), array_of(std::move(offsets)),
                        array_of(std::move(sizes)));
}

// What follows makes the messages of src/pattern/signature.proto as plain values.

void set_times(nb::dict& message, int64_t start_ns, int64_t end_ns) {
  if (start_ns != pattern::unknown_time) message["start_ns"] = start_ns;
  if (end_ns != pattern::unknown_time) message["end_ns"] = end_ns;
}

nb::dict message_of(const pattern::Pattern& pattern) {
  nb::dict message;
  if (!pattern.is_loop()) {
    nb::dict access;
    access["offset"] = pattern.offset;
    access["size"] = pattern.size;
    access["operation"] = pattern.operation;
    nb::list steps;
    for (const pattern::Step& step : pattern.steps) {
      nb::dict one;
      one["offset"] = step.offset;
      one["size"] = step.size;
      steps.append(one);
    }
    access["steps"] = steps;
    message["access"] = access;
    return message;
  }
  nb::dict loop;
  loop["count"] = pattern.count;
  nb::list body;
  for (const pattern::Pattern& one : pattern.body) body.append(message_of(one));
  loop["body"] = body;
  if (pattern.intervals.count > 0) {
    nb::dict intervals;
    intervals["count"] = pattern.intervals.count;
    intervals["least_ns"] = pattern.intervals.least_ns;
    intervals["most_ns"] = pattern.intervals.most_ns;
    intervals["mean_ns"] = pattern.intervals.mean_ns();
    intervals["deviation_ns"] = pattern.intervals.deviation_ns();
    loop["intervals"] = intervals;
  }
  message["loop"] = loop;
  return message;
}

nb::dict raw_message(const Signature& signature, const pattern::Part& part) {
  nb::list offsets, sizes, operations;
  pattern::Cursor cursor(signature, part.first);
  pattern::Access access;
  for (uint64_t i = 0; i < part.accesses && cursor.next(access); ++i) {
    offsets.append(access.offset);
    sizes.append(access.size);
    operations.append(access.operation);
  }
  nb::dict raw;
  raw["offset"] = offsets;
  raw["size"] = sizes;
  raw["operation"] = operations;
  return raw;
}

nb::dict message_of(const Signature& signature, const pattern::Part& part) {
  nb::dict message;
  message["accesses"] = part.accesses;
  if (part.kind == pattern::Part::Kind::pattern) {
    nb::dict placed;
    placed["pattern"] = part.pattern;
    placed["position"] = part.position;
    message["pattern"] = placed;
  } else if (part.kind == pattern::Part::Kind::raw) {
    message["raw"] = raw_message(signature, part);
  } else {
    message["lost"] = true;
  }
  set_times(message, part.start_ns, part.end_ns);
  return message;
}

nb::dict message_of(const Signature& signature) {
  nb::list patterns, parts;
  for (const pattern::Pattern& pattern : signature.patterns) patterns.append(message_of(pattern));
  for (const pattern::Part& part : signature.parts) parts.append(message_of(signature, part));
  nb::dict message;
  message["patterns"] = patterns;
  message["parts"] = parts;
  message["accesses"] = signature.accesses;
  message["covered"] = signature.covered;
  message["lost"] = signature.lost;
  return message;
}

nb::list message_of(const std::vector<pattern::RankRange>& ranges) {
  nb::list ranks;
  for (const pattern::RankRange& range : ranges) {
    nb::dict one;
    one["first"] = range.first;
    one["last"] = range.last;
    one["step"] = range.step;
    ranks.append(one);
  }
  return ranks;
}

nb::dict message_of(const pattern::Base& base) {
  nb::dict message;
  message["first_rank"] = base.first_rank;
  message["rank_step"] = base.rank_step;
  message["width"] = base.width;
  message["begin"] = base.begin;
  message["step"] = base.step;
  message["row_step"] = base.row_step;
  return message;
}

nb::dict message_of(const pattern::GlobalPattern& pattern) {
  nb::dict message;
  message["pattern"] = message_of(pattern.pattern);
  if (pattern.own_starts.empty()) {
    message["base"] = message_of(pattern.base);
  } else {
    nb::list starts;
    for (const int64_t start : pattern.own_starts) starts.append(start);
    message["own_starts"] = starts;
  }
  message["ranks"] = message_of(pattern.ranks);
  set_times(message, pattern.start_ns, pattern.end_ns);
  message["spatial"] = static_cast<int>(pattern.spatial);
  message["dimension"] = pattern.dimension;
  message["overlapping"] = pattern.overlapping;
  return message;
}

nb::dict message_of(const pattern::GlobalSignature& signature) {
  nb::list patterns;
  for (const pattern::GlobalPattern& pattern : signature.patterns)
    patterns.append(message_of(pattern));
  nb::dict message;
  message["processes"] = signature.processes;
  message["ranks"] = message_of(signature.ranks);
  message["patterns"] = patterns;
  message["accesses"] = signature.accesses;
  message["covered"] = signature.covered;
  message["unmerged"] = signature.unmerged;
  message["lost"] = signature.lost;
  return message;
}

nb::dict classes_of(const pattern::Classes& classes) {
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
  nb::class_<GlobalPattern>(module, "GlobalPattern", "A pattern that ranks have in common.")
      .def_ro("processes", &GlobalPattern::processes)
      .def_prop_ro("ranks", [](const GlobalPattern& p) { return pattern::notation(p.ranks); })
      .def_prop_ro("base",
                   [](const GlobalPattern& p) {
                     return p.own_starts.empty() ? pattern::notation(p.base)
                                                 : pattern::notation(p.own_starts);
                   })
      .def_prop_ro(
          "accesses", [](const GlobalPattern& p) { return p.pattern.accesses(); }, "Of one rank.")
      .def_prop_ro("spatial", [](const GlobalPattern& p) { return name_of(p.spatial); })
      .def_ro("dimension", &GlobalPattern::dimension)
      .def_ro("overlapping", &GlobalPattern::overlapping)
      .def_ro("start_ns", &GlobalPattern::start_ns)
      .def_ro("end_ns", &GlobalPattern::end_ns);
  nb::class_<GlobalSignature>(module, "GlobalSignature", "What the ranks did to one file together.")
      .def_ro("processes", &GlobalSignature::processes)
      .def_prop_ro("ranks", [](const GlobalSignature& s) { return pattern::notation(s.ranks); })
      .def_ro("patterns", &GlobalSignature::patterns)
      .def_ro("accesses", &GlobalSignature::accesses)
      .def_ro("covered", &GlobalSignature::covered)
      .def_ro("unmerged", &GlobalSignature::unmerged)
      .def_ro("lost", &GlobalSignature::lost)
      .def("message", nb::overload_cast<const GlobalSignature&>(message_of),
           "The message GlobalSignature, as plain values, but for the file.")
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
  nb::class_<Signature>(module, "Signature", "What one thread of a process did to one file.")
      .def_ro("accesses", &Signature::accesses)
      .def_ro("covered", &Signature::covered)
      .def_ro("lost", &Signature::lost)
      .def_prop_ro("coverage", &Signature::coverage)
      .def_prop_ro("parts", [](const Signature& s) { return s.parts.size(); })
      .def_prop_ro("patterns", [](const Signature& s) { return s.patterns.size(); })
      .def_prop_ro("memory_bytes", &Signature::memory_bytes)
      .def("__getstate__",
           [](const Signature& s) {
             trace::Bytes bytes;
             trace::ByteWriter writer(bytes);
             pattern::write(s, writer);
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def("__setstate__",
           [](Signature& s, const nb::bytes& bytes) {
             new (&s) Signature();
             trace::ByteReader reader({static_cast<const std::byte*>(bytes.data()), bytes.size()});
             if (!pattern::read(reader, s)) throw nb::value_error("that is no signature");
           })
      .def("message", nb::overload_cast<const Signature&>(message_of),
           "The message LocalSignature, as plain values, but for rank, thread and file.")
      .def("expand", expand, "Routine, offset and size of each access, in order.")
      .def(
          "trace_signature",
          [](const Signature& s, const std::string& file, const Routines& routines) {
            return trace_signature(s, file, operations_of(routines));
          },
          "file"_a, "routines"_a, "In Yin's notation, a line a part.")
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
      .def("add", add, "process"_a, "thread"_a, "file"_a, "routine"_a, "operation"_a, "offset"_a,
           "size"_a, "start_ns"_a, "end_ns"_a, "folded"_a,
           "Adds the reads and writes among a batch's accesses; how many have no known place.")
      .def(
          "finish",
          [](Streams& streams) {
            nb::list all;
            for (Stream& stream : streams.finish())
              all.append(nb::make_tuple(stream.process, stream.thread, stream.file,
                                        std::move(stream.signature)));
            return all;
          },
          "Process, thread, file and signature of each stream.");
  bind_global(module);
}

}  // namespace forebay
