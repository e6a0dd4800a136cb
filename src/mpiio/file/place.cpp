#include "mpiio/file/place.h"

#include <sys/sysmacros.h>

#include <map>
#include <mutex>
#include <string_view>

#include "extent/text.h"
#include "mpiio/job/job.h"
#include "storage/file_system.h"
#include "storage/small_files.h"

namespace forebay::mpiio {
namespace {

// What is mounted there, as the mount names it; "": not known. Each line of the kernel's list has
// the device as third word, and the source is the second word behind a lone "-".
std::string source_of_mount(uint64_t device) {
  const std::string mounts = text_of_file("/proc/self/mountinfo");
  const std::string wanted = std::to_string(major(device)) + ':' + std::to_string(minor(device));
  for (std::string_view lines = mounts; !lines.empty();) {
    std::string_view words = cut(lines, '\n');
    for (int i = 0; i < 2; ++i) cut(words, ' ');
    if (cut(words, ' ') != wanted) continue;
    while (!words.empty() && cut(words, ' ') != "-") {
    }
    cut(words, ' ');  // the type
    return std::string(cut(words, ' '));
  }
  return "";
}

// Whether nodes share the file system of this type that is on the device.
bool is_shared(unsigned long type, uint64_t device) {
  switch (file_system_of(type)) {
    case FileSystem::coherent:
    case FileSystem::close_to_open:
      return true;
    case FileSystem::fuse:  // a server's name is before a colon: "server:/volume"
      return source_of_mount(device).find(':') != std::string::npos;
    default:
      return false;
  }
}

}  // namespace

std::optional<uint64_t> place_of(const std::string& path, uint64_t device) {
  static std::mutex mutex;
  static auto& known = *new std::map<uint64_t, std::optional<uint64_t>>;
  const std::lock_guard guard(mutex);
  const auto [place, is_new] = known.try_emplace(device);
  if (!is_new) return place->second;
  const unsigned long type = file_system_type(path, device);
  if (is_shared(type, device)) {
    place->second = type;
  } else if (const std::string machine = machine_name(); !machine.empty()) {
    place->second = static_cast<uint64_t>(hash_text(machine + '/' + std::to_string(device)));
  }
  return place->second;
}

}  // namespace forebay::mpiio
