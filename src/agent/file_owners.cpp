#include "agent/file_owners.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "agent/line.h"

namespace forebay::agent {

FileOwners::FileOwners(const Owners& owners, uint32_t self, FileTerms terms)
    : domains_(owners.domains),
      self_(self),
      own_part_(std::make_shared<OwnPart>(OwnPart{domains_, self})) {
  terms.owners = owners.encoded();
  terms_ = std::make_shared<const FileTerms>(std::move(terms));
  const auto at = [&](const Address& agent) {
    return std::make_unique<RemoteFile>(Lines::of_process().to(agent), terms_);
  };
  for (uint32_t owner = 0; owner < owners.agents.size(); ++owner)
    agents_.push_back(owner == self ? nullptr : at(owners.agents[owner]));
  const bool keeps_records = by_first_touch() && self != Owners::none;
  agents_.push_back(keeps_records ? at(owners.agents[self]) : nullptr);
}

FileOwners::Next FileOwners::next(const FileDomains& domains) const {
  Owners other = owners();
  other.domains = domains;
  FileTerms terms = *terms_;
  terms.owners = other.encoded();
  return {domains, std::make_shared<const FileTerms>(std::move(terms)),
          std::make_shared<OwnPart>(OwnPart{domains, self_})};
}

// Agents know the owners' parts from when the file was opened there.
void FileOwners::change(const Next& next) {
  (void)within_memory([this] { return close(false); });
  domains_ = next.domains;
  known_.clear();
  terms_ = next.terms;
  own_part_ = next.own_part;
  for (const std::unique_ptr<RemoteFile>& agent : agents_) {
    if (agent != nullptr) agent->use(terms_);
  }
}

// Who owns what ----------------------------------------------------------------------------------

std::optional<uint32_t> FileOwners::owner_of(int64_t offset) const {
  if (!by_first_touch()) return domains_.owner_of(offset);
  const auto known = known_.find(domains_.chunk_of(offset));
  if (known == known_.end()) return std::nullopt;
  return known->second;
}

uint32_t FileOwners::whom_to_ask(int64_t offset) const {
  if (const std::optional<uint32_t> owner = owner_of(offset)) return *owner;
  const uint32_t home = domains_.owner_of(offset);
  return home == self_ ? domains_.owners() : home;
}

Status FileOwners::find_own(const Extent& range, bool writes, int64_t* bytes, bool* unowned) {
  const Status learnt = by_first_touch() ? learn(range, writes) : Status();
  *bytes = own_bytes_of(range, domains_, [&](int64_t at) {
    const std::optional<uint32_t> owner = owner_of(at);
    *unowned = *unowned || !owner;
    return owner.value_or(self_) == self_;
  });
  return learnt;
}

Status FileOwners::learn(const Extent& range, bool claim) {
  collect(range, [this](int64_t at) {
    return owner_of(at) ? std::nullopt : std::optional(whom_to_ask(at));
  });
  Status learnt;
  const Status asked = ask_each(
      [&](uint32_t home) {
        // A node that is none of the owners leaves a chunk to its home.
        const uint32_t claimer = self_ == Owners::none ? home : self_;
        return agent(home)->begin(Ask::owners, range, claim ? 1 + int64_t{claimer} : 0);
      },
      [&](uint32_t home) {
        const Status ended = agent(home)->end();
        if (ended.ok()) learnt.keep_first(take_owners(home, range));
        return ended;
      });
  return asked.ok() ? learnt : asked;
}

Status FileOwners::learn_moved(std::span<const OwnerWindow::Piece> pieces) {
  const std::size_t before = known_.size();
  std::vector<Extent> moved;
  for (const OwnerWindow::Piece& piece : pieces) {
    if (piece.asked != self_ && agent(piece.asked)->moved()) moved.push_back(piece.extent);
  }
  for (const Extent& extent : moved) {
    if (owner_of(extent.offset)) continue;
    if (const Status learnt = learn(extent, false); !learnt.ok()) return learnt;
  }
  return known_.size() > before ? Status() : Status{Code::network, EPROTO, -1};
}

// Takes a home's answer.
Status FileOwners::take_owners(uint32_t asked, const Extent& range) {
  const Status senseless{Code::network, EPROTO, -1};
  const uint32_t home = asked == domains_.owners() ? self_ : asked;
  std::span<const std::byte> answer = agent(asked)->answer();
  for (int64_t at = range.offset; at < range.end(); at = domains_.same_owner_at(at).end()) {
    if (domains_.owner_of(at) != home) continue;
    uint32_t owner = 0;
    if (answer.size() < sizeof owner) return senseless;
    std::memcpy(&owner, answer.data(), sizeof owner);
    answer = answer.subspan(sizeof owner);
    if (owner == Owners::none) continue;
    if (owner >= domains_.owners()) return senseless;
    known_.try_emplace(domains_.chunk_of(at), owner);
    if (owner == self_) own_part_->chunks.insert(domains_.chunk_of(at));
  }
  return answer.empty() ? Status() : senseless;
}

// Questions --------------------------------------------------------------------------------------

// Asks those in asked_ at once, as their lines have to be taken. Returns the first failure.
template <typename Begin, typename End>
Status FileOwners::ask_each(Begin begin, End end) {
  std::ranges::sort(asked_, [this](uint32_t one, uint32_t other) {
    return agents_[one]->before(*agents_[other]);
  });
  Status status;
  std::size_t begun = 0;
  for (const uint32_t asked : asked_) {
    const Status beginning = begin(asked);
    status.keep_first(beginning);
    if (beginning.ok()) asked_[begun++] = asked;
  }
  asked_.resize(begun);
  for (const uint32_t asked : asked_) status.keep_first(end(asked));
  return status;
}

// Puts into asked_ whom `wanted` names for the range's chunks; empty: nobody.
template <typename Wanted>
void FileOwners::collect(const Extent& range, Wanted wanted) {
  asked_.clear();
  for (int64_t at = range.offset; at < range.end() && asked_.size() < domains_.owners();
       at = domains_.same_owner_at(at).end()) {
    const std::optional<uint32_t> asked = wanted(at);
    if (asked && std::ranges::find(asked_, *asked) == asked_.end()) asked_.push_back(*asked);
  }
}

Status FileOwners::ask_all(Ask ask, int64_t value, int64_t* most, Status* refusal) {
  const auto told = [refusal](const Status& failure) {
    const bool reached = failure.code != Code::network && failure.code != Code::node_lost;
    if (refusal != nullptr && reached) refusal->keep_first(failure);
    return failure;
  };
  asked_.clear();
  for (uint32_t owner = 0; owner < domains_.owners(); ++owner) {
    if (agent(owner) != nullptr) asked_.push_back(owner);
  }
  return ask_each([&](uint32_t owner) { return told(agent(owner)->begin(ask, value)); },
                  [&](uint32_t owner) {
                    int64_t answer = 0;
                    const Status ended = agent(owner)->end(&answer);
                    if (most != nullptr) *most = std::max(*most, answer);
                    return told(ended);
                  });
}

Status FileOwners::ask_owners_of(const Extent& range, Ask ask, bool claim) {
  const Status learnt = by_first_touch() ? learn(range, claim) : Status();
  if (!learnt.ok()) return learnt;
  collect(range, [this](int64_t at) { return owner_of(at); });
  std::erase(asked_, self_);
  return ask_each([&](uint32_t owner) { return agent(owner)->begin(ask, range); },
                  [&](uint32_t owner) { return agent(owner)->end(); });
}

Status FileOwners::close(bool discard) {
  Status status;
  for (const std::unique_ptr<RemoteFile>& agent : agents_) {
    if (agent == nullptr || !agent->is_open()) continue;
    Status closed = agent->begin(Ask::close, discard ? 1 : 0);
    if (closed.ok()) closed = agent->end();
    status.keep_first(closed);
  }
  return status;
}

void FileOwners::add_statistics(Statistics* sum) const {
  for (const std::unique_ptr<RemoteFile>& agent : agents_) {
    if (agent != nullptr) sum->add(agent->statistics());
  }
}

void FileOwners::release_memory() {
  for (const std::unique_ptr<RemoteFile>& agent : agents_) {
    if (agent != nullptr) agent->release_memory();
  }
}

}  // namespace forebay::agent
