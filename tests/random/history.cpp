// Mapped counters, and journals to which every rank appends.
#include "history.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

namespace random_io {
namespace {

constexpr std::size_t kMappedBytes = sizeof(Progress) * kMaxRanks;

[[noreturn]] void give_up(const std::string& path) {
  std::perror(path.c_str());
  std::abort();
}

void append(int descriptor, const std::string& text) {
  if (descriptor >= 0 && ::write(descriptor, text.data(), text.size()) < 0) give_up("journal");
}

}  // namespace

std::optional<std::vector<std::byte>> contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return std::vector<std::byte>(bytes, bytes + text.size());
}

History::~History() {
  if (progress_ != nullptr) munmap(progress_, kMappedBytes);
  if (journal_ >= 0) ::close(journal_);
}

std::string History::path(const std::string& name) const {
  return folder_ + "/life" + std::to_string(life_) + '.' + name;
}

void History::map(bool create) {
  const std::string name = path("progress");
  const int descriptor = ::open(name.c_str(), O_RDWR | (create ? O_CREAT : 0), 0600);
  if (descriptor < 0 || ftruncate(descriptor, kMappedBytes) != 0) give_up(name);
  void* mapped = mmap(nullptr, kMappedBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (mapped == MAP_FAILED) give_up(name);
  ::close(descriptor);
  progress_ = static_cast<Progress*>(mapped);
}

void History::begin(int rank) {
  map(true);
  of(rank).process = getpid();
  const std::string name = path("journal" + std::to_string(rank));
  journal_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (journal_ < 0) give_up(name);
}

bool History::read() {
  if (access(path("progress").c_str(), F_OK) != 0) return false;
  map(false);
  return true;
}

bool History::anybody_doomed() const {
  return std::any_of(progress_, progress_ + kMaxRanks,
                     [](const Progress& one) { return one.doomed.load(); });
}

void History::note(const Operation& operation) { unwritten_ += format_operation(operation) + '\n'; }

void History::flush() {
  append(journal_, unwritten_);
  unwritten_.clear();
}

void History::note_failure(uint32_t id) {
  append(journal_, "# failed " + std::to_string(id) + '\n');
}

void History::note_kept(int file) { append(journal_, "# kept " + std::to_string(file) + '\n'); }

void History::note_size(int number, int file, int64_t bytes) {
  append(journal_, "# size " + std::to_string(number) + ' ' + std::to_string(file) + ' ' +
                       std::to_string(bytes) + '\n');
}

Record History::record(int ranks) const {
  Record record;
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<Operation> schedule;
    std::ifstream journal(path("journal" + std::to_string(rank)));
    for (std::string line; std::getline(journal, line);) {
      std::istringstream words(line);
      std::string mark, what;
      if (line[0] != '#') {
        if (const auto operation = parse_operation(line)) schedule.push_back(*operation);
      } else if (words >> mark >> what; what == "failed") {
        uint32_t id = 0;
        words >> id;
        record.failed.insert(id);
      } else if (what == "size") {
        int number = 0, file = 0;
        words >> number >> file >> record.learnt_size[{number, file}];
      }
    }
    // All ranks have the same schedule, as far as each has come.
    if (schedule.size() > record.schedule.size()) record.schedule = std::move(schedule);
  }
  return record;
}

void History::save_file(int file, const std::optional<std::vector<std::byte>>& data) const {
  if (!data) return;
  std::ofstream saved(path("file" + std::to_string(file)), std::ios::binary);
  saved.write(reinterpret_cast<const char*>(data->data()),
              static_cast<std::streamsize>(data->size()));
}

std::optional<std::vector<std::byte>> History::saved_file(int file) const {
  return contents(path("file" + std::to_string(file)));
}

}  // namespace random_io
