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

// Keeps the first failure.
void keep(Status& status, const Status& other) {
  if (status.ok()) status = other;
}

}  // namespace

JobFile::JobFile(CachedFile& here, const Owners& owners, uint32_t self, FileTerms terms,
                 bool past_caches)
    : here_(here),
      domains_(owners.domains),
      first_touch_(domains_.first_touch() && domains_.owners() > 1),
      past_caches_(past_caches),
      self_(self),
      told_(first_touch_),
      wanted_ahead_bytes_(here.options().read_ahead_bytes),
      window_(owners.agents.size() + 1),
      parts_(owners.agents.size() + 1),
      bytes_of_others_(owners.agents.size() + 1) {
  // The user's calls before the file had owners.
  const Statistics before = here.statistics();
  calls_[0] = before.read_calls;
  calls_[1] = before.write_calls;
  bytes_[0] = before.read_bytes;
  bytes_[1] = before.write_bytes;
  // Of a file that is only read, this node keeps copies of any bytes, not of its own chunks alone.
  if (!only_read()) fetch_ahead();
  terms.owners = owners.encoded();
  terms_ = std::make_shared<const FileTerms>(std::move(terms));
  const auto remote_of = [&](const Address& agent) {
    return std::make_unique<RemoteFile>(Lines::of_process().to(agent), terms_);
  };
  for (uint32_t owner = 0; owner < owners.agents.size(); ++owner)
    remotes_.push_back(owner == self ? nullptr : remote_of(owners.agents[owner]));
  const bool keeps_records = first_touch_ && self != Owners::none;
  remotes_.push_back(keeps_records ? remote_of(owners.agents[self]) : nullptr);
}

// What another node owns is of no use here.
void JobFile::fetch_own_ahead() {
  if (!first_touch_)
    here_.fetch_ahead_of(std::make_shared<const OwnPart>(OwnPart{domains_, self_}));
}

void JobFile::fetch_ahead() {
  fetch_own_ahead();
  Options options = here_.options();
  options.read_ahead_bytes = domains_.ahead(wanted_ahead_bytes_);
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
    Owners owners = *Owners::decoded(terms_->owners);
    owners.domains = domains;
    FileTerms terms = *terms_;
    terms.owners = owners.encoded();
    next_ = {domains, owners.identity(), std::make_shared<const FileTerms>(std::move(terms))};
    return here_.keep_owners(next_.identity, next_.terms->owners);
  });
}

Status JobFile::commit_for_change() {
  if (!here_.writable()) return {};  // its copies are good, whoever owns the bytes
  return within_memory([&] { return here_.commit_for_owners(domains_, next_.domains, self_); });
}

void JobFile::change() {
  const bool own_ahead = here_.options().read_ahead_bytes == domains_.ahead(wanted_ahead_bytes_);
  domains_ = next_.domains;
  terms_ = std::move(next_.terms);
  latest_here_ = {0, 0};
  here_.change_owners(next_.identity);
  for (const std::unique_ptr<RemoteFile>& remote : remotes_) {
    if (remote != nullptr) remote->use(terms_);
  }
  if (source_ != nullptr) {
    source_->change(domains_, terms_);
    here_.read_from(source_.get(), owners_kept_pages_, domains_);
  }
  if (only_read()) return;  // all that is read ahead stays here as a copy
  (void)within_memory([&] { own_ahead ? fetch_ahead() : fetch_own_ahead(); });
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
    if (owner_of(first) != self_) return false;
    latest_here_ = domains_.same_owner_at(first);
  }
  return offset_of(access.position + access.bytes - 1) < latest_here_.end();
}

// Whether no rank of the job can write to the file: this node would have been told.
bool JobFile::only_read() const { return self_ != Owners::none && !here_.writable(); }

// Whether this node's cache carries out the access by itself.
bool JobFile::served_here(const Access& access) {
  if (!only_read() || access.writes) return all_here(access);
  // Storage gives a long run once, to its rank; so it is no question, and may be fetched ahead.
  if (access.view == nullptr && is_long(access.bytes)) return true;
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

Status JobFile::access(const Access& access, std::byte* memory, int64_t* moved) {
  return counted(access, moved, [&]() -> Status {
    if (const Status told = tell_before(access); !told.ok()) return told;
    if (served_here(access)) {
      const Status status = here_.access(access, memory, moved);
      if (!status.ok() || access.writes || is_whole(*moved, access.bytes)) return status;
    }
    return within_memory([&] { return access_owners(access, memory, moved); });
  });
}

Status JobFile::access(const Access& access, const Tiling& memory, int64_t* moved) {
  return counted(access, moved, [&]() -> Status {
    if (const Status told = tell_before(access); !told.ok()) return told;
    if (served_here(access)) {
      const Status status = here_.access(access, memory, moved);
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
    if (served_here(whole)) return here_.write(offset, memory, length);
    int64_t ignored = 0;
    return within_memory(
        [&] { return access_owners(whole, const_cast<std::byte*>(memory), &ignored); });
  });
}

Status JobFile::read(int64_t offset, std::byte* memory, int64_t length, int64_t* moved) {
  const Access whole{false, false, nullptr, offset, length};
  return counted(whole, moved, [&]() -> Status {
    if (const Status told = tell_before(whole); !told.ok()) return told;
    if (served_here(whole)) {
      const Status status = here_.read(offset, memory, length, moved);
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

  bool is_long(int64_t bytes) const { return file.is_long(bytes); }
  Status find_owner(const Extent& run) const {
    if (!access.writes || file.owner_of(run.offset)) return {};
    return file.learn_owners(run, true);
  }
  uint32_t whom_to_ask(int64_t offset) const { return file.whom_to_ask(offset); }
  Extent same_owner_at(int64_t offset) const { return file.domains_.same_owner_at(offset); }
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
  const int64_t owners = domains_.owners_of_bytes();
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
  for (const std::unique_ptr<RemoteFile>& remote : remotes_) {
    if (remote != nullptr) remote->release_memory();
  }
  window_.release_memory();
}

// The option may change on an open file.
bool JobFile::is_long(int64_t bytes) const {
  const Options& options = here_.options();
  return past_caches_ && bytes >= least_past(options.bypass_bytes, options.cache_size_bytes);
}

// Carries out a long run.
template <typename Memory>
Status JobFile::bypass(bool writes, Extent extent, Memory memory, int64_t* moved) {
  *moved = 0;
  Status status;
  const int64_t began_ns = runtime::now_ns();
  const bool asks = !nothing_held();
  if (asks) status = ask_owners(writes ? Ask::settle : Ask::commit, extent, writes);
  if (status.ok()) status = here_.bypass(writes, extent, memory, moved, began_ns);
  if (!status.ok()) return status;
  if (writes) return asks || !nothing_held() ? ask_owners(Ask::settle, extent, writes) : status;
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
    status = follow_pieces();
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
    if (writes || asked == self_)
      part.data.resize(static_cast<std::size_t>(window_.part(asked).bytes));
  }
}

// Whether bytes of the window belong to other nodes than their homes, which were asked for them.
bool JobFile::has_moved() {
  return std::ranges::any_of(window_.asked(), [this](uint32_t asked) {
    return asked != self_ && remotes_[asked]->moved();
  });
}

// Learns the owners of such bytes.
Status JobFile::follow_pieces() {
  const std::size_t known = known_owners_.size();
  std::vector<Extent> moved;
  for (const OwnerWindow::Piece& piece : window_.pieces()) {
    if (piece.asked != self_ && remote(piece.asked)->moved()) moved.push_back(piece.extent);
  }
  for (const Extent& extent : moved) {
    if (owner_of(extent.offset)) continue;
    if (const Status learnt = learn_owners(extent, false); !learnt.ok()) return learnt;
  }
  return known_owners_.size() > known ? Status() : Status{Code::network, EPROTO, -1};
}

// As questions begin: this node, then the agents as their lines have to be taken, then ranks, so
// that nodes begin with different ones.
void JobFile::put_in_order(std::vector<uint32_t>& asked) const {
  const auto way = [this](uint32_t owner) {
    if (remotes_[owner] == nullptr) return 0;
    return exchange_ != nullptr && exchange_->reaches(owner) ? 2 : 1;
  };
  const auto place = [this](uint32_t owner) {
    return place_among_asked(owner, self_, domains_.owners());
  };
  std::ranges::sort(asked, [&](uint32_t one, uint32_t other) {
    if (way(one) != way(other)) return way(one) < way(other);
    return way(one) == 1 ? remotes_[one]->before(*remotes_[other]) : place(one) < place(other);
  });
}

// Asks all owners of the window, and waits for their answers.
Status JobFile::move_parts(bool writes, bool collective) {
  Status status;
  std::vector<uint32_t>& asked = window_.asked();
  put_in_order(asked);
  for (const uint32_t owner : asked) {
    if (owner == self_) continue;
    const Status begun = begin_part(writes, owner);
    parts_[owner].begun = begun.ok();
    keep(status, begun);
  }
  for (const uint32_t owner : asked) {
    if (owner == self_) keep(status, move_here(writes, collective));
  }
  for (const uint32_t owner : asked) {
    if (std::exchange(parts_[owner].begun, false)) keep(status, end_part(writes, owner));
  }
  return status;
}

Status JobFile::begin_part(bool writes, uint32_t owner) {
  Part& part = parts_[owner];
  const auto& [extents, bytes] = window_.part(owner);
  part.exchanged = exchange_ != nullptr && exchange_->reaches(owner);
  if (!part.exchanged)
    return writes ? remote(owner)->begin_write(extents, part.data)
                  : remote(owner)->begin_read(extents);
  return writes ? exchange_->begin_write(owner, extents, part.data)
                : exchange_->begin_read(owner, extents, bytes);
}

Status JobFile::end_part(bool writes, uint32_t owner) {
  Part& part = parts_[owner];
  const Status ended =
      part.exchanged ? exchange_->end(owner, &part.moved) : remote(owner)->end(&part.moved);
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
  return parts_[asked].exchanged ? exchange_->answer(asked) : remotes_[asked]->answer();
}

Status JobFile::move_here(bool writes, bool collective) {
  const auto& [extents, bytes] = window_.part(self_);
  Part& part = parts_[self_];
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
        piece.asked == self_ ? part.data.data() : answer_of(piece.asked).data();
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

// Owners -----------------------------------------------------------------------------------------

// Whose the byte is. Empty: nobody's, as far as this rank knows.
std::optional<uint32_t> JobFile::owner_of(int64_t offset) const {
  if (!first_touch_) return domains_.owner_of(offset);
  const auto known = known_owners_.find(domains_.chunk_of(offset));
  if (known == known_owners_.end()) return std::nullopt;
  return known->second;
}

// The owner, or else the home. This node is asked through its agent where only the agent knows
// whether the byte has an owner.
uint32_t JobFile::whom_to_ask(int64_t offset) const {
  if (const std::optional<uint32_t> owner = owner_of(offset)) return *owner;
  const uint32_t home = domains_.owner_of(offset);
  return home == self_ ? domains_.owners() : home;
}

// Asks the homes of the range's chunks for the owners that this rank does not know, all at once.
// With `claim` this node becomes the owner where there is none.
Status JobFile::learn_owners(const Extent& range, bool claim) {
  Status status;
  asked_.clear();
  for (int64_t at = range.offset; at < range.end() && asked_.size() < domains_.owners();
       at = domains_.same_owner_at(at).end()) {
    const uint32_t asked = whom_to_ask(at);
    if (owner_of(at) || std::ranges::find(asked_, asked) != asked_.end()) continue;
    asked_.push_back(asked);
  }
  put_in_order(asked_);
  for (const uint32_t asked : asked_) {
    // A node that is none of the owners leaves a chunk to its home.
    const uint32_t claimer = self_ == Owners::none ? asked : self_;
    const Status begun = remote(asked)->begin(Ask::owners, range, claim ? 1 + int64_t{claimer} : 0);
    parts_[asked].begun = begun.ok();
    keep(status, begun);
  }
  for (const uint32_t asked : asked_) {
    if (!std::exchange(parts_[asked].begun, false)) continue;
    keep(status, remote(asked)->end());
    if (status.ok()) status = take_owners(asked, range);
  }
  return status;
}

// Takes a home's answer.
Status JobFile::take_owners(uint32_t asked, const Extent& range) {
  const Status senseless{Code::network, EPROTO, -1};
  const uint32_t home = asked == domains_.owners() ? self_ : asked;
  std::span<const std::byte> answer = remote(asked)->answer();
  for (int64_t at = range.offset; at < range.end(); at = domains_.same_owner_at(at).end()) {
    if (domains_.owner_of(at) != home) continue;
    uint32_t owner = 0;
    if (answer.size() < sizeof owner) return senseless;
    std::memcpy(&owner, answer.data(), sizeof owner);
    answer = answer.subspan(sizeof owner);
    if (owner == Owners::none) continue;
    if (owner >= domains_.owners()) return senseless;
    known_owners_.try_emplace(domains_.chunk_of(at), owner);
  }
  return answer.empty() ? Status() : senseless;
}

// Beside accesses --------------------------------------------------------------------------------

bool JobFile::nothing_held() const {
  return past_caches_ && !first_touch_ && self_ != Owners::none && here_.held() == Held::nothing;
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

// Asks all other owners at once. `most`: receives the largest value of their answers. `refusal`:
// receives the failure of an owner that was reached.
Status JobFile::ask_others(Ask ask, int64_t value, int64_t* most, Status* refusal) {
  Status status;
  if (left_) return status;
  const auto keep_failure = [&](const Status& failure) {
    keep(status, failure);
    const bool reached = failure.code != Code::network && failure.code != Code::node_lost;
    if (refusal != nullptr && reached) keep(*refusal, failure);
  };
  asked_.clear();
  for (uint32_t owner = 0; owner < domains_.owners(); ++owner) {
    if (remote(owner) != nullptr) asked_.push_back(owner);
  }
  put_in_order(asked_);
  for (const uint32_t owner : asked_) {
    const Status begun = remote(owner)->begin(ask, value);
    parts_[owner].begun = begun.ok();
    keep_failure(begun);
  }
  for (const uint32_t owner : asked_) {
    if (!std::exchange(parts_[owner].begun, false)) continue;
    int64_t answer = 0;
    keep_failure(remote(owner)->end(&answer));
    if (most != nullptr) *most = std::max(*most, answer);
  }
  return status;
}

// Asks those other nodes that own bytes of the range, all at once. With `claim` this node becomes
// the owner where there is none.
Status JobFile::ask_owners(Ask ask, const Extent& range, bool claim) {
  Status status = first_touch_ ? learn_owners(range, claim) : Status();
  if (!status.ok()) return status;
  asked_.clear();
  for (int64_t at = range.offset; at < range.end() && asked_.size() < domains_.owners();
       at = domains_.same_owner_at(at).end()) {
    const std::optional<uint32_t> owner = owner_of(at);
    if (!owner || std::ranges::find(asked_, *owner) != asked_.end()) continue;
    asked_.push_back(*owner);
  }
  put_in_order(asked_);
  for (const uint32_t owner : asked_) {
    if (owner == self_) continue;
    const Status begun = remote(owner)->begin(ask, range);
    parts_[owner].begun = begun.ok();
    keep(status, begun);
  }
  for (const uint32_t owner : asked_) {
    if (owner != self_ && std::exchange(parts_[owner].begun, false))
      keep(status, remote(owner)->end());
  }
  return status;
}

Status JobFile::size(int64_t* bytes) {
  const Status status = here_.size(bytes);
  if (only_read() || nothing_held()) return status;
  return status.ok() ? within_memory([&] { return ask_others(Ask::size, 0, bytes); }) : status;
}

Status JobFile::commit_everywhere(bool forget) {
  Status status = here_.commit();
  if (forget) here_.drop_clean();
  keep(status, within_memory([&] { return ask_others(forget ? Ask::settle : Ask::commit); }));
  return status;
}

Status JobFile::flush_everywhere() {
  Status status = here_.flush_storage();
  keep(status, within_memory([&] { return ask_others(Ask::flush); }));
  return status;
}

void JobFile::truncate_everywhere(int64_t bytes) {
  here_.truncate_cache(bytes);
  (void)within_memory([&] { return ask_others(Ask::truncate, bytes); });
}

void JobFile::forget_everywhere() {
  here_.drop_clean();
  here_.note_own_change();
  (void)within_memory([&] { return ask_others(Ask::forget); });
}

void JobFile::read_from_owners(bool kept) {
  if (!only_read() || first_touch_ || domains_.owners() == 1) return;
  const Owners owners = *Owners::decoded(terms_->owners);
  FileTerms terms = *terms_;
  terms.mode = runtime::OpenMode::read_only;
  source_ = std::make_unique<OwnersSource>(
      here_, owners, self_, std::make_shared<const FileTerms>(std::move(terms)), kept);
  owners_kept_pages_ = kept;
  here_.read_from(source_.get(), kept, domains_);
  if (kept) fetch_ahead();
}

Status JobFile::leave(bool discard) {
  if (std::exchange(left_, true)) return {};
  Status status;
  if (source_ != nullptr) {
    here_.read_from(nullptr);
    source_->leave();
  }
  for (const std::unique_ptr<RemoteFile>& remote : remotes_) {
    if (remote == nullptr || !remote->is_open()) continue;
    Status closed = remote->begin(Ask::close, discard ? 1 : 0);
    if (closed.ok()) closed = remote->end();
    keep(status, closed);
  }
  return status;
}

void JobFile::exchange_over(OwnersExchange* exchange) {
  if (exchange_ != nullptr) storage_bytes_for_others_ = exchange_->storage_bytes_for_others();
  exchange_ = first_touch_ ? nullptr : exchange;
}

std::vector<int64_t> JobFile::bytes_by_owner() const {
  std::vector<int64_t> bytes(bytes_of_others_.begin(), bytes_of_others_.end() - 1);
  if (self_ == Owners::none) return bytes;
  const int64_t elsewhere = asked_bytes_ + exchanged_bytes_ + here_.statistics().bypass_bytes;
  bytes[self_] = std::max<int64_t>(bytes_[0] + bytes_[1] - elsewhere, 0);
  return bytes;
}

Statistics JobFile::statistics() const {
  Statistics sum = here_.statistics();
  const int64_t read_here = sum.read_storage_bytes;
  for (const std::unique_ptr<RemoteFile>& remote : remotes_) {
    if (remote != nullptr) sum.add(remote->statistics());
  }
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
