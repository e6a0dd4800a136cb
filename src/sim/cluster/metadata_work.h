// A tree of files on a simulated cluster: one process extracts it as tar does, lists it as ls -lR
// does, and removes it as rm -r does (Settlemyer 2009, section 3.3.6).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/cluster/kernel.h"
#include "sim/cluster/machine.h"
#include "sim/cluster/network.h"
#include "sim/progress.h"

namespace forebay::sim {

// Directories and files, each directory followed by what is in it. The first one holds all others.
struct FileTree {
  static constexpr int64_t directory = -1;

  std::vector<uint32_t> parents;  // by object; the first one's is not used
  std::vector<int64_t> bytes;     // or `directory`

  bool is_directory(std::size_t object) const { return bytes[object] == directory; }
  // Whether it is as said above.
  bool is_sound() const;
};

enum class MetadataTask : uint8_t { extract, list, remove };
inline constexpr std::size_t metadata_tasks = 3;

enum class MetadataOperation : uint8_t {
  make_directory,
  create_file,
  write,  // all bytes of a file, and its close
  set_attributes,
  read_directory,
  get_attributes,  // of a file
  get_directory_attributes,
  remove_file,
  remove_directory,
};
inline constexpr std::size_t metadata_operations = 9;

struct MetadataResult {
  struct Operations {
    int64_t times = 0;
    Picoseconds time = 0;
  };
  struct Task {
    Picoseconds time = 0;
    std::array<Operations, metadata_operations> operations;
    uint64_t messages = 0;
    int64_t message_bytes = 0;
    int64_t served = 0;         // operations of servers
    int64_t written_bytes = 0;  // that servers got
  };
  std::array<Task, metadata_tasks> tasks;
  Network::Counts network;
  uint64_t events = 0;
};

// The tasks follow each other. Each begins with a client that knows no names and attributes. The
// file system is not a measured one, which has no metadata. `progress` counts the objects of each
// task; its `stop` ends the run with std::runtime_error.
MetadataResult simulate_metadata(const FileTree& tree, const MachineSettings& settings,
                                 Progress& progress);

}  // namespace forebay::sim
