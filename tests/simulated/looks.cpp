#include "simulated/looks.h"

namespace forebay::test {

void Looks::check_unsaved() {
  for (uint32_t n = 0; n < settings_.nodes; ++n) {
    for (uint32_t f = 0; f < settings_.files; ++f) {
      const int64_t unsaved = nodes_[n].cache().unsaved_bytes(nodes_[n].file(f).id);
      if (unsaved < files_[f].model.unsaved_bytes(n) || unsaved > settings_.file_bytes)
        fail("the cache of node " + std::to_string(n) + " says that storage lacks " +
             std::to_string(unsaved) + " bytes of file " + std::to_string(f));
    }
  }
}

void Looks::look_closely(Opened& opened) {
  for (uint32_t rank = 0; rank < settings_.ranks; ++rank) {
    if (!alive(rank) && !reaped_[rank]) return;
  }
  check_size(opened);
  if (opened.file.state().direct_writers != 0) fail("writes past the cache count as under way");
  if (outcome_.deaths == 0 && opened.file.state().write_through != through_[opened.file.slot()])
    fail("handles want writing through that do not say so");
  if (random_.one_in(4)) commit_twice(opened);
  if (random_.one_in(2)) check_leaving(opened);
  if (!settings_.handles.write_behind && settings_.handles.read_ahead_bytes == 0 &&
      random_.one_in(4))
    drop_clean(opened);
  if (opened.file.state().write_through != 0 || settings_.handles.read_ahead_bytes != 0 ||
      leaves_in_background() || settings_.handles.step_aside != SteppingAside::never ||
      memory_is_short())
    return;
  const int64_t page_size = settings_.cache.page_size;
  const int64_t page = random_.below((settings_.file_bytes + page_size - 1) / page_size);
  if (random_.one_in(2)) prefetch(opened, page);
  read_twice(opened, page);
}

bool Looks::leaves_in_background() const {
  return settings_.handles.write_behind && settings_.cache.write_back_buffer > 0;
}

void Looks::check_size(Opened& opened) {
  int64_t bytes = 0;
  if (!ends_well(opened.handle.size(&bytes), "a look at the size")) return;
  if (ok()) outcome_.failure = file_of(opened).model.check_size(bytes);
}

void Looks::commit_twice(Opened& opened) {
  if (!commit(opened) || !ok()) return;
  const uint64_t id = opened.file.state().id;
  if (opened.file.state().unstored_end != 0)
    fail("a commit does not know that storage has the end that closed handles wrote");
  if (opened.node.cache().unsaved_bytes(id) != 0) fail("after a commit storage lacks bytes");
  if (opened.node.cache().lacks_commits(opened.file))
    fail("a commit leaves a frame to be committed");
  const int64_t before = statistics_[opened.rank].write_requests;
  if (commit(opened) && statistics_[opened.rank].write_requests != before)
    fail("a commit writes what the one before has written");
}

void Looks::drop_clean(Opened& opened) {
  Cache<sim::VirtualDriver>& cache = opened.node.cache();
  cache.drop(opened.file, {0, INT64_MAX}, false);
  const uint64_t id = opened.file.state().id;
  int64_t valid = 0;
  for (FrameIndex f = 0; f < cache.frames(); ++f) {
    if (opened.node.arena().frame(f).key.file != id) continue;
    Regions missing;
    cache.kind().missing(opened.node.arena().page_state(f), cache.page_size(),
                         {0, cache.page_size()}, missing);
    valid += cache.page_size();
    for (const Extent& gap : missing) valid -= gap.length;
    if (valid == 0) fail("a page without bytes keeps its frame");
  }
  if (valid != cache.unsaved_bytes(id)) fail("bytes that are dropped stay");
}

void Looks::check_leaving(Opened& opened) {
  for (int wait = 0; pages_leave() && wait < 100; ++wait) {
    if (!ends_well(opened.node.cache().write_back(opened.file), "a write-back")) return;
    fibers_.sleep(poll_ns);  // some may be under commit
  }
  if (pages_leave()) fail("pages that leave stay");
}

bool Looks::pages_leave() {
  for (uint32_t s = 0; s < nodes_.front().arena().shards(); ++s) {
    if (nodes_.front().arena().shard(s).state().leaving != 0) return true;
  }
  return false;
}

void Looks::read_twice(Opened& opened, int64_t page) {
  const int64_t page_size = settings_.cache.page_size;
  const Extent extent{page * page_size + random_.below(page_size), 1 + random_.below(page_size)};
  const Operation op{Operation::Kind::read, opened.rank, opened.file.slot(),
                     intersect(extent, {page * page_size, page_size})};
  if (!never_past(op.extent.length) || op.extent.end() > settings_.file_bytes) return;
  const Statistics& now = statistics_[opened.rank];
  const int64_t before = now.read_bytes;
  read(op, opened);
  if (now.read_bytes - before != op.extent.length) return;
  const int64_t requests = now.read_requests;
  read(op, opened);
  if (now.read_requests != requests) fail("what has been read is not in the cache");
}

void Looks::prefetch(Opened& opened, int64_t first_page) {
  const Cache<sim::VirtualDriver>& cache = opened.node.cache();
  const int64_t page_size = settings_.cache.page_size;
  const int64_t end = std::ssize(file_of(opened).storage.bytes());
  // As many as are fetched at once keep no others from their frames.
  const bool many = opened.node.arena().shards() == 1 && cache.frames() >= 16 && !memory_is_short();
  const Extent wanted{first_page * page_size, (many ? 3 : 1) * page_size};
  const bool has_frames = !cache.may_be_dirty();
  std::vector<Extent> absent;  // bytes that storage has, by page
  for (int64_t at = wanted.offset; at < wanted.end(); at += page_size) {
    const PageKey key{opened.file.state().id, at / page_size};
    CacheArena& arena = opened.node.arena();
    if (arena.shard(shard_of(key, arena.shards())).find(key) == no_frame)
      absent.push_back(intersect({at, page_size}, {0, end}));
  }
  Statistics statistics;
  VirtualFile file = opened.counting_in(*this, opened.file.seat(), statistics);
  PageCursor pages({&wanted, 1}, page_size);
  while (opened.node.cache().prefetch(file, pages)) {
  }
  if (statistics.hits + statistics.misses > 0) fail("a prefetch counts as an access");
  if (absent.empty() && statistics.read_requests > 0)
    fail("pages that are there are fetched ahead");
  if (!has_frames || !sound()) return;
  if (!pages.done()) fail("a prefetch ends before its last page");
  std::vector<std::byte> bytes(static_cast<std::size_t>(page_size));
  Translation<sim::VirtualDriver> ignored;
  for (const Extent& stored : absent) {
    if (!stored.empty() &&
        !opened.node.cache().read_resident(opened.file, stored, bytes.data(), false, &ignored))
      fail("what was fetched ahead is not in the cache");
  }
}

}  // namespace forebay::test
