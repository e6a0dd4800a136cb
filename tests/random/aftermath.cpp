// Plans the life's schedule once more, as far as any rank had come. For each rank, the operations
// between two barriers had returned, were in progress or had not begun. An operation alone between
// barriers was in progress as a whole: the files may be as before or after it.
#include "aftermath.h"

#include <algorithm>
#include <array>

#include "planner.h"

namespace random_io {
namespace {

using Files = std::array<FileModel, kFiles>;

Files files_of(const Planner& planner) {
  Files files;
  for (int file = 0; file < kFiles; ++file)
    files[static_cast<std::size_t>(file)] = planner.file(file);
  return files;
}

struct Left {
  Files files;   // after the last operation
  Files before;  // before that operation, if it was in progress as a whole
  bool under_way = false;
};

class Reckoning {
 public:
  Reckoning(const History& life, int ranks, const Features& features)
      : life_(life), ranks_(ranks), record_(life.record(ranks)), planner_(0, ranks, features) {
    for (int rank = 0; rank < ranks; ++rank) {
      begun_ = std::max(begun_, life.of(rank).begun.load());
      returned_ = std::min(returned_, life.of(rank).returned.load());
    }
    for (int file = 0; file < kFiles; ++file) {
      if (const auto data = life.saved_file(file)) planner_.file(file).adopt(*data);
    }
  }

  const Record& record() const { return record_; }
  int64_t begun() const { return begun_; }

  Left left() {
    Left left;
    for (const Operation& operation : record_.schedule) {
      if (operation.number > begun_) break;
      const bool alone = separates(operation.name);
      if (alone) meet(operation.number);
      left.under_way = alone && operation.number > returned_;
      const bool failed = failed_somewhere(operation.number);
      if (left.under_way || failed) left.before = files_of(planner_);
      planner_.plan(operation);
      planner_.mark_failed(record_.failed);
      if (failed && operation.name == "close")
        planner_.keep_unstored(planner_.handle(operation.slot).file);
      if (failed && operation.name == "set_size") allow(operation, left.before);
      learn(operation);
    }
    left.files = files_of(planner_);
    for (FileModel& file : left.files) settle(file);
    for (FileModel& file : left.before) settle(file);
    return left;
  }

 private:
  void meet(int number) {
    planner_.mark_failed(record_.failed);
    planner_.meet(number);
    met_ = number;
  }

  bool failed_somewhere(int number) const {
    const auto first = record_.failed.lower_bound(operation_id(number, 0));
    return first != record_.failed.end() && *first < operation_id(number + 1, 0);
  }

  void allow(const Operation& operation, const Files& before) {
    const int file = planner_.handle(operation.slot).file;
    planner_.file(file).may_also_be(before[static_cast<std::size_t>(file)]);
  }

  void learn(const Operation& operation) {
    for (int file = 0; file < kFiles; ++file) {
      const auto learnt = record_.learnt_size.find({operation.number, file});
      if (learnt != record_.learnt_size.end()) planner_.file(file).resize(learnt->second);
    }
  }

  void settle(FileModel& file) const {
    file.settle_killed([this](const Transfer& write) {
      const Progress& progress = life_.of(write.rank);
      if (write.start > progress.begun) return Fate::not_begun;
      const bool returned = write.end <= progress.returned || write.end <= met_;
      return returned ? Fate::returned : Fate::under_way;
    });
  }

  const History& life_;
  const int ranks_;
  const Record record_;
  Planner planner_;
  int64_t begun_ = 0;
  int64_t returned_ = kForever;
  int64_t met_ = 0;  // the operation before which all ranks met last
};

std::string wrong_bytes(const std::vector<std::byte>& data, const FileModel& model) {
  const auto size = static_cast<int64_t>(data.size());
  if (size < model.least_size() || size > model.settled_size()) {
    return "has " + std::to_string(size) + " bytes, expected " +
           std::to_string(model.least_size()) + " to " + std::to_string(model.settled_size());
  }
  const auto mismatch = model.check_settled(0, size, data.data());
  if (!mismatch) return "";
  int64_t end = mismatch->offset + 1;
  while (end < size && model.check_settled(end, 1, data.data() + end)) ++end;
  std::string text = "offset " + std::to_string(mismatch->offset) + ", " +
                     std::to_string(end - mismatch->offset) + " bytes: found " +
                     std::to_string(mismatch->found) + ", expected";
  for (const Value& value : mismatch->allowed) {
    text += ' ' + std::to_string(value.value) + " from " + describe_writer(value.id) + ',';
  }
  text.pop_back();
  return text;
}

std::string wrong_with(const Left& left, int file, const std::string& path) {
  const auto index = static_cast<std::size_t>(file);
  FileModel after = left.files[index];
  const FileModel& before = left.before[index];
  const auto data = contents(path);
  if (left.under_way && before.exists != after.exists) {
    if (!data || !after.exists) return "";  // the file was being made or deleted
    return wrong_bytes(*data, after);
  }
  if (data.has_value() != after.exists) return data ? "exists" : "does not exist";
  if (!data) return "";
  if (left.under_way) after.may_also_be(before);
  return wrong_bytes(*data, after);
}

}  // namespace

std::string describe_writer(uint32_t id) {
  if (id == 0) return "nobody (a hole)";
  if (id == kEarlierLife) return "an earlier life";
  const uint32_t number = (id - 1) / kMaxRanks;
  return "operation " + std::to_string(number) + " rank " + std::to_string((id - 1) % kMaxRanks);
}

std::string file_path(const std::string& folder, int file, int alias) {
  static constexpr const char* kSuffix[] = {"", ".hard", ".symbolic"};
  return folder + "/file" + std::to_string(file) + kSuffix[alias];
}

Aftermath examine(const History& life, const std::string& folder, int ranks,
                  const Features& features) {
  Reckoning reckoning(life, ranks, features);
  Aftermath aftermath;
  for (const Operation& operation : reckoning.record().schedule) {
    aftermath.last_number = operation.number;
    if (operation.number <= reckoning.begun()) aftermath.operations.push_back(operation);
  }
  if (!life.anybody_doomed() && !life.of(0).finished) {
    aftermath.violation = "the ranks ended without having been killed";
    return aftermath;
  }
  const Left left = reckoning.left();
  for (int file = 0; file < kFiles; ++file) {
    const std::string path = file_path(folder, file, 0);
    if (const std::string wrong = wrong_with(left, file, path); !wrong.empty()) {
      aftermath.violation = path + ' ' + wrong;
      return aftermath;
    }
  }
  return aftermath;
}

}  // namespace random_io
