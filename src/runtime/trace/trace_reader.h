// Reads the trace files of a job. Outlines are read at once; their memory grows with the files.
// Accesses are read as a stream of batches; a batch takes as much memory as is asked for.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "trace/job.h"

namespace forebay::runtime {

// What is wrong with a trace file.
struct TraceProblem {
  uint32_t file = 0;  // index of its path among those given
  std::string text;
};

// Immutable once made; any number of streams may read from it.
class TraceReader {
 public:
  explicit TraceReader(const std::vector<std::string>& paths);

  const trace::Job& job() const { return job_; }
  const std::vector<TraceProblem>& problems() const { return problems_; }
  uint64_t access_count() const { return access_count_; }

 private:
  friend class AccessStream;
  struct Process {
    std::string path;
    std::vector<trace::AccessBlock> blocks;
  };
  trace::Job job_;
  std::vector<Process> processes_;  // as in the job
  std::vector<TraceProblem> problems_;
  uint64_t access_count_ = 0;
};

// A block whose accesses could not be decoded.
struct BadBlock {
  uint32_t process = 0;
  uint32_t block = 0;
  uint32_t accesses = 0;
  std::string problem;
};

class AccessStream {
 public:
  // A stream of the accesses of processes `first` to `end` - 1.
  explicit AccessStream(std::shared_ptr<const TraceReader> reader, uint32_t first = 0,
                        uint32_t end = std::numeric_limits<uint32_t>::max());
  ~AccessStream();
  AccessStream(const AccessStream&) = delete;
  AccessStream& operator=(const AccessStream&) = delete;

  // Appends the next accesses, in whole blocks: at least `count` of them (0: all) unless there are
  // no more, and fewer than count + trace::most_accesses. False: no accesses were left.
  bool next(std::size_t count, trace::Table& table, std::vector<BadBlock>& bad);

 private:
  void read_block(trace::Table& table, std::vector<BadBlock>& bad);

  std::shared_ptr<const TraceReader> reader_;
  uint32_t process_;
  uint32_t end_process_;
  std::size_t block_ = 0;
  std::unique_ptr<trace::Source> source_;  // of the process, opened when first needed
  trace::BlockReader blocks_;
  trace::Accesses accesses_;  // of one block
};

}  // namespace forebay::runtime
