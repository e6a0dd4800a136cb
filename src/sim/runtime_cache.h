// The runtime's cache in virtual time: the same shards, policies, page kinds, predictor and rules
// as in src/runtime, with numbers in the place of bytes. Told in order what was done to a cache of
// the runtime with the option `deterministic`, it counts what that cache counted.
//
// What it does not know: storage that fails, memory that is refused, and programs that change a
// file past MPI.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/page_cursor.h"
#include "page/page_kind.h"
#include "predict/predictor.h"
#include "sim/shards.h"

namespace forebay::sim {

// As the options of the same names.
struct RuntimeSettings {
  int64_t page_size = 64 << 10;
  int64_t capacity_bytes = 64 << 20;  // of the whole cache
  int64_t shards = 0;
  const PageKind* page_kind = nullptr;
  const PolicySpec* policy = nullptr;
  const PredictorSpec* predictor = nullptr;
  int64_t bypass_bytes = 1 << 20;
  int64_t read_ahead_bytes = 4 << 20;
  int64_t commit_size_bytes = 4 << 20;
  double dirty_bound = 0.5;
  bool write_behind = true;
};

struct RuntimeCounts {
  int64_t hits = 0, misses = 0, evictions = 0;  // pages, as the policy counts them
  int64_t committed_bytes = 0;                  // written back
  int64_t fetched_bytes = 0;  // into pages, fetched ahead or because they were read
  int64_t bypass_bytes = 0;   // past the cache
  bool operator==(const RuntimeCounts&) const = default;
};

class RuntimeCache final : private FrameStates {
 public:
  using HandleIndex = uint32_t;

  explicit RuntimeCache(const RuntimeSettings& settings);

  // A handle of `file`, whichever number the caller knows it by; `bytes` is its size in storage or,
  // as far as it is larger, with what the cache holds.
  HandleIndex open(uint64_t file, bool reads, int64_t bytes);
  void close(HandleIndex handle, bool discard);
  void write(HandleIndex handle, Extent extent);
  // Bytes before the end of the file.
  int64_t read(HandleIndex handle, Extent extent);
  void commit(HandleIndex handle);
  void drop_clean(HandleIndex handle);
  void truncate(HandleIndex handle, int64_t bytes);
  // Storage has given the file this size.
  void resize(HandleIndex handle, int64_t bytes);

  const RuntimeCounts& counts() const { return counts_; }
  int64_t capacity_bytes() const { return settings_.page_size * frames_; }

 private:
  // A frame, and what the runtime keeps in the frame's header.
  struct State {
    uint32_t opened =
        0;               // how often it was closed or opened: a translation holds while it is equal
    bool dirty = false;  // the runtime's hint
    bool filling = false;
  };
  struct File {
    uint64_t number = 0;  // the caller's
    uint64_t id = 0;      // PageKey::file
    uint32_t handles = 0;
    int64_t end = 0;
  };
  struct Handle {
    uint32_t file = 0;  // index in files_
    int64_t last_page = -1;
    FrameIndex translated = no_frame;
    uint32_t opened = 0;
    std::unique_ptr<Predictor> predictor;  // nullptr: nothing is fetched ahead
  };
  struct Claim {
    FrameIndex frame;
    int64_t page;
    bool fresh;
  };
  enum class Got : uint8_t { resident, placed, none };
  enum class Which : uint8_t { dirty, full };

  bool evictable(FrameIndex frame) const override { return !states_[frame].filling; }
  CommitShape commit_shape(FrameIndex frame) const override;

  void* page(FrameIndex frame) const;
  FrameIndex find(PageKey key) { return shards_.of(key).find(key); }
  bool translated(const Handle& handle, Extent extent) const;
  bool continues_page(Handle& handle, int64_t offset);
  Got obtain(PageKey key, bool* count, bool wait, FrameIndex* frame);
  void place_for_write(Handle& handle, Extent part, bool count);
  void write_locked(Handle& handle, Extent part, bool count);
  void write_part(Handle& handle, Extent part);
  void write_behind(const Handle& handle);
  int64_t read_pages(Handle& handle, Extent extent);
  int64_t read_missing(Handle& handle, Extent wanted, bool whole_pages, bool count_first);
  void look_ahead(Handle& handle, Extent extent);
  bool prefetch(const File& file, PageCursor& pages);
  int64_t fill(const File& file, std::vector<Claim>& claims, Extent wanted, bool whole_pages);
  void publish(FrameIndex frame, Extent region);
  void release(FrameIndex frame);
  bool any_held(const File& file, Extent range);
  bool meets(FrameIndex frame, const File& file, Extent range) const;
  void commit_frame(FrameIndex frame);
  void commit_range(const File& file, Extent range);
  void commit_around(FrameIndex victim);
  void commit_some(const File& file, uint32_t target);
  void drop(const File& file, Extent range, bool dirty_too);

  RuntimeSettings settings_;
  Shards shards_;
  uint32_t frames_;
  uint32_t dirty_frames_ = 0;
  std::vector<State> states_;
  mutable std::vector<std::unique_ptr<uint64_t[]>> pages_;  // made when first used
  std::vector<File> files_;                                 // by slot; free: no handles
  uint64_t generation_ = 1;
  std::vector<Handle> handles_;
  Regions regions_;
  RuntimeCounts counts_;
};

}  // namespace forebay::sim
