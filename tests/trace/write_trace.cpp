// Writes the trace file that the lines of its standard input describe:
//
//   process NAME VALUE                                   (before the first line of another kind)
//   file NUMBER RANKS CACHED AMODE PATH
//   view NUMBER ORIGIN EXTENT COUNT STRIDE BYTES         COUNT blocks of BYTES, STRIDE apart
//   access ROUTINE FILE VIEW POSITION REQUESTED TRANSFERRED START END COMPLETED SEQUENCE
//   block THREAD exact|histogram                         the accesses since the last block
//   end MADE LOST
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "trace/container.h"

namespace forebay::trace {
namespace {

class Writer {
 public:
  Writer() { Container::begin(bytes_); }

  bool take(const std::string& line) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "process") return process(words);
    if (!process_.empty()) container_.process(process_, bytes_);
    process_.clear();
    if (kind == "file") return file(words);
    if (kind == "view") return view(words);
    if (kind == "access") return access(words);
    if (kind == "block") return block(words);
    if (kind == "end") return end(words);
    return false;
  }
  const Bytes& bytes() const { return bytes_; }

 private:
  static std::string rest_of(std::istringstream& words) {
    std::string rest;
    std::getline(words >> std::ws, rest);
    return rest;
  }
  bool process(std::istringstream& words) {
    std::string name;
    words >> name;
    process_[name] = rest_of(words);
    return true;
  }
  bool file(std::istringstream& words) {
    FileInfo info;
    words >> info.number >> info.ranks >> info.cached >> info.amode;
    info.path = rest_of(words);
    container_.file(info, bytes_);
    return !words.fail();
  }
  bool view(std::istringstream& words) {
    ViewInfo info;
    int64_t count = 0, stride = 0, bytes = 0;
    words >> info.number >> info.tiling.origin >> info.tiling.extent_bytes >> count >> stride >>
        bytes;
    info.tiling.layout = Layout::repeat(count, stride, Layout::block(bytes));
    if (words.fail() || info.tiling.layout == nullptr) return false;
    container_.view(info, bytes_);
    return true;
  }
  bool access(std::istringstream& words) {
    Access access;
    int routine = 0;
    words >> routine >> access.file >> access.view >> access.position >> access.requested >>
        access.transferred >> access.start_ns >> access.end_ns >> access.completed_ns >>
        access.sequence;
    access.routine = static_cast<uint8_t>(routine);
    accesses_.push_back(access);
    return !words.fail();
  }
  bool block(std::istringstream& words) {
    uint32_t thread = 0;
    std::string times;
    words >> thread >> times;
    const bool written = container_.accesses(
        accesses_, thread, times == "histogram" ? Times::histogram : Times::exact, bytes_);
    accesses_.clear();
    return written && !words.fail();
  }
  bool end(std::istringstream& words) {
    Totals totals;
    words >> totals.accesses >> totals.lost;
    container_.end(totals, bytes_);
    return !words.fail();
  }

  Bytes bytes_;
  Container container_;
  ProcessInfo process_;
  std::vector<Access> accesses_;
};

}  // namespace
}  // namespace forebay::trace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  forebay::trace::Writer writer;
  for (std::string line; std::getline(std::cin, line);) {
    if (writer.take(line)) continue;
    std::cerr << "not understood: " << line << "\n";
    return 1;
  }
  std::ofstream file(arguments[1], std::ios::binary);
  file.write(reinterpret_cast<const char*>(writer.bytes().data()),
             static_cast<std::streamsize>(writer.bytes().size()));
  return file.good() ? 0 : 1;
}
