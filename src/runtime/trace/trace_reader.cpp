#include "runtime/trace/trace_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace forebay::runtime {

namespace {

class FileSource final : public trace::Source {
 public:
  // Opens a regular file, with the size it has now. O_NONBLOCK: an open of a pipe must not wait.
  explicit FileSource(const std::string& path)
      : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    struct stat status {};
    if (descriptor_ < 0 || fstat(descriptor_, &status) != 0) {
      problem_ = std::strerror(errno);
    } else if (!S_ISREG(status.st_mode)) {
      problem_ = "it is no regular file";
    } else {
      size_ = static_cast<uint64_t>(status.st_size);
    }
  }
  ~FileSource() override {
    if (descriptor_ >= 0) close(descriptor_);
  }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  const std::string& problem() const { return problem_; }
  uint64_t size() const override { return size_; }
  bool read(uint64_t at, std::span<std::byte> bytes) override {
    while (!bytes.empty()) {
      const ssize_t count = pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(at));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      bytes = bytes.subspan(static_cast<std::size_t>(count));
      at += static_cast<uint64_t>(count);
    }
    return true;
  }

 private:
  int descriptor_;
  uint64_t size_ = 0;
  std::string problem_;
};

}  // namespace

TraceReader::TraceReader(const std::vector<std::string>& paths) {
  for (uint32_t file = 0; file < paths.size(); ++file) {
    FileSource source(paths[file]);
    trace::Outline outline;
    if (!source.problem().empty()) {
      problems_.push_back({file, source.problem()});
      continue;
    }
    const bool readable = trace::read_outline(source, outline);
    for (std::string& problem : outline.problems) problems_.push_back({file, std::move(problem)});
    if (outline.problem_count > outline.problems.size())
      problems_.push_back(
          {file, "and " + std::to_string(outline.problem_count - outline.problems.size()) +
                     " more problems"});
    if (!readable || outline.empty()) continue;
    job_.add(paths[file], outline);
    access_count_ += outline.access_count;
    processes_.push_back({paths[file], std::move(outline.blocks)});
  }
}

AccessStream::AccessStream(std::shared_ptr<const TraceReader> reader, uint32_t first, uint32_t end)
    : reader_(std::move(reader)),
      process_(first),
      end_process_(static_cast<uint32_t>(std::min<std::size_t>(end, reader_->processes_.size()))) {}
AccessStream::~AccessStream() = default;

bool AccessStream::next(std::size_t count, trace::Table& table, std::vector<BadBlock>& bad) {
  const auto& processes = reader_->processes_;
  const std::size_t before = table.size();
  if (count == 0) table.reserve(before + reader_->access_count());
  while (process_ < end_process_ && (count == 0 || table.size() - before < count)) {
    if (block_ < processes[process_].blocks.size()) {
      read_block(table, bad);
      continue;
    }
    ++process_;
    block_ = 0;
    source_.reset();
  }
  return table.size() > before;
}

void AccessStream::read_block(trace::Table& table, std::vector<BadBlock>& bad) {
  const TraceReader::Process& process = reader_->processes_[process_];
  const trace::AccessBlock& block = process.blocks[block_++];
  if (source_ == nullptr) source_ = std::make_unique<FileSource>(process.path);
  accesses_ = {};
  if (const std::string problem = blocks_.read(*source_, block, accesses_); !problem.empty()) {
    bad.push_back({process_, block.number, block.count, name_of(block) + ": " + problem});
    return;
  }
  reader_->job().append(process_, block, accesses_, table);
}

}  // namespace forebay::runtime
