#include "trace/job.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "extent/text.h"

namespace forebay::trace {

namespace {

constexpr std::size_t most_routines = 256;  // per process: an access holds its routine in one byte
constexpr uint16_t unknown_routine = 0;

int64_t number_in(const ProcessInfo& info, const std::string& name, int64_t otherwise) {
  const auto found = info.find(name);
  if (found == info.end()) return otherwise;
  return whole_number<int64_t>(found->second).value_or(otherwise);
}

std::string text_in(const ProcessInfo& info, const std::string& name) {
  const auto found = info.find(name);
  return found == info.end() ? std::string() : found->second;
}

std::vector<std::string> words_of(const std::string& text) {
  constexpr const char* blank = " \n\t\r";
  std::vector<std::string> words;
  for (std::size_t begin = text.find_first_not_of(blank);
       begin != std::string::npos && words.size() < most_routines;) {
    const std::size_t end = std::min(text.find_first_of(blank, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(blank, end);
  }
  return words;
}

// Sorts by number. Of entries with the same number, the last one is looked up.
template <typename Numbers>
void sort(Numbers& numbers) {
  std::stable_sort(numbers.begin(), numbers.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
}

// Looks numbers up. Neighbouring accesses mostly have the same number.
template <typename Numbers>
class Lookup {
 public:
  explicit Lookup(const Numbers& numbers) : numbers_(numbers) {}
  int32_t of(uint32_t number) {
    if (known_ && number == last_) return found_;
    const auto after =
        std::upper_bound(numbers_.begin(), numbers_.end(), number,
                         [](uint32_t wanted, const auto& entry) { return wanted < entry.first; });
    const bool there = after != numbers_.begin() && (after - 1)->first == number;
    known_ = true;
    last_ = number;
    found_ = there ? (after - 1)->second : -1;
    return found_;
  }

 private:
  const Numbers& numbers_;
  bool known_ = false;
  uint32_t last_ = 0;
  int32_t found_ = -1;
};

// Wraps around: times of damaged or hostile files may be anything.
int64_t moved(int64_t time_ns, int64_t by_ns) {
  return static_cast<int64_t>(sum(static_cast<uint64_t>(time_ns), by_ns));
}

// Reads when the clocks were compared a second time, and how much their offset had grown by then.
// Ignores a clock that drifted by more than the time it ran.
void read_drift(const ProcessInfo& info, Process& process) {
  if (!info.contains("clock_offset_at_end_ns") || !info.contains("compared_monotonic_ns")) return;
  const auto since = [&](const char* name, int64_t before) {
    return difference(static_cast<uint64_t>(number_in(info, name, before)),
                      static_cast<uint64_t>(before));
  };
  const int64_t compared = since("compared_monotonic_ns", number_in(info, "zero_monotonic_ns", 0));
  const int64_t drift = since("clock_offset_at_end_ns", process.clock_offset_ns);
  if (drift <= -compared || drift >= compared) return;
  process.clock_drift_ns = drift;
  process.compared_ns = compared;
}

// A process's time, corrected by the growth of its clock's offset: evenly from the first comparison
// (taken to be at time zero) to the second.
int64_t without_drift(const Process& process, int64_t time_ns) {
  if (process.clock_drift_ns == 0) return time_ns;
  const double share = static_cast<double>(time_ns) / static_cast<double>(process.compared_ns);
  const double drift = std::clamp(share, 0.0, 1.0) * static_cast<double>(process.clock_drift_ns);
  return moved(time_ns, std::llround(drift));
}

// nullptr: the trace has no completion of this request.
const Completion* completion_of(const std::vector<Completion>& completions, uint32_t request) {
  if (request == 0 || completions.empty()) return nullptr;
  const auto found = std::lower_bound(
      completions.begin(), completions.end(), request,
      [](const Completion& completion, uint32_t wanted) { return completion.request < wanted; });
  return found != completions.end() && found->request == request ? &*found : nullptr;
}

// Finds places in a view. It asks for the view's properties once, not for each access.
class PlaceFinder {
 public:
  explicit PlaceFinder(const Tiling& tiling)
      : tiling_(tiling),
        all_bytes_(tiling.contiguous() && tiling.layout->size() > 0),
        monotone_(tiling.monotone()) {
    if (all_bytes_) first_ = tiling.offset_of(0);
  }

  Place of(int64_t position, int64_t bytes) const {
    constexpr int64_t beyond = std::numeric_limits<int64_t>::max();
    if (position < 0 || bytes < 0 || position > beyond - bytes || tiling_.layout->size() == 0)
      return {};
    if (all_bytes_) {
      if (first_ < 0 || first_ > beyond - position - bytes) return {};
      return {first_ + position, first_ + position + bytes, true};
    }
    const int64_t offset = tiling_.offset_of(position);
    if (offset < 0 || offset == beyond) return {};
    if (bytes == 0) return {offset, offset, true};
    const int64_t last = tiling_.offset_of(position + bytes - 1);
    if (last < 0 || last == beyond) return {};
    const bool contiguous = last - offset == bytes - 1 &&
                            (monotone_ || Cursor(tiling_, position).next(bytes).length == bytes);
    return {offset, last + 1, contiguous};
  }

 private:
  const Tiling& tiling_;
  bool all_bytes_;
  bool monotone_;
  int64_t first_ = 0;
};

}  // namespace

Place place_of(const Tiling& tiling, int64_t position, int64_t bytes) {
  return PlaceFinder(tiling).of(position, bytes);
}

Job::Job() {
  views_.push_back({0, {Layout::block(1), 0, 1}});
  routine_number("unknown");
}

int32_t Job::file_number(const std::string& path) {
  const auto [entry, added] = file_numbers_.emplace(path, static_cast<int32_t>(files_.size()));
  if (added) files_.push_back(path);
  return entry->second;
}

uint16_t Job::routine_number(const std::string& name) {
  if (const auto known = routine_numbers_.find(name); known != routine_numbers_.end())
    return known->second;
  if (routines_.size() > std::numeric_limits<uint16_t>::max()) return unknown_routine;
  const auto number = static_cast<uint16_t>(routines_.size());
  routine_numbers_.emplace(name, number);
  routines_.push_back({name, kind_of_routine(name)});
  return number;
}

uint32_t Job::add(std::string source, const Outline& outline) {
  const auto number = static_cast<uint32_t>(processes_.size());
  Numbering& numbering = numberings_.emplace_back();
  for (const FileInfo& info : outline.files) {
    numbering.opens.emplace_back(info.number, static_cast<int32_t>(opens_.size()));
    opens_.push_back({number, info.number, static_cast<uint32_t>(file_number(info.path)),
                      info.ranks, info.amode, info.cached});
  }
  numbering.views.emplace_back(0, 0);
  for (const ViewInfo& info : outline.views) {
    numbering.views.emplace_back(info.number, static_cast<int32_t>(views_.size()));
    views_.push_back({number, info.tiling});
  }
  sort(numbering.opens);
  sort(numbering.views);
  numbering.completions = outline.completions;
  std::stable_sort(numbering.completions.begin(), numbering.completions.end(),
                   [](const auto& a, const auto& b) { return a.request < b.request; });
  for (const std::string& name : words_of(text_in(outline.process, "routines")))
    numbering.routines.push_back(routine_number(name));
  numbering.routines.resize(most_routines, unknown_routine);

  const ProcessInfo& info = outline.process;
  Process& process = processes_.emplace_back();
  process.source = std::move(source);
  process.host = text_in(info, "host");
  process.rank = number_in(info, "rank", -1);
  process.ranks = number_in(info, "ranks", -1);
  process.pid = number_in(info, "pid", -1);
  process.clock_offset_ns = number_in(info, "clock_offset_ns", 0);
  process.zero_realtime_ns = number_in(info, "zero_realtime_ns", 0);
  process.options = text_in(info, "options");
  process.local_ranks = std::max<int64_t>(number_in(info, "local_ranks", 1), 1);
  if (info.contains("zero_monotonic_ns")) {
    process.zero_ns = moved(number_in(info, "zero_monotonic_ns", 0), process.clock_offset_ns);
    zero_ns_ = std::min(zero_ns_.value_or(*process.zero_ns), *process.zero_ns);
  }
  read_drift(info, process);
  process.accesses = outline.access_count;
  process.folded = outline.folded;
  process.ended = outline.ended;
  process.lost = outline.totals.lost;
  const uint64_t written = outline.totals.accesses - outline.totals.lost;
  process.damaged = outline.ended ? std::max(written, outline.access_count) - outline.access_count
                                  : outline.damaged;
  return number;
}

void Job::append(uint32_t process, const AccessBlock& block, const Accesses& accesses,
                 Table& table) const {
  const Numbering& numbering = numberings_[process];
  const Process& of = processes_[process];
  const bool ranked = of.rank >= 0 && of.rank <= std::numeric_limits<int32_t>::max();
  const std::size_t count = accesses.size();
  const auto fill = [count](auto& column, auto value) {
    column.insert(column.end(), count,
                  static_cast<typename std::decay_t<decltype(column)>::value_type>(value));
  };
  const auto copy = [](auto& column, const auto& from) {
    column.insert(column.end(), from.begin(), from.end());
  };
  fill(table.rank, ranked ? of.rank : -1);
  fill(table.process, process);
  fill(table.thread, block.thread);
  fill(table.folded, block.folded);
  copy(table.requested, accesses.requested);
  copy(table.sequence, accesses.sequence);
  copy(table.position, accesses.position);
  // Moves times from the process's time zero to the job's, that of the process that began first.
  const int64_t distance = of.zero_ns ? static_cast<int64_t>(static_cast<uint64_t>(*of.zero_ns) -
                                                             static_cast<uint64_t>(*zero_ns_))
                                      : of.clock_offset_ns;
  const auto of_job = [&](int64_t time) { return moved(without_drift(of, time), distance); };
  for (const int64_t time : accesses.start_ns) table.start_ns.push_back(of_job(time));
  for (const int64_t time : accesses.end_ns) table.end_ns.push_back(of_job(time));
  for (std::size_t i = 0; i < count; ++i) {
    const Completion* const told = completion_of(numbering.completions, accesses.request[i]);
    const int64_t time = told != nullptr ? told->completed_ns : accesses.completed_ns[i];
    const int64_t shortfall = told != nullptr ? told->shortfall : 0;
    table.completed_ns.push_back(time == unknown_time ? no_time : of_job(time));
    table.transferred.push_back(difference(static_cast<uint64_t>(accesses.transferred[i]),
                                           static_cast<uint64_t>(shortfall)));
  }

  Lookup opens(numbering.opens), views(numbering.views);
  std::optional<PlaceFinder> finder;
  int32_t found_in = -1;  // view of `finder`
  for (std::size_t i = 0; i < count; ++i) {
    const int32_t open = opens.of(accesses.file[i]);
    table.open.push_back(open);
    table.file.push_back(open < 0 ? -1 : static_cast<int32_t>(opens_[open].file));
    const uint16_t routine = numbering.routines[accesses.routine[i]];
    const RoutineKind kind = routines_[routine].kind;
    table.routine.push_back(routine);
    table.operation.push_back(static_cast<uint8_t>(kind.operation));
    table.collective.push_back(kind.collective ? 1 : 0);
    const int32_t view = views.of(accesses.view[i]);
    table.view.push_back(view);
    const bool moves_data = kind.operation == Operation::read ||
                            kind.operation == Operation::write || routine == unknown_routine;
    Place place;
    if (moves_data && view >= 0) {
      if (!finder || view != found_in) finder.emplace(views_[view].tiling);
      found_in = view;
      place = finder->of(accesses.position[i], accesses.requested[i]);
    }
    table.offset.push_back(place.offset);
    table.end.push_back(place.end);
    table.contiguous.push_back(place.contiguous ? 1 : 0);
  }
}

}  // namespace forebay::trace
