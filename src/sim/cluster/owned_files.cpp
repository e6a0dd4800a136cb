#include "sim/cluster/owned_files.h"

#include <algorithm>
#include <cstdint>

#include "engine/rules.h"
#include "extent/layout.h"

namespace forebay::sim {
namespace {

constexpr int64_t question_bytes = 64, named_extent_bytes = 16;

// Carries out a part of an access in a cache.
void access_part(ClientNode::Handle& handle, bool writes, std::span<const Extent> extents,
                 int64_t bytes) {
  if (extents.size() == 1) {
    Access access;
    access.writes = writes;
    access.position = extents.front().offset;
    access.bytes = bytes;
    handle.access(access);
    return;
  }
  std::vector<int64_t> displacements, lengths;
  for (const Extent& extent : extents) {
    displacements.push_back(extent.offset);
    lengths.push_back(extent.length);
  }
  const Tiling view{
      Layout::indexed(std::move(displacements), std::move(lengths), 1, Layout::block(1)), 0,
      extents.back().end()};
  handle.access({writes, false, &view, 0, bytes});
}

}  // namespace

// A question of a process to the agent of an owner's node, or to a process there, and its answer.
// It lives with its asker.
class OwnedFiles::Question final : public Event {
 public:
  // `to`: null means the agent.
  Question(Handle& asker, uint32_t owner, Ask what, std::span<const Extent> of_extents,
           int64_t of_bytes, Handle* to = nullptr, std::span<const Extent> foretold_reads = {})
      : ask(what),
        asked_owner(owner),
        file(asker.file_),
        process(asker.process_),
        extents(of_extents),
        bytes(of_bytes),
        foretold(foretold_reads.begin(), foretold_reads.end()),
        files_(asker.files_),
        node_(asker.node_),
        asked_node_(files_.settings_.node_of_owner[owner]),
        to_(to),
        began_(files_.kernel_.now()),
        asker_(asker) {
    ++asker.unanswered_;
    if (to == nullptr) asker.open_[owner] = true;
    ++files_.counts_.questions;
    if (ask == Ask::write) files_.counts_.moved_bytes += bytes;
    files_.network_.send(node_, asked_node_,
                         question_bytes +
                             named_extent_bytes * (std::ssize(extents) + std::ssize(foretold)) +
                             (ask == Ask::write ? bytes : 0),
                         {this, asked});
  }
  void answer() {
    const int64_t answer_bytes = ask == Ask::read && !moved ? bytes : 0;
    files_.counts_.moved_bytes += answer_bytes;
    files_.network_.send(asked_node_, node_, question_bytes + answer_bytes, {this, answered});
  }
  void happen(uint64_t word) override {
    if (word == asked) return to_ == nullptr ? files_.take(asked_node_, *this) : to_->take(*this);
    files_.file_system_.waits().add(node_, asked_node_, Waiting::owner,
                                    files_.kernel_.now() - began_);
    --asker_.unanswered_;
    asker_.rouse();
  }

  const Ask ask;
  const uint32_t asked_owner;
  const uint64_t file;
  const uint32_t process;
  const std::span<const Extent> extents;
  const int64_t bytes;
  const std::vector<Extent> foretold;
  uint32_t claimer = 0;  // an owner, of Ask::claim
  bool moved = false;    // the answer: others own bytes of it

 private:
  enum : uint64_t { asked, answered };
  OwnedFiles& files_;
  const uint32_t node_, asked_node_;
  Handle* const to_;
  const Picoseconds began_;
  Handle& asker_;
};

// Agents -----------------------------------------------------------------------------------------

OwnedFiles::OwnedFiles(Kernel& kernel, Network& network, FileSystem& file_system,
                       std::span<const std::unique_ptr<ClientNode>> nodes,
                       const OwnedSettings& settings)
    : kernel_(kernel),
      network_(network),
      file_system_(file_system),
      nodes_(nodes),
      settings_(settings),
      agents_(nodes.size()) {}
OwnedFiles::~OwnedFiles() = default;

void OwnedFiles::take(uint32_t node, Question& question) {
  Agent& agent = agents_[node];
  agent.waiting.push_back(&question);
  if (agent.idle_workers > 0)
    agent.idle.wake_one();
  else
    agent.workers.push_back(std::make_unique<Process>(kernel_, [this, node] { work(node); }));
}

void OwnedFiles::work(uint32_t node) {
  Agent& agent = agents_[node];
  for (;;) {
    while (agent.waiting.empty() && !ends_) {
      ++agent.idle_workers;
      agent.idle.wait();
      --agent.idle_workers;
    }
    if (agent.waiting.empty()) return;
    Question& question = *agent.waiting.front();
    agent.waiting.pop_front();
    carry_out(node, question);
    question.answer();
  }
}

void OwnedFiles::open(uint32_t node, uint64_t file) {
  AgentFile& of_agent = agents_[node].files[file];
  if (of_agent.handles++ == 0) {
    file_system_.open(node, file);
    of_agent.opened = true;
    of_agent.opening.wake_all();
  }
  while (!of_agent.opened) of_agent.opening.wait();
}

void OwnedFiles::close(uint32_t node, uint64_t file) {
  const auto of_agent = agents_[node].files.find(file);
  if (--of_agent->second.handles > 0) return;
  agents_[node].files.erase(of_agent);
  file_system_.close(node, file);
}

void OwnedFiles::carry_out(uint32_t node, Question& question) {
  Agent& agent = agents_[node];
  auto& [handle, part] = agent.open[{question.process, question.file}];
  if (handle == nullptr) {
    open(node, question.file);
    handle = std::make_unique<ClientNode::Handle>(*nodes_[node], question.file, question.process,
                                                  ClientNode::Handle::Maker::agent);
    HandleRules rules = nodes_[node]->settings().handles;
    const FileDomains& domains = parts_.find(question.file)->second.domains;
    rules.read_ahead_bytes = domains.ahead(rules.read_ahead_bytes);
    part = std::make_shared<OwnPart>(OwnPart{domains, question.asked_owner});
    rules.part = part;
    handle->cached().change_rules(rules);
  }
  Process::current()->sleep(settings_.call_time);
  switch (question.ask) {
    case Ask::read:
    case Ask::write:
      question.moved = !may_serve(question, *part);
      if (!question.moved) move(*handle, question);
      if (!question.foretold.empty()) handle->cached().fetch_foretold(question.foretold);
      return;
    case Ask::owners:
      return;  // the asker looks at Parts::claims once the answer is there
    case Ask::claim:
      claim(question);
      return;
    case Ask::settle:
      handle->settle(question.extents.front());
      return;
    case Ask::close:
      handle->close_last_commits();
      agent.open.erase({question.process, question.file});
      close(node, question.file);
      return;
  }
}

void OwnedFiles::move(ClientNode::Handle& handle, const Question& question) {
  access_part(handle, question.ask == Ask::write, question.extents, question.bytes);
  Process::current()->sleep(time_of(question.bytes, settings_.copy_bytes_per_second));
}

bool OwnedFiles::may_serve(const Question& question, OwnPart& part) const {
  const Parts& parts = parts_.find(question.file)->second;
  if (!parts.domains.first_touch()) return true;
  return std::ranges::all_of(question.extents, [&](const Extent& extent) {
    for (int64_t at = extent.offset; at < extent.end(); at = parts.domains.chunk_at(at).end()) {
      const int64_t chunk = parts.domains.chunk_of(at);
      const auto claimed = parts.claims.find(chunk);
      if (claimed != parts.claims.end() && claimed->second != question.asked_owner) return false;
      part.chunks.insert(chunk);
    }
    return true;
  });
}

void OwnedFiles::claim(const Question& question) {
  Parts& parts = parts_.find(question.file)->second;
  const Extent& range = question.extents.front();
  for (int64_t at = range.offset; at < range.end(); at = parts.domains.chunk_at(at).end()) {
    if (parts.domains.owner_of(at) == question.asked_owner)
      parts.claims.try_emplace(parts.domains.chunk_of(at), question.claimer);
  }
}

void OwnedFiles::end_agents() {
  ends_ = true;
  for (Agent& agent : agents_) agent.idle.wake_all();
}

// Handles ----------------------------------------------------------------------------------------

OwnedFiles::Handle::Handle(OwnedFiles& files, uint32_t node, uint64_t file, uint32_t process,
                           bool written)
    : files_(files),
      of_all_(files.parts_.try_emplace(file, files.settings_).first->second),
      node_(node),
      file_(file),
      process_(process),
      written_(written),
      self_(static_cast<uint32_t>(std::ranges::find(files.settings_.node_of_owner, node) -
                                  files.settings_.node_of_owner.begin())),
      here_(*files.nodes_[node], file, process, ClientNode::Handle::Maker::owner),
      window_(files.settings_.domains.owners()),
      open_(files.settings_.domains.owners(), false),
      foretold_(files.settings_.domains.owners()),
      own_part_(std::make_shared<OwnPart>(OwnPart{of_all_.domains, self_})) {
  fetch_ahead();
}

// What another node owns is of no use here.
void OwnedFiles::Handle::fetch_ahead() {
  const FileDomains& domains = of_all_.domains;
  if (!written_ || domains == fetches_of_) return;
  close_at_agents();
  fetches_of_ = domains;
  known_.clear();
  foretold_.clear();
  HandleRules rules = files_.nodes_[node_]->settings().handles;
  own_part_ = std::make_shared<OwnPart>(OwnPart{domains, self_});
  rules.part = own_part_;
  here_.cached().change_rules(rules);
}

bool OwnedFiles::Handle::is_long(int64_t bytes) const {
  return !files_.file_system_.close_to_open() && past_caches(bytes);
}

int64_t OwnedFiles::Handle::find_long(const Extent& run, bool writes) {
  if (!past_caches(run.length)) return 0;
  if (!files_.file_system_.close_to_open() || !written_) return run.length;
  if (of_all_.domains.first_touch()) learn_owners(run, writes);
  const int64_t own = own_bytes_of(
      run, of_all_.domains, [this](int64_t at) { return owner_of(at).value_or(self_) == self_; });
  return past_caches(own) ? own : 0;
}

bool OwnedFiles::Handle::past_caches(int64_t bytes) const {
  const ClientCacheSettings& cache = files_.nodes_[node_]->settings();
  return bytes >= least_past(cache.handles.bypass_bytes, cache.shape.capacity_bytes);
}

void OwnedFiles::Handle::note_view(uint32_t view) {
  if (std::exchange(of_all_.view, view) != view && of_all_.changes) of_all_.changes->note_view();
}

bool OwnedFiles::Handle::change_parts(const Extent& region, int64_t bytes) {
  if (!of_all_.changes) return false;
  const std::optional<FileDomains> domains = of_all_.changes->change(region, bytes);
  if (!domains) return false;
  if (of_all_.used) {
    std::vector<uint32_t> others;
    for (uint32_t owner = 0; owner < open_.size(); ++owner) {
      if (!is_here(owner)) others.push_back(owner);
    }
    const Extent whole{0, INT64_MAX};
    settle(whole, others);
    here_.settle(whole);
  }
  of_all_.domains = *domains;
  of_all_.claims.clear();
  of_all_.changes->note_change(*domains);
  return true;
}

// An access, as its windows see the file.
struct OwnedFiles::Handle::Windowed {
  Handle& handle;
  bool writes;

  Status find_long(const Extent& run, int64_t* bytes) const {
    *bytes = handle.find_long(run, writes);
    return {};
  }
  Status find_owner(const Extent& run) const {
    if (writes && !handle.owner_of(run.offset)) handle.learn_owners(run, true);
    return {};
  }
  uint32_t whom_to_ask(int64_t offset) const { return handle.whom_to_ask(offset); }
  Extent same_owner_at(int64_t offset) const {
    return handle.of_all_.domains.same_owner_at(offset);
  }
  Status move_window(int64_t, int64_t* moved) {
    handle.ask_window(writes);
    while (handle.follow_moved()) {
      handle.window_.divide(*this);
      handle.ask_window(writes);
    }
    *moved = handle.window_.bytes();
    return {};
  }
  Status move_long(const Extent& run, int64_t, int64_t* moved) {
    handle.bypass(writes, run);
    *moved = run.length;
    return {};
  }
};

void OwnedFiles::Handle::access(const Access& access) {
  const bool is_long_run = access.view == nullptr && past_caches(access.bytes);
  if (!written_ && (is_long_run || !access.collective)) {
    here_.access(access);
    return;
  }
  foretell(access);
  Windowed windowed{*this, access.writes};
  int64_t ignored = 0;
  (void)window_.carry_out(windowed, access, window_bytes(access), &ignored);
}

void OwnedFiles::Handle::foretell(const Access& access) {
  if (access.writes || access.collective || access.view != nullptr || access.bytes == 0) return;
  const std::span<const Extent> next = here_.cached().note_read({access.position, access.bytes});
  if (!of_all_.domains.first_touch()) foretold_.add(next, of_all_.domains);
}

int64_t OwnedFiles::Handle::window_bytes(const Access& access) const {
  if (!access.collective) return most_window_bytes;
  const int64_t owners = of_all_.domains.owners_of_bytes();
  const int64_t asking = exchange_ != nullptr
                             ? (std::ssize(exchange_->members_) + owners - 1) / owners
                             : here_.file().state().handles.load();
  return collective_window_bytes(here_.pace_bytes(), asking,
                                 files_.nodes_[node_]->cache().page_size());
}

std::optional<uint32_t> OwnedFiles::Handle::owner_of(int64_t offset) const {
  if (!of_all_.domains.first_touch()) return of_all_.domains.owner_of(offset);
  // The node's own agent tells at once.
  const auto& claims = is_here(of_all_.domains.owner_of(offset)) ? of_all_.claims : known_;
  const auto known = claims.find(of_all_.domains.chunk_of(offset));
  if (known == claims.end()) return std::nullopt;
  return known->second;
}

uint32_t OwnedFiles::Handle::whom_to_ask(int64_t offset) const {
  return owner_of(offset).value_or(of_all_.domains.owner_of(offset));
}

void OwnedFiles::Handle::learn_owners(const Extent& range, bool claims) {
  const FileDomains& domains = of_all_.domains;
  std::deque<Question> questions;
  std::vector<bool> asked(domains.owners(), false);
  for (int64_t at = range.offset; at < range.end(); at = domains.chunk_at(at).end()) {
    const uint32_t home = domains.owner_of(at);
    if (owner_of(at) || asked[home]) continue;
    if (is_here(home)) {
      if (claims) of_all_.claims.try_emplace(domains.chunk_of(at), self_);
      continue;
    }
    asked[home] = true;
    questions.emplace_back(*this, home, claims ? Ask::claim : Ask::owners, std::span(&range, 1), 0);
    // A node that is none of the owners leaves a chunk to its home.
    questions.back().claimer = self_ < domains.owners() ? self_ : home;
  }
  wait_for_answers();
  for (int64_t at = range.offset; at < range.end(); at = domains.chunk_at(at).end()) {
    const auto claimed = of_all_.claims.find(domains.chunk_of(at));
    if (claimed == of_all_.claims.end()) continue;
    if (asked[domains.owner_of(at)]) known_.insert(*claimed);
    if (claimed->second == self_) own_part_->chunks.insert(claimed->first);
  }
}

// Asks all owners of the window at once.
void OwnedFiles::Handle::ask_window(bool writes) {
  of_all_.used = true;
  moved_.clear();
  const bool exchanges = exchange_ != nullptr && !of_all_.domains.first_touch();
  std::deque<Question> questions;
  std::ranges::sort(window_.asked(), {}, [this](uint32_t owner) {
    return place_among_asked(owner, self_, of_all_.domains.owners());
  });
  for (const uint32_t owner : window_.asked()) {
    if (is_here(owner)) continue;
    const auto& [extents, bytes] = window_.part(owner);
    Handle* const to = exchanges ? exchange_->asked_by(rank_, owner) : nullptr;
    const std::span<const Extent> foretold =
        writes || exchanges ? std::span<const Extent>() : foretold_.take(owner);
    questions.emplace_back(*this, owner, writes ? Ask::write : Ask::read, extents, bytes, to,
                           foretold);
  }
  for (const uint32_t owner : window_.asked()) {
    const auto& [extents, bytes] = window_.part(owner);
    if (is_here(owner)) access_part(here_, writes, extents, bytes);
  }
  wait_for_answers();
  for (const Question& question : questions)
    if (question.moved) moved_.push_back(question.asked_owner);
}

bool OwnedFiles::Handle::follow_moved() {
  if (moved_.empty()) return false;
  for (const OwnerWindow::Piece& piece : window_.pieces()) {
    const bool moved = std::ranges::find(moved_, piece.asked) != moved_.end();
    if (moved && !owner_of(piece.extent.offset)) learn_owners(piece.extent, false);
  }
  return true;
}

// The owners hand to storage what they hold of the range.
void OwnedFiles::Handle::settle(const Extent& range, const std::vector<uint32_t>& owners) {
  std::deque<Question> questions;
  for (const uint32_t owner : owners)
    questions.emplace_back(*this, owner, Ask::settle, std::span(&range, 1), 0);
  wait_for_answers();
}

// A file that only long runs reach needs no questions.
void OwnedFiles::Handle::bypass(bool writes, Extent run) {
  const FileDomains& domains = of_all_.domains;
  if (files_.file_system_.close_to_open())
    return access_part(here_, writes, {&run, 1}, run.length);  // this node owns it
  if (writes && domains.first_touch()) learn_owners(run, true);
  std::vector<uint32_t> owners;
  for (int64_t at = run.offset; at < run.end() && owners.size() < domains.owners();
       at = domains.same_owner_at(at).end()) {
    const uint32_t owner = whom_to_ask(at);
    if (!is_here(owner) && std::ranges::find(owners, owner) == owners.end())
      owners.push_back(owner);
  }
  const bool asks = of_all_.used;
  if (asks) settle(run, owners);
  access_part(here_, writes, {&run, 1}, run.length);
  if (writes && (asks || of_all_.used)) settle(run, owners);
}

void OwnedFiles::Handle::close_at_agents() {
  std::deque<Question> questions;
  for (uint32_t owner = 0; owner < open_.size(); ++owner) {
    if (open_[owner])
      questions.emplace_back(*this, owner, Ask::close, std::span<const Extent>(), 0);
    open_[owner] = false;
  }
  wait_for_answers();
}

void OwnedFiles::Handle::close() {
  close_at_agents();
  here_.close_last_commits();
}

// Waiting and answering ---------------------------------------------------------------------------

void OwnedFiles::Handle::take(Question& question) {
  asked_.push_back(&question);
  rouse();
}

void OwnedFiles::Handle::rouse() {
  if (sleeping_ != nullptr) std::exchange(sleeping_, nullptr)->wake();
}

template <typename Done>
void OwnedFiles::Handle::serve_until(Done done) {
  while (!done()) {
    if (asked_.empty()) {
      sleeping_ = Process::current();
      sleeping_->wait();
      continue;
    }
    Question& question = *asked_.front();
    asked_.pop_front();
    Process::current()->sleep(files_.settings_.call_time);
    files_.move(here_, question);
    question.answer();
  }
}

void OwnedFiles::Handle::wait_for_answers() {
  serve_until([this] { return unanswered_ == 0; });
}

void OwnedFiles::Handle::access(const Access& access, Exchange& exchange, std::size_t rank) {
  exchange_ = &exchange;
  rank_ = rank;
  fetch_ahead();  // of other parts, if they have changed
  this->access(access);
  exchange_ = nullptr;
  exchange.end_part();
  serve_until([&exchange] { return exchange.ended_ == exchange.members_.size(); });
}

OwnedFiles::Exchange::Exchange(std::span<Handle* const> members)
    : members_(members.begin(), members.end()), of_owner_(members.front()->open_.size()) {
  for (uint32_t owner = 0; owner < of_owner_.size(); ++owner) {
    for (Handle* const member : members_)
      if (member->is_here(owner)) of_owner_[owner].push_back(member);
  }
}

// Those that ask one node are spread over its processes.
OwnedFiles::Handle* OwnedFiles::Exchange::asked_by(std::size_t rank, uint32_t owner) const {
  const std::vector<Handle*>& there = of_owner_[owner];
  return there.empty() ? nullptr : there[rank % there.size()];
}

void OwnedFiles::Exchange::end_part() {
  if (++ended_ < members_.size()) return;
  for (Handle* const member : members_) member->rouse();
}

}  // namespace forebay::sim
