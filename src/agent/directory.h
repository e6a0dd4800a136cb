// The directory of a job whose ranks are on several nodes: which nodes have a file open, and who
// owns its bytes. So a file has one set of owners in the job, whoever opens it: ranks of several
// nodes together, or ranks of one node, each by itself. One agent of the job keeps it.
//
// A node whose ranks alone have a file open caches it alone, and so do several as long as nobody
// writes to the file. When that ends, the file gets owners. The rank whose open ends it tells the
// nodes that were alone, before its open returns: their agents commit what their caches hold, and
// their ranks ask the owners from then on.
//
// As long as nobody can write to a file that has owners, its nodes may keep copies of each other's
// bytes. The first open that can write ends that: it makes all owners drop what they hold before it
// returns. Later opens learn that somebody can write.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "agent/owners.h"

namespace forebay::agent {

// A file, as all nodes of a job call it.
struct FileKey {
  uint64_t place = 0;  // where it is stored: a file system of all nodes, or a node's own
  uint64_t inode = 0;
  int64_t birth_ns = 0;  // 0: its file system does not tell
  auto operator<=>(const FileKey&) const = default;
};

// An open that the directory knows: its file, and who opened it.
struct EnrolledOpen {
  FileKey file;
  Key opener{};
  auto operator<=>(const EnrolledOpen&) const = default;
};

// What an open tells the directory.
struct Enrolment {
  FileKey file;
  bool writes = false;
  // Ranks of one node open the file: the node of the only owner that they propose.
  bool one_node = false;
  Owners proposed;  // if the file has no owners yet
  // Instead of these: the owners by which the node's cache has the file already. Those who opened
  // it so are not in the directory: they have just closed it, or opened it before there was one.
  std::optional<Owners> known = std::nullopt;

  EnrolledOpen open() const;
  std::vector<std::byte> encoded() const;
  static std::optional<Enrolment> decoded(std::span<const std::byte> bytes);
};

// New owners of a file (Directory::change_owners).
struct NewOwners {
  FileKey file;
  Owners owners;

  std::vector<std::byte> encoded() const;
  static std::optional<NewOwners> decoded(std::span<const std::byte> bytes);
};

// What the directory answers.
struct Enrolled {
  bool others = false;           // have the file open
  bool written = false;          // somebody who has opened the file can write to it
  bool ends_copies = false;      // the open can write, and owners may have copies until now
  std::optional<Owners> owners;  // empty: the node has the file alone
  std::vector<Address> to_tell;  // of nodes that may cache the file alone
  bool changing = false;         // the file's owners change: the open is to ask again soon

  std::vector<std::byte> encoded() const;
  static std::optional<Enrolled> decoded(std::span<const std::byte> bytes);
};

// Any thread may use it.
class Directory {
 public:
  // More owners are not given to a file that ranks of single nodes open.
  static constexpr std::size_t most_owners = 64;

  Enrolled enrol(const Enrolment& enrolment);
  // Whoever was to be told of the file's owners has been told.
  void note_told(const FileKey& file);
  // The owners know that somebody can write, and have no copies.
  void end_copies(const FileKey& file);
  // The only open of the file, of ranks of several nodes, wants to change its owners: from now on
  // nobody else can enrol, until change_owners(). False: it is not the only one.
  bool begin_change(const FileKey& file);
  // Ends what begin_change() has begun. The owners may be those that the file has.
  void change_owners(const NewOwners& changed);
  // An open that was enrolled has ended.
  void withdraw(const EnrolledOpen& open);
  std::size_t files() const;

 private:
  // A node whose ranks alone have opened the file; or, all with one name, ranks of several nodes.
  struct Opener {
    Key name{};
    Address agent;  // of the node
    int64_t chunk_bytes = 0;
    int64_t opens = 0;
    bool alone = false;  // the node may cache the file alone
  };
  struct Entry {
    std::vector<Opener> openers;
    std::optional<Owners> owners;
    bool written = false;   // since it is in the directory, somebody who can write has opened it
    bool copies = false;    // owners may have copies of each other's bytes
    bool changing = false;  // between begin_change() and change_owners()
  };
  static Opener& opener_in(Entry& entry, const Enrolment& enrolment);
  static Owners owners_for(const Entry& entry, const Enrolment& enrolment);

  mutable std::mutex mutex_;
  std::map<FileKey, Entry> files_;
};

}  // namespace forebay::agent
