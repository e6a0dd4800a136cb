#include "agent/job_file.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "engine/owner_windows.h"
#include "engine/rules.h"
#include "runtime/cache/access_extents.h"
#include "runtime/cache/scattered_memory.h"
#include "runtime/node/clock.h"

namespace forebay::agent {
namespace {

using runtime::CachedFile;
using runtime::Held;
using runtime::ScatteredMemory;

// Of pages that owners have kept, a read of so many bytes is a question. Shorter ones share pages,
// and long runs find in this node's cache what it has kept itself.
constexpr int64_t worth_a_question = 4 << 10;
// So often a rank lets others run while another of its node tells the owners something.
constexpr int yields_for_teller = 500;

void copy_out(const std::byte* memory, int64_t length, std::byte* to) {
  std::memcpy(to, memory, static_cast<std::size_t>(length));
}
void copy_out(ScatteredMemory memory, int64_t length, std::byte* to) {
  memory.for_each_piece(length, [&to](const std::byte* piece, int64_t bytes) {
    std::memcpy(to, piece, static_cast<std::size_t>(bytes));
    to += bytes;
  });
}
void copy_in(std::byte* memory, int64_t length, const std::byte* from) {
  std::memcpy(memory, from, static_cast<std::size_t>(length));
}
void copy_in(ScatteredMemory memory, int64_t length, const std::byte* from) {
  memory.for_each_piece(length, [&from](std::byte* piece, int64_t bytes) {
    std::memcpy(piece, from, static_cast<std::size_t>(bytes));
    from += bytes;
  });
}
void zero(std::byte* memory, int64_t length) {
  std::memset(memory, 0, static_cast<std::size_t>(length));
}
void zero(ScatteredMemory memory, int64_t length) {
  memory.for_each_piece(length, [](std::byte* piece, int64_t bytes) { zero(piece, bytes); });
}

}  // namespace

JobFile::JobFile(CachedFile& here, const Owners& owners, uint32_t self, FileTerms terms)
    : here_(here),
      owners_(owners, self, std::move(terms)),
      close_to_open_(here.storage().close_to_open()),
      told_(owners_.by_first_touch()),
      window_(owners_.most_asked()),
      parts_(owners_.most_asked()),
      foretold_(static_cast<uint32_t>(owners_.most_asked())),
      bytes_of_others_(owners_.most_asked()) {
  // The user's calls before the file had owners.
  const Statistics before = here.statistics();
  calls_[0] = before.read_calls;
  calls_[1] = before.write_calls;
  bytes_[0] = before.read_bytes;
  bytes_[1] = before.write_bytes;
  // Of a file that is only read, this node keeps copies of any bytes, not of its own chunks alone.
  if (!only_read()) fetch_own_ahead();
  here_.note_shared(self == Owners::none ? 0 : number_of_cache(owners.agents[self].key));
}

// What another node owns is of no use here. When owners fetch ahead depends on time.
void JobFile::fetch_own_ahead() {
  here_.fetch_ahead_of(owners_.own_part());
  Options options = here_.options();
  if (!options.deterministic) return;
  options.read_ahead_bytes = 0;
  here_.change_options(options);
}

Status JobFile::meet_owners() {
  const Status status = commit_everywhere(true);
  if (status.ok()) note_owners_told();  // their agents have opened the file
  return status;
}

Status JobFile::prepare_change(const FileDomains& domains) {
  here_.change_options(here_.options());  // nothing is fetched ahead any more
  return within_memory([&] {
    const std::vector<std::byte>& record = (next_.parts = owners_.next(domains)).terms->owners;
    next_.identity = Owners::decoded(record)->identity();
    return here_.keep_owners(next_.identity, record);
  });
}

Status JobFile::commit_for_change() {
  if (!here_.writable()) return {};  // its copies are good, whoever owns the bytes
  return within_memory(
      [&] { return here_.commit_for_owners(domains(), next_.parts.domains, owners_.self()); });
}

void JobFile::change() {
  if (owners_.by_first_touch()) (void)here_.note_held(Held::told);
  owners_.change(next_.parts);
  foretold_.clear();
  latest_here_ = {0, 0};
  here_.see_other_nodes();
  here_.change_owners(next_.identity);
  if (source_ != nullptr) {
    source_->change(domains(), std::move(next_.parts.terms));
    here_.read_from(source_.get(), owners_kept_pages_, domains());
  }
  if (only_read()) return;  // all that is read ahead stays here as a copy
  (void)within_memory([&] { fetch_own_ahead(); });
}

JobFile::~JobFile() {
  if (!left_) (void)leave(true);
}

// Accesses ---------------------------------------------------------------------------------------

template <typename Act>
Status JobFile::counted(const Access& access, const int64_t* moved, Act act) {
  ++calls_[access.writes];
  const Status status = act();
  if (status.ok()) bytes_[access.writes] += access.writes ? access.bytes : *moved;
  return status;
}

// Whether this node owns all bytes between the access's first and last, and the rank knows it.
bool JobFile::all_here(const Access& access) {
  if (access.bytes == 0) return true;
  const auto offset_of = [&](int64_t position) {
    return access.view == nullptr ? position : access.view->offset_of(position);
  };
  const int64_t first = offset_of(access.position);
  if (first < latest_here_.offset || first >= latest_here_.end()) {
    if (owners_.owner_of(first) != owners_.self()) return false;
    latest_here_ = domains().same_owner_at(first);
  }
  return offset_of(access.position + access.bytes - 1) < latest_here_.end();
}

// Whether no rank of the job can write to the file: this node would have been told.
bool JobFile::only_read() const { return owners_.self() != Owners::none && !here_.writable(); }

// Whether this node's cache carries out the access by itself.
bool JobFile::served_here(const Access& access) {
  if (!only_read() || access.writes) return all_here(access);
  // Storage gives a long run once, to its rank; so it is no question, and may be fetched ahead.
  if (access.view == nullptr && past_caches(access.bytes)) return true;
  if (access.collective && exchange_ != nullptr) return all_here(access);
  return !owners_kept_pages_ || access.bytes < worth_a_question || all_here(access);
}

// Lets the owners know before this node's cache carries out the access by itself.
Status JobFile::tell_before(const Access& access) {
  const bool is_run = access.view == nullptr;
  if (told_ || access.bytes == 0 || (is_run && is_long(access.bytes))) return {};
  return served_here(access) ? tell_owners() : Status();
}

// Whether a read in this node's cache has got all that there is. One that ends early may lie below
// an end of file that other owners know, if somebody can write: then it is carried out once more.
bool JobFile::is_whole(int64_t moved, int64_t bytes) const { return moved == bytes || only_read(); }

template <typename Memory>
Status JobFile::access_here(const Access& access, const Memory& memory, int64_t* moved) {
  const CachedFile::PartTurn turn(here_, access);
  return here_.access(access, memory, moved);
}

// Lets the owners of what is read after this access know, with the next questions.
void JobFile::foretell(const Access& access) {
  if (access.writes || access.collective || access.view != nullptr || access.bytes == 0) return;
  const std::span<const Extent> next = here_.note_read({access.position, access.bytes});
  if (next.empty() || owners_.by_first_touch()) return;
  (void)within_memory([&] {
    foretold_.add(next, domains());
    return Status();
  });
}

Status JobFile::access(const Access& access, std::byte* memory, int64_t* moved) {
  return counted(access, moved, [&]() -> Status {
    if (const Status told = tell_before(access); !told.ok()) return told;
    foretell(access);
    if (served_here(access)) {
      const Status status = access_here(access, memory, moved);
      if (!status.ok() || access.writes || is_whole(*moved, access.bytes)) return status;
    }
    return within_memory([&] { return access_owners(access, memory, moved); });
  });
}

Status JobFile::access(const Access& access, const Tiling& memory, int64_t* moved) {
  return counted(access, moved, [&]() -> Status {
    if (const Status told = tell_before(access); !told.ok()) return told;
    if (served_here(access)) {
      const Status status = access_here(access, memory, moved);
      if (!status.ok() || access.writes || is_whole(*moved, access.bytes)) return status;
    }
    return within_memory([&] {
      ScatteredMemory::Walk walk(memory);
      return access_owners(access, ScatteredMemory(walk), moved);
    });
  });
}

Status JobFile::write(int64_t offset, const std::byte* memory, int64_t length) {
  const Access whole{true, false, nullptr, offset, length};
  return counted(whole, nullptr, [&]() -> Status {
    if (const Status told = tell_before(whole); !told.ok()) return told;
    if (served_here(whole)) {
      const CachedFile::PartTurn turn(here_, whole);
      return here_.write(offset, memory, length);
    }
    int64_t ignored = 0;
    return within_memory(
        [&] { return access_owners(whole, const_cast<std::byte*>(memory), &ignored); });
  });
}

Status JobFile::read(int64_t offset, std::byte* memory, int64_t length, int64_t* moved) {
  const Access whole{false, false, nullptr, offset, length};
  return counted(whole, moved, [&]() -> Status {
    if (const Status told = tell_before(whole); !told.ok()) return told;
    foretell(whole);
    if (served_here(whole)) {
      const Status status = [&] {
        const CachedFile::PartTurn turn(here_, whole);
        return here_.read(offset, memory, length, moved);
      }();
      if (!status.ok() || is_whole(*moved, length)) return status;
    }
    return within_memory([&] { return access_owners(whole, memory, moved); });
  });
}

// An access of which the program has the bytes in `memory`, as the windows see the file.
template <typename Memory>
struct JobFile::Windowed {
  JobFile& file;
  const Access& access;
  Memory memory;

  Status find_long(const Extent& run, int64_t* bytes) const {
    *bytes = 0;
    return file.past_caches(run.length) ? file.find_long(run, access.writes, bytes) : Status();
  }
  Status find_owner(const Extent& run) const {
    if (!access.writes || file.owners_.owner_of(run.offset)) return {};
    return file.owners_.learn(run, true);
  }
  uint32_t whom_to_ask(int64_t offset) const { return file.owners_.whom_to_ask(offset); }
  Extent same_owner_at(int64_t offset) const { return file.domains().same_owner_at(offset); }
  Status move_window(int64_t before, int64_t* moved) {
    if (const Status told = file.told_ ? Status() : file.tell_owners(); !told.ok()) return told;
    return file.move_window(*this, memory + before, moved);
  }
  Status move_long(const Extent& run, int64_t before, int64_t* moved) const {
    return file.bypass(access.writes, run, memory + before, moved);
  }
};

int64_t JobFile::window_bytes(const Access& access) const {
  if (!access.collective) return most_window_bytes;
  const int64_t owners = domains().owners_of_bytes();
  const int64_t asking =
      exchange_ != nullptr ? (exchange_->ranks() + owners - 1) / owners : here_.handles();
  return collective_window_bytes(here_.pace_bytes(), asking, here_.options().page_size_bytes);
}

template <typename Memory>
Status JobFile::access_owners(const Access& access, Memory memory, int64_t* moved) {
  Windowed<Memory> windowed{*this, access, memory};
  const Status status = window_.carry_out(windowed, access, window_bytes(access), moved);
  if (status.ok() && access.bytes > static_cast<int64_t>(most_kept_bytes)) release_memory();
  return status;
}

void JobFile::release_memory() {
  for (Part& part : parts_) keep_little(part.data);
  owners_.release_memory();
  window_.release_memory();
}

bool JobFile::is_long(int64_t bytes) const { return !close_to_open_ && past_caches(bytes); }

// Whether a run of so many bytes may go past the caches. The option may change on an open file.
bool JobFile::past_caches(int64_t bytes) const {
  const Options& options = here_.options();
  return bytes >= least_past(options.bypass_bytes, options.cache_size_bytes);
}

// The bytes at the beginning of a run that go past the caches.
Status JobFile::find_long(const Extent& run, bool writes, int64_t* bytes) {
  *bytes = run.length;
  if (!close_to_open_ || only_read()) return {};
  const Status found = owners_.find_own(run, writes, bytes, &read_unowned_);
  if (!past_caches(*bytes)) *bytes = 0;
  return found;
}

// Of a long run: whether other nodes may hold bytes of it.
bool JobFile::others_may_hold() const { return !close_to_open_ && !nothing_held(); }

// Carries out a long run.
template <typename Memory>
Status JobFile::bypass(bool writes, Extent extent, Memory memory, int64_t* moved) {
  *moved = 0;
  Status status;
  const int64_t began_ns = runtime::now_ns();
  const bool asks = others_may_hold();
  if (asks) status = owners_.ask_owners_of(extent, writes ? Ask::settle : Ask::commit, writes);
  if (status.ok()) {
    const CachedFile::PartTurn turn(here_, {writes, false, nullptr, extent.offset, extent.length},
                                    true);
    status = here_.bypass(writes, extent, memory, moved, began_ns);
  }
  if (!status.ok()) return status;
  if (writes)
    return asks || others_may_hold() ? owners_.ask_owners_of(extent, Ask::settle, true) : status;
  if (*moved == extent.length) return status;
  // A hole before bytes that only their owner knows.
  int64_t end_of_file = 0;
  status = size(&end_of_file);
  const int64_t got = *moved;
  *moved = std::clamp<int64_t>(end_of_file - extent.offset, got, extent.length);
  zero(memory + got, *moved - got);
  return status;
}

// Carries out the window.
template <typename Memory>
Status JobFile::move_window(const Windowed<Memory>& windowed, Memory memory, int64_t* moved) {
  const Access& access = windowed.access;
  make_room(access.writes);
  if (access.writes) {
    // A part's data are its pieces in order.
    int64_t at = 0;
    for (const OwnerWindow::Piece& piece : window_.pieces()) {
      Part& part = parts_[piece.asked];
      copy_out(memory + at, piece.extent.length, part.data.data() + part.taken);
      part.taken += static_cast<std::size_t>(piece.extent.length);
      at += piece.extent.length;
    }
  }
  Status status = move_parts(access.writes, access.collective);
  while (status.ok() && has_moved()) {
    status = owners_.learn_moved(window_.pieces());
    if (!status.ok()) break;
    window_.divide(windowed);
    make_room(access.writes);
    status = move_parts(access.writes, access.collective);
  }
  if (!status.ok()) return status;
  if (!access.writes) return deliver(memory, moved);
  *moved = window_.bytes();
  return {};
}

// For the window's data, of writes and of what this node reads itself.
void JobFile::make_room(bool writes) {
  for (const uint32_t asked : window_.asked()) {
    Part& part = parts_[asked];
    part.moved = 0;
    part.taken = 0;
    if (writes || asked == owners_.self())
      part.data.resize(static_cast<std::size_t>(window_.part(asked).bytes));
  }
}

// Whether bytes of the window belong to other nodes than their homes, which were asked for them.
bool JobFile::has_moved() {
  return std::ranges::any_of(window_.asked(), [this](uint32_t asked) {
    return asked != owners_.self() && owners_.agent(asked)->moved();
  });
}

// As questions begin: this node, then the agents as their lines have to be taken, then ranks, so
// that nodes begin with different ones.
void JobFile::put_in_order(std::vector<uint32_t>& asked) const {
  const auto way = [this](uint32_t owner) {
    if (owners_.agent(owner) == nullptr) return 0;
    return exchange_ != nullptr && exchange_->reaches(owner) ? 2 : 1;
  };
  const auto place = [this](uint32_t owner) {
    return place_among_asked(owner, owners_.self(), domains().owners());
  };
  std::ranges::sort(asked, [&](uint32_t one, uint32_t other) {
    if (way(one) != way(other)) return way(one) < way(other);
    return way(one) == 1 ? owners_.agent(one)->before(*owners_.agent(other))
                         : place(one) < place(other);
  });
}

// Asks all owners of the window, and waits for their answers.
Status JobFile::move_parts(bool writes, bool collective) {
  Status status;
  std::vector<uint32_t>& asked = window_.asked();
  put_in_order(asked);
  for (const uint32_t owner : asked) {
    if (owner == owners_.self()) continue;
    const Status begun = begin_part(writes, owner);
    parts_[owner].begun = begun.ok();
    status.keep_first(begun);
  }
  for (const uint32_t owner : asked) {
    if (owner == owners_.self()) status.keep_first(move_here(writes, collective));
  }
  for (const uint32_t owner : asked) {
    if (std::exchange(parts_[owner].begun, false)) status.keep_first(end_part(writes, owner));
  }
  return status;
}

Status JobFile::begin_part(bool writes, uint32_t owner) {
  Part& part = parts_[owner];
  const auto& [extents, bytes] = window_.part(owner);
  part.exchanged = exchange_ != nullptr && exchange_->reaches(owner);
  if (!part.exchanged)
    return writes ? owners_.agent(owner)->begin_write(extents, part.data)
                  : owners_.agent(owner)->begin_read(extents, Ask::read, foretold_.take(owner));
  return writes ? exchange_->begin_write(owner, extents, part.data)
                : exchange_->begin_read(owner, extents, bytes);
}

Status JobFile::end_part(bool writes, uint32_t owner) {
  Part& part = parts_[owner];
  const Status ended =
      part.exchanged ? exchange_->end(owner, &part.moved) : owners_.agent(owner)->end(&part.moved);
  if (!ended.ok()) return ended;
  const int64_t served = writes ? window_.part(owner).bytes : part.moved;
  (part.exchanged ? exchanged_bytes_ : asked_bytes_) += served;
  ++(part.exchanged ? exchanged_questions_ : asked_questions_);
  if (!writes) read_of_others_ += served;
  bytes_of_others_[owner] += served;
  if (!writes && std::ssize(answer_of(owner)) != part.moved) return {Code::network, 0, -1};
  return ended;
}

// The bytes that another owner has read.
std::span<const std::byte> JobFile::answer_of(uint32_t asked) const {
  return parts_[asked].exchanged ? exchange_->answer(asked) : owners_.agent(asked)->answer();
}

Status JobFile::move_here(bool writes, bool collective) {
  const auto& [extents, bytes] = window_.part(owners_.self());
  Part& part = parts_[owners_.self()];
  return runtime::access_extents(here_, writes, collective, extents, part.data.data(), bytes,
                                 &part.moved);
}

// Hands the bytes that owners have read to the program's memory. An owner whose part ends early
// knows of no byte of the file beyond: if others do, zeros lie there.
template <typename Memory>
Status JobFile::deliver(Memory memory, int64_t* moved) {
  int64_t end_of_file = -1;  // not asked
  int64_t at = 0;
  for (const OwnerWindow::Piece& piece : window_.pieces()) {
    Part& part = parts_[piece.asked];
    const std::byte* const data =
        piece.asked == owners_.self() ? part.data.data() : answer_of(piece.asked).data();
    const int64_t here =
        std::min(piece.extent.length, part.moved - static_cast<int64_t>(part.taken));
    if (here > 0) copy_in(memory + at, here, data + part.taken);
    part.taken += static_cast<std::size_t>(piece.extent.length);
    const int64_t got = std::max<int64_t>(here, 0);
    if (got == piece.extent.length) {
      at += got;
      continue;
    }
    if (end_of_file < 0) {
      if (const Status status = size(&end_of_file); !status.ok()) return status;
    }
    const int64_t below =
        std::clamp<int64_t>(end_of_file - piece.extent.offset, got, piece.extent.length);
    if (below > got) zero(memory + (at + got), below - got);
    at += below;
    if (below < piece.extent.length) break;
  }
  *moved = at;
  return {};
}

// Beside accesses --------------------------------------------------------------------------------

bool JobFile::nothing_held() const {
  return !close_to_open_ && !owners_.by_first_touch() && owners_.self() != Owners::none &&
         here_.held() == Held::nothing;
}

// One rank of a node tells the owners; the others wait for it, but not long. An owner that cannot
// be reached is taken for dead; one that can, but does not open the file, would not know.
Status JobFile::tell_owners() {
  if (only_read()) return {};  // copies are no owner's bytes, and nobody writes
  if (!here_.note_held(Held::telling)) {
    for (int i = 0; i < yields_for_teller && here_.held() != Held::told; ++i) sched_yield();
  }
  // An agent opens the file at the first question.
  if (here_.held() != Held::told) {
    Status refusal;
    const Status asked = within_memory([&] { return ask_others(Ask::size, 0, nullptr, &refusal); });
    if (asked.code == Code::no_memory) return asked;
    if (!refusal.ok()) return refusal;
  }
  note_owners_told();
  return {};
}

void JobFile::note_owners_told() {
  (void)here_.note_held(Held::told);
  told_ = true;
}

Status JobFile::ask_others(Ask ask, int64_t value, int64_t* most, Status* refusal) {
  return left_ ? Status() : owners_.ask_all(ask, value, most, refusal);
}

Status JobFile::size(int64_t* bytes) {
  const Status status = here_.size(bytes);
  if (only_read() || nothing_held()) return status;
  return status.ok() ? within_memory([&] { return ask_others(Ask::size, 0, bytes); }) : status;
}

Status JobFile::commit_everywhere(bool forget) {
  Status status = here_.commit();
  status.keep_first(within_memory([&] { return ask_others(forget ? Ask::settle : Ask::commit); }));
  if (forget) here_.drop_clean();
  return status;
}

Status JobFile::flush_everywhere() {
  Status status = here_.flush_storage();
  status.keep_first(within_memory([&] { return ask_others(Ask::flush); }));
  return status;
}

void JobFile::truncate_everywhere(int64_t bytes) {
  here_.truncate_cache(bytes);
  (void)within_memory([&] { return ask_others(Ask::truncate, bytes); });
}

void JobFile::forget_everywhere() {
  (void)here_.show_other_nodes();
  here_.drop_clean();
  here_.note_own_change();
  (void)within_memory([&] { return ask_others(Ask::forget); });
}

void JobFile::read_from_owners(bool kept) {
  // Whom else's pages a node has taken depends on time.
  if (here_.options().deterministic) return;
  if (!only_read() || owners_.by_first_touch() || domains().owners() == 1) return;
  FileTerms terms = owners_.terms();
  terms.mode = runtime::OpenMode::read_only;
  source_ = std::make_unique<OwnersSource>(
      here_, owners(), owners_.self(), std::make_shared<const FileTerms>(std::move(terms)), kept);
  owners_kept_pages_ = kept;
  here_.read_from(source_.get(), kept, domains());
  if (kept) fetch_own_ahead();
}

// In questions of a window's bytes each.
Status JobFile::give(uint32_t owner, std::span<const Request> bytes) {
  Part& part = parts_[owner];
  part.data.clear();
  std::vector<Extent> extents;
  const auto send = [&] {
    Status status = owners_.agent(owner)->begin_write(extents, part.data);
    if (status.ok()) status = owners_.agent(owner)->end();
    ++asked_questions_;
    asked_bytes_ += std::ssize(part.data);
    extents.clear();
    part.data.clear();
    return status;
  };
  Status status;
  for (const Request& request : bytes) {
    int64_t offset = request.offset;
    for (const Segment& segment : request.segments) {
      for (int64_t at = 0; at < segment.length;) {
        if (std::ssize(part.data) == most_window_bytes) status = send();
        if (!status.ok()) return status;
        const int64_t length =
            std::min(segment.length - at, most_window_bytes - std::ssize(part.data));
        part.data.insert(part.data.end(), segment.memory + at, segment.memory + at + length);
        if (!extents.empty() && extents.back().end() == offset)
          extents.back().length += length;
        else
          extents.push_back({offset, length});
        at += length;
        offset += length;
      }
    }
  }
  if (!extents.empty()) status = send();
  keep_little(part.data);
  return status;
}

Status JobFile::reach_owners() {
  const Status asked = within_memory([&] { return ask_others(Ask::size); });
  if (asked.ok()) note_owners_told();
  return asked;
}

Status JobFile::leave(bool discard) {
  if (std::exchange(left_, true)) return {};
  if (source_ != nullptr) {
    here_.read_from(nullptr);
    source_->leave();
  }
  // The bytes may have got owners since, and this node's client may keep them as they were.
  if (read_unowned_) here_.see_other_nodes();
  return owners_.close(discard);
}

void JobFile::exchange_over(OwnersExchange* exchange) {
  if (exchange_ != nullptr) storage_bytes_for_others_ = exchange_->storage_bytes_for_others();
  exchange_ = owners_.by_first_touch() ? nullptr : exchange;
}

std::vector<int64_t> JobFile::bytes_by_owner() const {
  std::vector<int64_t> bytes(bytes_of_others_.begin(), bytes_of_others_.end() - 1);
  if (owners_.self() == Owners::none) return bytes;
  const int64_t elsewhere = asked_bytes_ + exchanged_bytes_ + here_.statistics().bypass_bytes;
  bytes[owners_.self()] = std::max<int64_t>(bytes_[0] + bytes_[1] - elsewhere, 0);
  return bytes;
}

Statistics JobFile::statistics() const {
  Statistics sum = here_.statistics();
  const int64_t read_here = sum.read_storage_bytes;
  owners_.add_statistics(&sum);
  // What owners had to read for this rank was not in their caches, nor what this one read for
  // others; the sum of all ranks is right.
  sum.read_remote_bytes =
      read_of_others_ - (sum.read_storage_bytes - read_here) - storage_bytes_for_others_;
  // Calls are the user's, not their parts.
  sum.read_calls = calls_[0];
  sum.write_calls = calls_[1];
  sum.read_bytes = bytes_[0];
  sum.write_bytes = bytes_[1];
  sum.asked_bytes = asked_bytes_;
  sum.asked_questions = asked_questions_;
  if (source_ != nullptr) {
    const Statistics held = source_->statistics();
    sum.hits += held.hits;
    sum.asked_bytes += source_->bytes();
    sum.asked_questions += source_->questions();
    // Of what came from there, long reads count as past the cache, and the rest as fetched.
    sum.fetched_bytes = std::max<int64_t>(sum.fetched_bytes - source_->bytes(), 0);
    // What owners asked storage for.
    sum.fetched_bytes += held.fetched_bytes + held.bypass_bytes;
    sum.read_requests += held.read_requests - source_->spared_requests();
    sum.read_syscalls += held.read_syscalls;
    const int64_t had = std::min(source_->held_bytes(), read_here);
    sum.read_storage_bytes -= had;
    sum.read_remote_bytes += had;
  }
  sum.exchanged_bytes = exchanged_bytes_;
  sum.exchanged_questions = exchanged_questions_;
  return sum;
}

}  // namespace forebay::agent
