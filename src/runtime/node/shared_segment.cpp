#include "runtime/node/shared_segment.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "runtime/node/lock.h"

namespace forebay::runtime {

namespace {

constexpr std::size_t header_bytes = 4096;
constexpr uint32_t layout_version = 23;
constexpr uint64_t file_system_left_to_others = 8;  // one eighth
constexpr int attempts = 5000;  // to see a segment ready, a millisecond each at most
constexpr int open_flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;

struct SegmentHeader {
  char magic[8];
  uint32_t version;
  uint32_t owner;
  uint64_t bytes;     // length of the segment without this header
  uint64_t checksum;  // of the fields before it
  std::atomic<uint32_t> ready;
};

constexpr char segment_magic[8] = {'f', 'o', 'r', 'e', 'b', 'a', 'y', '\0'};

// FNV-1a.
uint64_t checksum_of(const SegmentHeader& header) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&header);
  uint64_t hash = 0xcbf29ce484222325u;
  for (std::size_t i = 0; i < offsetof(SegmentHeader, checksum); ++i)
    hash = (hash ^ bytes[i]) * 0x100000001b3u;
  return hash;
}

// Why a segment with this finished header cannot be used; success if it can.
Status judge(const SegmentHeader& header, std::size_t bytes) {
  if (std::memcmp(header.magic, segment_magic, sizeof(segment_magic)) != 0 ||
      header.version != layout_version)
    return {Code::unsupported, 0, -1};
  if (header.owner != geteuid()) return {Code::access, EACCES, -1};
  if (header.checksum != checksum_of(header) || header.bytes != bytes)
    return {Code::io, EBADMSG, -1};
  return {};
}

// Puts memory behind a part of the file by writing zeros: memory that was got this way is mapped at
// the least cost. fallocate would leave each page to be cleared at its first touch, by one page
// fault a page.
bool reserve_file(int descriptor, std::size_t offset, std::size_t length) {
  alignas(4096) static const std::byte zeros[64 << 10] = {};
  std::array<iovec, 16> parts;
  while (length > 0) {
    std::size_t count = 0, bytes = 0;
    while (count < parts.size() && bytes < length) {
      const std::size_t part = std::min(length - bytes, sizeof zeros);
      parts[count++] = {const_cast<std::byte*>(zeros), part};
      bytes += part;
    }
    const ssize_t written =
        pwritev(descriptor, parts.data(), static_cast<int>(count), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    offset += static_cast<std::size_t>(written);
    length -= static_cast<std::size_t>(written);
  }
  return true;
}

// Maps existing memory into this process by reading one byte of each 64 KiB: when the kernel maps a
// page for a read, it maps the page's neighbours too, 64 KiB unless configured otherwise. The bytes
// read are not used, and others may write them meanwhile.
__attribute__((no_sanitize("thread"))) void map_around(const std::byte* begin, std::size_t length) {
  constexpr std::uintptr_t around = 64 << 10;
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  for (std::uintptr_t at = first; at < first + length; at = (at / around + 1) * around)
    (void)*reinterpret_cast<const volatile std::byte*>(at);
}

void* map_file(int descriptor, std::size_t bytes) {
  void* mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (mapping == MAP_FAILED) return nullptr;
  madvise(mapping, bytes, MADV_HUGEPAGE);  // if the system has huge pages for shared memory
  madvise(mapping, bytes, MADV_DONTFORK);  // a fork's child never touches the parent's pages
  return mapping;
}

// Maps the segment in an open file. Null with success: it is not ready. Null with an error: it
// cannot be mapped or used.
std::byte* map_ready(int descriptor, const struct stat& info, Status* status) {
  *status = {};
  const auto bytes = static_cast<std::size_t>(info.st_size);
  // The creator reserves the header's memory before it maps, and sets `ready` last.
  if (info.st_uid != geteuid() || bytes <= header_bytes || info.st_blocks == 0) return nullptr;
  // Waiting processes look often, so a segment that is not ready is not mapped.
  uint32_t first_look = 0;
  if (pread(descriptor, &first_look, sizeof first_look, offsetof(SegmentHeader, ready)) !=
          sizeof first_look ||
      first_look == 0)
    return nullptr;
  void* mapping = map_file(descriptor, bytes);
  if (mapping == nullptr) {
    *status = Status::from_errno(errno);
    return nullptr;
  }
  const auto* header = static_cast<const SegmentHeader*>(mapping);
  const bool ready = header->ready.load(std::memory_order_acquire) == 1;
  if (ready) *status = judge(*header, bytes - header_bytes);
  if (ready && status->ok()) return static_cast<std::byte*>(mapping);
  munmap(mapping, bytes);
  return nullptr;
}

void unlink_if_named(int descriptor, const std::string& path) {
  struct stat mine, named;
  if (fstat(descriptor, &mine) == 0 && lstat(path.c_str(), &named) == 0 &&
      mine.st_ino == named.st_ino)
    unlink(path.c_str());
}

}  // namespace

std::string segment_directory(const std::string& base, Status* status) {
  const std::string path =
      (base.empty() ? std::string("/dev/shm") : base) + "/forebay-" + std::to_string(geteuid());
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    *status = Status::from_errno(errno);
    return "";
  }
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) {
    *status = Status::from_errno(errno);
    return "";
  }
  if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid() || (info.st_mode & 077) != 0) {
    *status = {Code::access, EACCES, -1};
    return "";
  }
  *status = {};
  return path;
}

void SharedSegment::take(int descriptor, std::byte* mapping, std::size_t bytes) {
  descriptor_ = descriptor;
  mapping_ = mapping;
  base_ = mapping + header_bytes;
  bytes_ = bytes;
}

SharedSegment::~SharedSegment() {
  if (mapping_ != nullptr) munmap(mapping_, header_bytes + bytes_);
  if (descriptor_ >= 0) close(descriptor_);
}

Status SharedSegment::create(std::size_t bytes, std::size_t reserved_bytes,
                             const std::function<void(std::byte*)>& initialise) {
  if (ftruncate(descriptor_, static_cast<off_t>(header_bytes + bytes)) != 0 ||
      !reserve_file(descriptor_, 0, header_bytes + reserved_bytes))
    return Status::from_errno(errno);
  void* mapping = map_file(descriptor_, header_bytes + bytes);
  if (mapping == nullptr) return Status::from_errno(errno);
  take(descriptor_, static_cast<std::byte*>(mapping), bytes);
  map_around(mapping_, header_bytes + reserved_bytes);
  auto* header = new (mapping) SegmentHeader{};
  std::memcpy(header->magic, segment_magic, sizeof(segment_magic));
  header->version = layout_version;
  header->owner = geteuid();
  header->bytes = bytes;
  header->checksum = checksum_of(*header);
  initialise(base_);
  header->ready.store(1, std::memory_order_release);
  flock(descriptor_, LOCK_UN);
  return {};
}

// The creator locks the file until the segment is ready. So others can tell a segment that is being
// made from one whose creator has died. False: before this lock, another process took the new file
// for one whose creator has died, and removed it.
bool SharedSegment::begin_creation() {
  if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  struct stat info;
  return fstat(descriptor_, &info) == 0 && info.st_nlink > 0;
}

SharedSegment::Found SharedSegment::look(Status* status) {
  *status = {};
  const int descriptor = open(path_.c_str(), open_flags);
  if (descriptor < 0) {
    if (errno == ENOENT) return Found::nothing;
    *status = Status::from_errno(errno);
    return Found::unusable;
  }
  struct stat info;
  const auto map = [&] {
    return fstat(descriptor, &info) == 0 ? map_ready(descriptor, info, status) : nullptr;
  };
  std::byte* mapping = map();
  bool abandoned = false;
  if (mapping == nullptr && status->ok() && flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
    mapping = map();  // its creator has finished meanwhile, or died
    abandoned = mapping == nullptr && status->ok() && info.st_uid == geteuid();
    if (abandoned) unlink_if_named(descriptor, path_);
    flock(descriptor, LOCK_UN);
  }
  if (mapping != nullptr) {
    take(descriptor, mapping, static_cast<std::size_t>(info.st_size) - header_bytes);
    return Found::ready;
  }
  close(descriptor);
  if (!status->ok()) return Found::unusable;
  return abandoned ? Found::nothing : Found::unready;
}

std::unique_ptr<SharedSegment> SharedSegment::join(
    const std::string& path, std::size_t bytes, std::size_t reserved_bytes,
    const std::function<void(std::byte*)>& initialise, Status* status) {
  // Allocated first: once the file exists, others wait until it is ready.
  std::unique_ptr<SharedSegment> segment(new SharedSegment(path));
  Backoff backoff;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    segment->descriptor_ = open(path.c_str(), open_flags | O_CREAT | O_EXCL, 0600);
    if (segment->descriptor_ >= 0) {
      if (segment->begin_creation()) {
        *status = within_memory([&] { return segment->create(bytes, reserved_bytes, initialise); });
        if (status->ok()) return segment;
        unlink(path.c_str());
        return nullptr;
      }
      close(segment->descriptor_);
      segment->descriptor_ = -1;
      continue;
    }
    if (errno != EEXIST) {
      *status = Status::from_errno(errno);
      return nullptr;
    }
    const Found found = segment->look(status);
    if (found == Found::ready && segment->bytes() == bytes) return segment;
    if (found == Found::ready) *status = {Code::unsupported, 0, -1};  // a segment of another layout
    if (!status->ok()) return nullptr;
    if (found == Found::unready) backoff.pause();
  }
  *status = {Code::no_memory, ETIMEDOUT, -1};
  return nullptr;
}

std::unique_ptr<SharedSegment> SharedSegment::attach(const std::string& path, Status* status) {
  std::unique_ptr<SharedSegment> segment(new SharedSegment(path));
  Backoff backoff;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const Found found = segment->look(status);
    if (found == Found::ready) return segment;
    if (found != Found::unready) return nullptr;
    backoff.pause();
  }
  *status = {Code::no_memory, ETIMEDOUT, -1};
  return nullptr;
}

bool SharedSegment::reserve(std::size_t offset, std::size_t length) {
  struct statvfs info;
  if (fstatvfs(descriptor_, &info) == 0 && info.f_blocks > 0) {
    const uint64_t after = info.f_bavail - std::min<uint64_t>(info.f_bavail, length / info.f_bsize);
    if (after < info.f_blocks / file_system_left_to_others) return false;
  }
  return reserve_file(descriptor_, header_bytes + offset, length);
}

void SharedSegment::populate(std::size_t offset, std::size_t length) const {
  map_around(base_ + offset, length);
}

void SharedSegment::remove() { unlink_if_named(descriptor_, path_); }

bool SharedSegment::watch() const { return flock(descriptor_, LOCK_EX | LOCK_NB) == 0; }

}  // namespace forebay::runtime
