#include "trace/job_conflicts.h"

#include <algorithm>

#include "trace/job.h"
#include "trace/routine.h"
#include "trace/table.h"

namespace forebay::trace {

namespace {

// Uses a cursor over the view itself: copying the view would be most of the cost of an access of
// one run.
void add_runs(ConflictFinder& finder, const Tiling& tiling, int64_t position, int64_t bytes,
              FileAccess access) {
  if (place_of(tiling, position, bytes).offset < 0) return;
  for (Cursor cursor(tiling, position); bytes > 0;) {
    const Extent run = cursor.next(bytes);
    bytes -= run.length;
    access.offset = run.offset;
    access.end = run.offset + run.length;
    if (!finder.access(access)) return;
    access.continued = true;
  }
}

FileAccess access_of(const ConflictColumns& columns, std::size_t row, Order& order) {
  const uint32_t process = columns.process[row], thread = columns.thread[row];
  const int64_t start_ns = columns.start_ns[row], end_ns = columns.end_ns[row];
  const int64_t completed_ns = columns.completed_ns[row];
  FileAccess access{.process = process,
                    .thread = thread,
                    .open = columns.open[row],
                    .moment = order.moment(process, thread, start_ns),
                    .writes = static_cast<Operation>(columns.operation[row]) == Operation::write,
                    .offset = columns.offset[row],
                    .end = columns.end[row],
                    .start_ns = start_ns,
                    .end_ns = std::max(end_ns, completed_ns)};
  if (completed_ns == no_time)
    access.ending = Ending::unknown;
  else if (completed_ns > end_ns)
    access.ending = Ending::later;
  return access;
}

void add_access(const ConflictColumns& columns, std::size_t row, const Views* views, Order& order,
                ConflictFinder& finder) {
  if (columns.offset[row] < 0 || columns.transferred[row] <= 0) return;
  const FileAccess access = access_of(columns, row, order);
  if (columns.contiguous[row] != 0 || views == nullptr)
    finder.access(access);
  else if (const Tiling* const tiling = views->find(columns.view[row]); tiling != nullptr)
    add_runs(finder, *tiling, columns.position[row], columns.transferred[row], access);
}

// Adds an operation on a file.
void add_row(const ConflictColumns& columns, std::size_t row, const Views* views, Order& order,
             ConflictFinder& finder) {
  const auto mark = [&] {
    const uint32_t process = columns.process[row], thread = columns.thread[row];
    return FileMoment{process, thread, columns.open[row],
                      order.mark(process, thread, columns.start_ns[row])};
  };
  switch (static_cast<Operation>(columns.operation[row])) {
    case Operation::sync:
      finder.sync(mark());
      break;
    case Operation::open:
      finder.open(mark());
      break;
    case Operation::close:
      finder.close(mark());
      break;
    case Operation::read:
    case Operation::write:
      add_access(columns, row, views, order, finder);
      break;
    default:
      break;
  }
}

void add_collective(const ConflictColumns& columns, std::size_t row, Order& order) {
  const auto what = static_cast<Operation>(columns.operation[row]);
  order.collective(columns.process[row], columns.thread[row],
                   {.key = static_cast<uint64_t>(columns.position[row]),
                    .releases = what != Operation::acquire,
                    .acquires = what != Operation::release,
                    .start_ns = columns.start_ns[row]});
}

}  // namespace

ConflictFinder& JobConflicts::finder(int32_t file) {
  if (latest_ == nullptr || file != latest_file_) {
    latest_ = &finders_.try_emplace(file, most_runs_).first->second;
    latest_file_ = file;
  }
  return *latest_;
}

void JobConflicts::add(const ConflictColumns& columns, const Views* views) {
  for (std::size_t row = 0; row < columns.file.size(); ++row) {
    if (columns.start_ns[row] == no_time) continue;
    if (orders(static_cast<Operation>(columns.operation[row])))
      add_collective(columns, row, order_);
    else if (columns.file[row] >= 0)
      add_row(columns, row, views, order_, finder(columns.file[row]));
  }
}

void JobConflicts::merge(JobConflicts&& other) {
  for (auto& [file, of_file] : other.finders_) finder(file).merge(std::move(of_file));
  other.finders_.clear();
  other.latest_ = nullptr;
  order_.merge(std::move(other.order_));
}

void JobConflicts::write(ByteWriter& writer) const {
  writer.varint(most_runs_);
  order_.write(writer);
  writer.varint(finders_.size());
  for (const auto& [file, of_file] : finders_) {
    writer.signed_varint(file);
    of_file.write(writer);
  }
}

bool JobConflicts::read(ByteReader& reader) {
  most_runs_ = reader.varint();
  if (!order_.read(reader)) return false;
  for (uint64_t count = reader.varint(); count > 0 && reader.ok(); --count) {
    if (!finder(static_cast<int32_t>(reader.signed_varint())).read(reader)) return false;
  }
  return reader.ok() && reader.at_end();
}

std::vector<std::pair<int32_t, Conflicts>> JobConflicts::finish() {
  std::vector<std::pair<int32_t, Conflicts>> all;
  order_.resolve();
  for (auto& [file, of_file] : finders_) all.emplace_back(file, of_file.finish(order_));
  finders_.clear();
  latest_ = nullptr;
  return all;
}

}  // namespace forebay::trace
