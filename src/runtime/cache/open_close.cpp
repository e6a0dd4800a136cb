// Opening and leaving a file of the cache: identity, entry, arena, seat.

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/rules.h"
#include "runtime/cache/cached_file.h"
#include "runtime/cache/handle_rules.h"
#include "runtime/node/clock.h"
#include "runtime/node/file_identity.h"
#include "runtime/node/node_member.h"
#include "runtime/node/own_change.h"
#include "runtime/node/registry.h"

namespace forebay::runtime {

namespace {

template <typename Table, typename Name>
uint32_t index_of(const Table& table, const Name& matches) {
  return static_cast<uint32_t>(std::find_if(table.begin(), table.end(), matches) - table.begin());
}

// The options, with the number of the job's ranks that any process of the node knows: the agent
// does not know it by itself.
Options with_local_processes(Options options, Registry& registry) {
  int64_t known = registry.local_processes.load();
  while (known < options.local_processes &&
         !registry.local_processes.compare_exchange_weak(known, options.local_processes)) {
  }
  options.local_processes = std::max(options.local_processes, known);
  return options;
}

// How many processes share an arena.
int64_t sharers(const Options& options) {
  return options.scope != Scope::process ? options.local_processes : 1;
}

ArenaConfig config_of(const Options& options) {
  ArenaConfig config;
  config.page_size = options.page_size_bytes;
  config.capacity_bytes = options.cache_size_bytes * sharers(options);
  config.shards = options.shards;
  // Without a background nothing would leave the buffer.
  if (options.write_behind && !options.deterministic)
    config.write_back_buffer = options.write_back_buffer;
  config.page_kind = index_of(
      page_kinds(), [&](const PageKind* kind) { return kind->name() == options.page_kind; });
  config.policy =
      index_of(policies(), [&](const PolicySpec& spec) { return options.policy == spec.name; });
  return config;
}

// How much each process adds to the cache. All processes of the node together may add a quarter of
// what their control groups allow: the rest is for the programs, the kernel's cache of their files,
// and caches of other page sizes.
int64_t bounded_cache_size(const Options& options, const Registry& registry) {
  constexpr int64_t share = 4;
  return std::min(options.cache_size_bytes,
                  registry.memory_limit.load() / share / options.local_processes);
}

bool valid(const ArenaConfig& config) {
  return config.page_kind < page_kinds().size() && config.policy < policies().size() &&
         is_page_size(config.page_size);
}

// The number of the arena with this configuration; of a new one if there is none. no_entry: the
// table is full.
uint32_t arena_for(Registry& registry, const ArenaConfig& config) {
  for (uint32_t a = 0; a < registry.arenas; ++a) {
    if (registry.arena[a] == config) return a;
  }
  if (registry.arenas == most_arenas) return no_entry;
  registry.arena[registry.arenas] = config;
  return registry.arenas++;
}

// Whether no later change can give the file this stamp again, if clocks agree to within a minute.
bool is_old(const FileStamp& stamp) {
  constexpr int64_t old_ns = 60 * second_ns;
  return now_ns(CLOCK_REALTIME) - std::max(stamp.modified_ns, stamp.changed_ns) > old_ns;
}

bool is_entry_of(const FileEntry& file, const FileIdentity& identity) {
  return file.identity.device == identity.device && file.identity.inode == identity.inode;
}

// The index of the entry of a file that is open or rests; otherwise of a free entry, or of one
// whose file rests: if many do, or as long as no open has found kept pages. The frames of such a
// file are in the right shards, and their memory is warm. no_entry: the table is full.
uint32_t entry_for(NodeMember& node, const FileIdentity& identity) {
  const Registry& registry = node.registry();
  uint32_t free_slot = no_entry, longest_resting = no_entry, resting = 0;
  for (const FileEntry& file : registry.made_files()) {
    const uint32_t slot = registry.files.index_of(file);
    const bool rests = file.resting.load() != 0;
    if (!file.in_use() && !rests) {
      free_slot = std::min(free_slot, slot);
    } else if (is_entry_of(file, identity)) {
      return slot;
    } else if (!file.in_use()) {
      if (resting++ == 0 || file.id < registry.files[longest_resting].id) longest_resting = slot;
    }
  }
  const std::size_t most = registry.reopens.load() ? CacheArena::most_resting : 1;
  if (resting >= most) return longest_resting;
  if (free_slot == no_entry) free_slot = node.make_files();
  return free_slot != no_entry ? free_slot : longest_resting;
}

// Asks the file system itself for the stamp of a file whose cached pages may be used again. Without
// the registry's lock, since the question may cost a message on a network. False: no pages may, or
// an agent opens a file that is open.
bool refresh_stamp(Registry& registry, bool by_agent, FoundFile* found) {
  {
    const RegistryLock lock(registry);
    const bool asks = std::ranges::any_of(registry.made_files(), [&](const FileEntry& file) {
      const bool has_pages = (file.in_use() && !by_agent) || file.resting.load() != 0;
      return has_pages && file.stamp_tells.load() && is_entry_of(file, found->identity);
    });
    if (!asks) return false;
  }
  return ask_stamp(found);
}

StorageOpener by_path(const std::string& path, const std::string& kind) {
  return [path, kind](bool readable, bool writable) -> OpenedStorage {
    const StorageSpec* spec = find_storage(kind);
    if (spec == nullptr || spec->open == nullptr) return {nullptr, {Code::unsupported, 0, -1}};
    return spec->open(path, readable, writable);
  };
}

uint32_t take_seat(NodeMember& node, uint32_t file_slot) {
  Registry& registry = node.registry();
  const std::span<Seat> seats = registry.made_seats();
  const auto free = std::find_if(seats.begin(), seats.end(),
                                 [](const Seat& seat) { return seat.file.load() == no_entry; });
  const uint32_t number = free != seats.end() ? registry.seats.index_of(*free) : node.make_seats();
  if (number == no_entry) return no_entry;
  Seat& seat = registry.seats[number];
  seat.end.store(0);
  seat.process = node.process();
  seat.direct.store(0);
  seat.group.store(0);
  for (Progress& progress : seat.progress) progress.offset.store(Progress::ended);
  seat.next_reads.withdraw();
  seat.file.store(file_slot, std::memory_order_release);
  if (number >= registry.seats_in_use.load()) registry.seats_in_use.store(number + 1);
  return number;
}

}  // namespace

void make_ready(NodeMember& node, const Options& options) {
  const Status ignored = within_memory([&] {  // the first open tries again
    Registry& registry = node.registry();
    Options bounded = with_local_processes(options, registry);
    bounded.cache_size_bytes = bounded_cache_size(bounded, registry);
    const ArenaConfig config = config_of(bounded);
    if (!valid(config)) return;
    uint32_t arena = no_entry;
    {
      const RegistryLock lock(registry);
      if (registry.made_files().empty()) (void)node.make_files();
      if (registry.made_seats().empty()) (void)node.make_seats();
      if (registry.made_words().empty()) (void)node.make_words();
      arena = arena_for(registry, config);
    }
    Status refused;
    if (arena != no_entry) (void)node.cache(arena, &refused);
  });
  (void)ignored;
}

std::unique_ptr<CachedFile> CachedFile::open(const std::string& path, OpenMode mode,
                                             const Options& options, Status* status,
                                             const StorageOpener& opener) {
  std::unique_ptr<CachedFile> file;
  *status = within_memory([&] {
    file.reset(new CachedFile);
    return file->enter(path, mode, options, opener);
  });
  if (status->ok()) return file;
  if (file != nullptr) {
    const Status ignored = file->close(false);
    (void)ignored;  // nothing was written
  }
  return nullptr;
}

std::unique_ptr<CachedFile> CachedFile::open_again(const std::string& path, uint64_t inode,
                                                   OpenMode mode, const Options& options,
                                                   Status* status) {
  NodeMember* const node = node_of(options.scope, options, status);
  if (node == nullptr) return nullptr;
  const std::string descriptor = path_of_descriptor(node->registry(), path, inode);
  return descriptor.empty() ? nullptr : open(descriptor, mode, options, status);
}

// Takes a seat of the file's entry, which it makes if the file is neither open nor rests. `fresh`:
// the file system itself was asked for the stamp.
Status CachedFile::join_entry(const FoundFile& found, bool fresh, OpenMode mode) {
  Registry& registry = node_->registry();
  const ArenaConfig config = config_of(options_);
  const RegistryLock lock(registry);
  const uint32_t slot = entry_for(*node_, found.identity);
  if (slot == no_entry) return {Code::no_memory, ENFILE, -1};
  FileEntry& entry = registry.files[slot];
  same_ = fresh && entry.stamp_tells.load() && entry.identity == found.identity &&
          entry.stamp == found.stamp;
  const bool joined = entry.in_use();
  const bool woken =
      !joined && entry.resting.load() != 0 && same_ && registry.arena[entry.arena] == config;
  if (!joined && !woken) {
    node_->end_rest(entry);
    entry.arena = arena_for(registry, config);
    if (entry.arena == no_entry) return {Code::no_memory, ENFILE, -1};
    entry.id = registry.next_file_generation++ * files_at_once + slot;
    entry.stamp = found.stamp;
    entry.stamp_tells.store(is_old(found.stamp));
    entry.session.store(0);
    entry.rested_owners.store(0);
  }
  if (!joined) {
    entry.unstored_end.store(0);
    entry.told.store(0);
    entry.write_through.store(0);
    entry.aside.store(0);
    entry.shares_pages.store(SharesPages::unknown);
    entry.owners.store(0);
    entry.sharing = 0;
    entry.writable.store(0);
    entry.held.store(Held::unknown);
    entry.noted_size.store(-1);
    entry.guests.store(GuestsAre::kept);
    entry.may_rest = true;
    identify(entry, found);
    join_job_changes(entry, node_->job_node());
  }
  const uint32_t seat = take_seat(*node_, slot);
  if (seat == no_entry) return {Code::no_memory, ENFILE, -1};
  ++entry.handles;
  found_writable_ =
      mode == OpenMode::read_only ? entry.writable.load() != 0 : entry.writable.exchange(1) != 0;
  if (options_.keep == Keep::never || options_.deterministic) entry.may_rest = false;
  if (options_.openers != Openers::all) entry.session.store(0);
  takes_over_ = entry.kept.exchange(0) != 0;  // this handle commits now what was left
  entry_ = &entry;
  slot_ = slot;
  seat_ = &registry.seats[seat];
  seat_number_ = seat;
  // The ranks for which an agent opens the file have seen to the pages of a file that is open.
  finds_pages_ = woken || (joined && options_.openers != Openers::agent);
  return {};
}

// Whether what any rank of the job writes to the file is in this cache, or in those of other
// owners.
bool CachedFile::shares_all_writes() const {
  return options_.scope != Scope::process && options_.openers != Openers::some;
}

// Drops the pages that the cache has of the file, unless they are surely not older than the file.
// The stamp of a file on a network suffices by itself only if the user says so: it does if no node
// but this one can have opened the file. Where all ranks of several nodes open the file, they agree
// afterwards.
void CachedFile::take_pages(bool local) {
  const bool only_here = shares_all_writes() && options_.openers == Openers::all_here;
  const bool suffices = options_.keep == Keep::stat || local || only_here;
  const bool agrees_later = options_.openers == Openers::all;
  if (finds_pages_ && !(same_ && (suffices || agrees_later)))
    cache_->drop(file_, {0, INT64_MAX}, false);
  if (entry_->resting.exchange(0) != 0) statistics_.kept_pages += cache_->wake(file_);
  if (statistics_.kept_pages > 0) node_->registry().reopens.store(true);
}

int64_t CachedFile::kept_session() const {
  return finds_pages_ && same_ ? entry_->session.load() : 0;
}

// After a failure, close() undoes what was done.
Status CachedFile::enter(const std::string& path, OpenMode mode, const Options& options,
                         const StorageOpener& opener) {
  FoundFile found;
  Status status = find_file(path, &found);
  if (!status.ok()) return status;
  if (!valid(config_of(options))) return {Code::bad_argument, EINVAL, -1};
  options_ = options;
  node_ = node_of(options.scope, options, &status);
  if (node_ == nullptr) return status;
  if (options.scope == Scope::process) {
    NodeMember* const job = node_of(Scope::node, options, &status);
    if (job == nullptr) return status;
    node_->work_for(*job);
  }
  Registry& registry = node_->registry();
  options_ = with_local_processes(options, registry);
  wanted_cache_size_ = options.cache_size_bytes;
  options_.cache_size_bytes = bounded_cache_size(options_, registry);
  if (options_.cache_size_bytes < options.cache_size_bytes)
    bound_by_ = registry.memory_limit.load();
  const bool fresh = options_.keep != Keep::never && !options_.deterministic &&
                     refresh_stamp(registry, options_.openers == Openers::agent, &found);
  const Turn turn = step_turn();
  status = join_entry(found, fresh, mode);
  if (!status.ok()) return status;
  path_ = std::move(found.absolute_path);
  storage_ = node_->storage(slot_, opener ? opener : by_path(found.path_to_open, options.storage),
                            mode, &status);
  if (storage_ != nullptr) see_other_nodes();
  if (storage_ != nullptr) cache_ = node_->cache(entry_->arena, &status);
  if (cache_ == nullptr) return status;
  const ArenaConfig& effective = registry.arena[entry_->arena];
  options_.page_size_bytes = effective.page_size;
  options_.cache_size_bytes = effective.capacity_bytes / sharers(options_);
  options_.page_kind = page_kinds()[effective.page_kind]->name();
  options_.policy = policies()[effective.policy].name;
  const bool local = storage_->storage->local();
  ArenaFile::Parts parts;
  parts.entry = entry_;
  parts.slot = slot_;
  parts.seat = seat_;
  parts.seat_number = seat_number_;
  parts.takes_turns = options_.deterministic;
  parts.storage = storage_->storage.get();
  parts.readable = storage_->readable;
  parts.writable = storage_->writable;
  parts.local = local;
  parts.commit_size_bytes = options_.commit_size_bytes;
  parts.registry = &registry;
  parts.job = node_->job();
  parts.services = this;
  parts.statistics = &statistics_;
  file_ = ArenaFile(parts);
  handle_.emplace(*cache_, file_, rules_of(options_), mode != OpenMode::write_only, local);
  take_pages(local);
  if (options_.deterministic) {
    int64_t bytes = 0;
    if (const Status known = size(&bytes); !known.ok()) return known;
    note_step(turn, CacheStep::join, bytes, mode != OpenMode::write_only ? 1 : 0);
  }
  return {};
}

void CachedFile::change_options(const Options& changed) {
  // The helper thread reads the options, too.
  cancel_background();
  const Status had_memory = within_memory([&] {
    take_changeable(options_, changed);
    file_.set_commit_size(options_.commit_size_bytes);
    handle_->change_rules(rules());
  });
  (void)had_memory;  // without a predictor nothing is fetched ahead
}

void CachedFile::predict_from(std::shared_ptr<const pattern::Signature> reads) {
  cancel_background();
  earlier_reads_ = std::move(reads);
  const Status had_memory = within_memory([&] { handle_->change_rules(rules()); });
  (void)had_memory;  // as above
}

void CachedFile::share_with_nodes(bool shares) {
  cancel_background();
  hands_over_ = shares;
  const Status had_memory = within_memory([&] { handle_->change_rules(rules()); });
  (void)had_memory;  // as above
}

void CachedFile::fetch_ahead_of(std::shared_ptr<const OwnPart> part) {
  cancel_background();
  part_ = std::move(part);
  const Status had_memory = within_memory([&] { handle_->change_rules(rules()); });
  (void)had_memory;  // as above
}

HandleRules CachedFile::rules() const {
  HandleRules rules = rules_of(options_);
  rules.part = part_;
  rules.hands_over = hands_over_;
  rules.earlier_reads = earlier_reads_;
  return rules;
}

void CachedFile::read_from(Storage* source, bool past_too, const FileDomains& domains) {
  cancel_background();  // the helper thread reads, too
  source_domains_ = domains;
  file_.read_from(source, past_too ? source : nullptr);
}

Status CachedFile::close(bool discard, const Rest* of_nodes) {
  if (entry_ == nullptr) return {};
  if (node_ != nullptr) {
    closing_.store(true, std::memory_order_relaxed);
    cancel_background();
  }
  const Turn turn = step_turn();
  // On several nodes the option commit_at_close is not what decides.
  const bool as_option = owners() == 0 && options_.openers != Openers::all;
  const bool each = options_.commit_at_close == CommitAtClose::each;
  const AtLeave at_leave = as_option ? AtLeave::as_option : each ? AtLeave::each : AtLeave::last;
  note_step(turn, CacheStep::leave, discard ? 1 : 0, static_cast<int64_t>(at_leave));
  Status status;
  if (handle_) {
    if (!discard && !leaves_commit_to_others(1))
      status = takes_over_ ? handle_->commit() : handle_->commit_own();
    if (wants_write_through_) handle_->end_write_through();
    const Statistics mine = statistics();
    const Status ignored = within_memory([&] {
      node_->add_commit_cost(entry_->identity.device,
                             {mine.commit_ns, mine.committed_bytes, mine.write_requests});
    });
    (void)ignored;
  }
  std::optional<FileStamp> stamp;
  if (of_nodes != nullptr) stamp = of_nodes->stamp;
  for (Left left{}; left != Left::file;) {
    left = leave_file(stamp, of_nodes, discard, status);
    if (left == Left::uncommitted) status = handle_->commit();
    if (left == Left::unstamped) {
      const RestStamps stamps = stamps_to_rest();
      stamp = stamps.explained_by(last_write_ns()) ? stamps.after : FileStamp{};
    }
  }
  node_->close_unused();
  return status;
}

int64_t CachedFile::last_write_ns() const {
  return std::max(entry_->changed.modified_ns.load(), entry_->changed.written_ns.load());
}

// Neither stamp is known if there are no pages, if nothing can tell later, or if pages may lack
// what other ranks have written meanwhile.
CachedFile::RestStamps CachedFile::stamps_to_rest() {
  if (!cache_->any_held(file_, {0, INT64_MAX})) return {};
  const FileStamp before = storage_->storage->stamp();
  if (entry_->stamp_tells.load() && before == entry_->stamp) return {before, before};
  if (!before.known() || entry_->writable.load() == 0 || !shares_all_writes()) return {};
  return {before, storage_->storage->mark(before)};
}

// The last handle's pages stay. Of what several nodes cache, each keeps what it owns, or all if
// nobody could write: it may have copies of the others' bytes, which they have changed.
void CachedFile::rest(const FileStamp& stamp, const Rest* of_nodes) {
  entry_->stamp = stamp;
  entry_->stamp_tells.store(true);
  entry_->resting.store(1);
  entry_->session.store(of_nodes == nullptr ? 0 : stamp.modified_ns);
  entry_->rested_owners.store(of_nodes == nullptr ? 0 : entry_->owners.load());
  if (of_nodes == nullptr || entry_->writable.load() == 0)
    cache_->rest(file_);
  else
    cache_->rest(file_, of_nodes->domains, of_nodes->self);
}

// The last handle leaves only if storage has all bytes. If pages may stay it needs the file's
// stamp, too, which may cost a message on a network: it is asked for without the registry's lock.
CachedFile::Left CachedFile::leave_file(const std::optional<FileStamp>& stamp, const Rest* of_nodes,
                                        bool discard, const Status& status) {
  const RegistryLock lock(node_->registry());
  if (handle_ && !discard && status.ok() && entry_->handles == 1) {
    if (cache_->lacks_commits(file_)) return Left::uncommitted;
    if (!stamp && entry_->may_rest && entry_->owners.load() == 0) return Left::unstamped;
  }
  // The bytes that this handle wrote stay in the cache as long as others have the file open.
  if (discard || !status.ok() || entry_->handles > 1) entry_->keep_end(seat_->end.load());
  seat_->file.store(no_entry, std::memory_order_release);
  if (!handle_) {
    if (takes_over_) entry_->kept.store(1);  // for a handle whose open succeeds
    if (entry_->handles == 1) leave_job_changes(*entry_, node_->job());
  } else if (entry_->handles == 1) {
    if (status.ok()) {
      if (stamp && stamp->known() && entry_->may_rest && !discard)
        rest(*stamp, of_nodes);
      else
        cache_->drop(file_, {0, INT64_MAX}, true);
      leave_job_changes(*entry_, node_->job());
    } else {
      entry_->kept.store(1);
    }
  }
  if (shared_) --entry_->sharing;
  --entry_->handles;
  entry_ = nullptr;
  return Left::file;
}

CachedFile::~CachedFile() {
  const Status status = close(true);
  (void)status;
}

}  // namespace forebay::runtime
