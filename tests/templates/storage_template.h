// A template for a storage: files in memory, by path, for the life of the process. Copy it to
// src/storage/, rename it, and add it to the table in src/storage/storages.cpp.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "storage/storage.h"

namespace forebay::templates {

struct MemoryFile {
  std::mutex mutex;
  std::vector<std::byte> bytes;
};

class MemoryStorage final : public Storage {
 public:
  // Opens an existing file; add_file() makes one.
  static OpenedStorage open(const std::string& path, bool, bool writable) {
    const auto found = files().find(path);
    if (found == files().end()) return {nullptr, Status::from_errno(ENOENT)};
    return {std::make_unique<MemoryStorage>(found->second, writable), Status::success()};
  }
  static void add_file(const std::string& path) { files()[path]; }

  MemoryStorage(MemoryFile& file, bool writable) : file_(file), writable_(writable) {}

  Status size(int64_t* bytes) override {
    const std::lock_guard lock(file_.mutex);
    *bytes = static_cast<int64_t>(file_.bytes.size());
    return Status::success();
  }
  Status flush() override { return Status::success(); }

 private:
  // All is done when it is submitted: there is nothing to finish.
  void start(Transfer& transfer) override {
    const std::lock_guard lock(file_.mutex);
    const bool writes = transfer.direction() == Transfer::Direction::write;
    for (std::size_t i = 0; i < transfer.requests().size(); ++i)
      transfer.outcome(i) =
          writes ? write_one(transfer.requests()[i]) : read_one(transfer.requests()[i]);
  }

  Transfer::Outcome write_one(const Request& request) {
    if (!writable_) return {Status::from_errno(EBADF, request.offset)};
    auto at = static_cast<std::size_t>(request.offset);
    for (const Segment& segment : request.segments) {
      const auto length = static_cast<std::size_t>(segment.length);
      if (length == 0) continue;
      if (file_.bytes.size() < at + length) file_.bytes.resize(at + length);
      std::memcpy(file_.bytes.data() + at, segment.memory, length);
      at += length;
    }
    return {{}, length_of(request)};
  }

  Transfer::Outcome read_one(const Request& request) const {
    const auto end = static_cast<int64_t>(file_.bytes.size());
    int64_t at = request.offset;
    for (const Segment& segment : request.segments) {
      const int64_t length = std::min(segment.length, end - at);
      if (length <= 0) break;
      std::memcpy(segment.memory, file_.bytes.data() + at, static_cast<std::size_t>(length));
      at += length;
    }
    return {{}, at - request.offset};
  }

  static std::map<std::string, MemoryFile>& files() {
    static std::map<std::string, MemoryFile> all;
    return all;
  }

  MemoryFile& file_;
  const bool writable_;
};

}  // namespace forebay::templates
