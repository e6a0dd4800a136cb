// The names and attributes of a simulated file system: what programs do with files and directories
// besides their bytes.
#pragma once

#include <cstdint>
#include <limits>

namespace forebay::sim {

// A file or directory; both are numbered together.
struct Named {
  static constexpr uint64_t root = std::numeric_limits<uint64_t>::max();

  uint64_t object = 0;
  uint64_t directory = root;  // in which it is
  bool is_directory = false;
};

// A client keeps the names and attributes that it has asked for or made, until it forgets them.
class Metadata {
 public:
  virtual ~Metadata() = default;

  // Called by a process, which waits.
  virtual void make_directory(uint32_t client, const Named& made) = 0;
  virtual void create_file(uint32_t client, const Named& made) = 0;
  virtual void set_attributes(uint32_t client, const Named& of) = 0;
  // All attributes, a file's size among them.
  virtual void get_attributes(uint32_t client, const Named& of) = 0;
  virtual void read_directory(uint32_t client, uint64_t directory, int64_t entries) = 0;
  virtual void remove_file(uint32_t client, const Named& removed) = 0;
  virtual void remove_directory(uint32_t client, const Named& removed) = 0;

  // Takes no time.
  virtual void forget(uint32_t client) = 0;
};

}  // namespace forebay::sim
