#include "sim/job_log.h"

#include <algorithm>
#include <stdexcept>

#include "trace/routine.h"
#include "trace/table.h"

namespace forebay::sim {

JobLog::JobLog(const trace::Views& views, std::span<const trace::Open> opens, uint64_t accesses,
               uint64_t most_bytes)
    : log_(most_bytes / log_bytes_per_access) {
  log_.reserve(accesses);
  groups_ = shared_opens(opens);
  std::vector<uint32_t> ranks;
  for (std::size_t open = 0; open < groups_.size(); ++open) {
    if (groups_[open] >= ranks.size()) ranks.resize(groups_[open] + 1);
    ranks[groups_[open]] = std::max<uint32_t>(opens[open].ranks, 1);
  }
  log_.set_group_ranks(std::move(ranks));
  log_.set_views(views.tilings);
}

bool JobLog::add(const JobColumns& columns) {
  for (std::size_t i = 0; i < columns.process.size(); ++i) {
    const auto what = static_cast<trace::Operation>(columns.operation[i]);
    if (what != trace::Operation::read && what != trace::Operation::write) continue;
    const int32_t file = columns.file[i], open = columns.open[i];
    if (file < 0 || columns.offset[i] < 0 || columns.start_ns[i] == trace::no_time) {
      ++unplaced_;
      continue;
    }
    if (columns.process[i] > most_numbers || (open >= 0 && !has_open(open)))
      throw std::out_of_range("an access names what the trace does not have");
    DataAccess access;
    access.start_ns = columns.start_ns[i];
    access.end_ns = columns.end_ns[i];
    access.offset = columns.offset[i];
    access.end = columns.end[i];
    access.position = columns.position[i];
    access.bytes = columns.requested[i];
    access.view = columns.contiguous[i] != 0 ? no_view : columns.view[i];
    if (!log_.has_place(access)) {
      ++unplaced_;
      continue;
    }
    access.file = static_cast<uint32_t>(file);
    access.process = columns.process[i];
    access.handle = handle(access, open);
    if (columns.collective[i] > 0 && open >= 0)
      access.group = groups_[static_cast<std::size_t>(open)];
    access.routine = columns.routine[i];
    access.writes = what == trace::Operation::write;
    if (!log_.add(access)) return false;
  }
  return true;
}

uint32_t JobLog::handle(const DataAccess& access, int32_t open) {
  if (open >= 0) return static_cast<uint32_t>(open);
  const auto next = static_cast<uint32_t>(groups_.size() + handles_.size());
  return handles_.try_emplace({access.process, access.file}, next).first->second;
}

}  // namespace forebay::sim
