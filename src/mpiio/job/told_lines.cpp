#include "mpiio/job/told_lines.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>

#include "mpiio/job/job.h"
#include "runtime/cache/cached_file.h"

namespace forebay::mpiio {
namespace {

enum class Noted : uint8_t { now, before, nowhere };

Noted note_in_run_folder(int64_t number) {
  const char* const folder = std::getenv("FOREBAY_RUN_DIR");
  if (folder == nullptr || other_rights()) return Noted::nowhere;
  const std::string path =
      std::string(folder) + "/told." + std::to_string(static_cast<uint64_t>(number));
  const int file = open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (file >= 0) close(file);
  if (file >= 0) return Noted::now;
  return errno == EEXIST ? Noted::before : Noted::nowhere;
}

Noted note_in_registry(int64_t number) {
  const Options& options = process_options();
  if (!options.enable || job_identity() == 0 || other_rights()) return Noted::nowhere;
  Status status;
  runtime::NodeMember* const node = this_node(&status);
  if (node == nullptr) return Noted::nowhere;
  return runtime::first_notice(*node, static_cast<uint64_t>(number)) ? Noted::now : Noted::before;
}

}  // namespace

bool is_new_here(const std::string& line) {
  static std::mutex mutex;
  static auto& told = *new std::set<std::string>;
  const std::lock_guard guard(mutex);
  return told.insert(line).second;
}

bool is_new_on_node(const std::string& line) {
  const int64_t number = hash_text(line);
  Noted noted = note_in_run_folder(number);
  if (noted == Noted::nowhere) noted = note_in_registry(number);
  return noted != Noted::before;
}

}  // namespace forebay::mpiio
