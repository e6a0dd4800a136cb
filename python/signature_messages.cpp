#include "signature_messages.h"

#include <nanobind/stl/vector.h>

#include <vector>

namespace nb = nanobind;

namespace forebay {

using pattern::Signature;

namespace {

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

template <typename Value>
nb::list list_of(const std::vector<Value>& values) {
  nb::list all;
  for (const Value value : values) all.append(value);
  return all;
}

nb::dict raw_message(const Signature& signature, const pattern::Part& part) {
  const pattern::AccessColumns columns = pattern::expand(signature, part.first, part.accesses);
  nb::dict raw;
  raw["offset"] = list_of(columns.offset);
  raw["size"] = list_of(columns.size);
  raw["operation"] = list_of(columns.operation);
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
    message["own_starts"] = list_of(pattern.own_starts);
  }
  message["ranks"] = message_of(pattern.ranks);
  set_times(message, pattern.start_ns, pattern.end_ns);
  message["spatial"] = static_cast<int>(pattern.spatial);
  message["dimension"] = pattern.dimension;
  message["overlapping"] = pattern.overlapping;
  return message;
}

}  // namespace

Values message_of(const Signature& signature) {
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

Values message_of(const pattern::GlobalSignature& signature) {
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

}  // namespace forebay
