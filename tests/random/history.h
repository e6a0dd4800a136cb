// Data that outlives a killed job, in the folder of its files: how far each rank had come, its
// schedule, what had failed, and what the files contained when this life of the job began.
//
// The schedule of a life ends with a `kill` or with its last operation. The next life, with the
// same folder, compares the files with what the life before may have left.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "operation.h"

namespace random_io {

// The progress of one rank, in a mapped file.
struct Progress {
  std::atomic<int64_t> begun{0};     // number of the last operation begun
  std::atomic<int64_t> returned{0};  // number of the last operation returned
  std::atomic<pid_t> process{0};
  std::atomic<bool> doomed{false};    // a rank is to be killed from here on
  std::atomic<bool> finished{false};  // the life ended without a kill
};

// What the ranks of one life have recorded.
struct Record {
  std::vector<Operation> schedule;
  std::set<uint32_t> failed;                           // operation_id
  std::map<std::pair<int, int>, int64_t> learnt_size;  // of a file (second) at a `heal` (first)
};

class History {
 public:
  // `rank` -1: only to read. Rank 0 makes a new life's files with begin() before other ranks map
  // them.
  History(std::string folder, int life) : folder_(std::move(folder)), life_(life) {}
  ~History();
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  void begin(int rank);
  bool read();  // false: there is no such life
  Progress& of(int rank) const { return progress_[rank]; }
  bool anybody_doomed() const;

  // Records the next operation. flush() writes it, with those before it.
  void note(const Operation& operation);
  void flush();
  void note_failure(uint32_t id);
  void note_kept(int file);  // the cache keeps bytes of the file that storage lacks
  void note_size(int number, int file, int64_t bytes);
  Record record(int ranks) const;

  // The content of a file when the life began; nullopt: it did not exist.
  void save_file(int file, const std::optional<std::vector<std::byte>>& data) const;
  std::optional<std::vector<std::byte>> saved_file(int file) const;

  // The file with the schedules of all earlier lives, to be replayed.
  std::string schedule_path() const { return folder_ + "/schedule.log"; }

 private:
  std::string path(const std::string& name) const;
  void map(bool create);

  std::string folder_;
  int life_;
  Progress* progress_ = nullptr;
  int journal_ = -1;
  std::string unwritten_;
};

std::optional<std::vector<std::byte>> contents(const std::string& path);

}  // namespace random_io
