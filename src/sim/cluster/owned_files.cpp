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

// What lies behind a chunk is of no use to its owner.
void fetch_ahead_for_owner(ClientNode::Handle& handle, HandleRules rules,
                           const FileDomains& domains) {
  rules.read_ahead_bytes = domains.ahead(rules.read_ahead_bytes);
  handle.cached().change_rules(rules);
}

}  // namespace

// A question of a process to an agent, and its answer. It lives with its asker.
class OwnedFiles::Question final : public Event {
 public:
  Question(OwnedFiles& files, uint32_t node, uint32_t owner, Ask what, uint64_t of_file,
           uint32_t of_process, std::span<const Extent> of_extents, int64_t of_bytes,
           Countdown& all_answered)
      : ask(what),
        file(of_file),
        process(of_process),
        extents(of_extents),
        bytes(of_bytes),
        files_(files),
        node_(node),
        agent_(files.settings_.node_of_owner[owner]),
        began_(files.kernel_.now()),
        answered_(all_answered) {
    answered_.expect(1);
    ++files_.counts_.questions;
    if (ask == Ask::read || ask == Ask::write) files_.counts_.moved_bytes += bytes;
    files_.network_.send(
        node_, agent_,
        question_bytes + named_extent_bytes * std::ssize(extents) + (ask == Ask::write ? bytes : 0),
        {this, asked});
  }
  void answer() {
    files_.network_.send(agent_, node_, question_bytes + (ask == Ask::read ? bytes : 0),
                         {this, answered});
  }
  void happen(uint64_t word) override {
    if (word == asked) return files_.take(agent_, *this);
    files_.file_system_.waits().add(node_, agent_, Waiting::owner, files_.kernel_.now() - began_);
    answered_.happen(0);
  }

  const Ask ask;
  const uint64_t file;
  const uint32_t process;
  const std::span<const Extent> extents;
  const int64_t bytes;

 private:
  enum : uint64_t { asked, answered };
  OwnedFiles& files_;
  const uint32_t node_, agent_;
  const Picoseconds began_;
  Countdown& answered_;
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

void OwnedFiles::carry_out(uint32_t node, Question& question) {
  Agent& agent = agents_[node];
  auto& handle = agent.open[{question.process, question.file}];
  if (handle == nullptr) {
    file_system_.open(node, question.file);
    handle = std::make_unique<ClientNode::Handle>(*nodes_[node], question.file, question.process);
    fetch_ahead_for_owner(*handle, nodes_[node]->settings().handles,
                          parts_.find(question.file)->second.domains);
  }
  Process::current()->sleep(settings_.call_time);
  switch (question.ask) {
    case Ask::read:
    case Ask::write:
      access_part(*handle, question.ask == Ask::write, question.extents, question.bytes);
      Process::current()->sleep(time_of(question.bytes, settings_.copy_bytes_per_second));
      return;
    case Ask::settle:
      handle->settle(question.extents.front());
      return;
    case Ask::close:
      handle->close_last_commits();
      agent.open.erase({question.process, question.file});
      file_system_.close(node, question.file);
      return;
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
      of_all_(files.parts_
                  .try_emplace(file, Parts{files.settings_.domains, files.settings_.region_parts})
                  .first->second),
      node_(node),
      file_(file),
      process_(process),
      written_(written),
      here_(*files.nodes_[node], file, process),
      window_(files.settings_.domains.owners()),
      open_(files.settings_.domains.owners(), false) {
  if (written)
    fetch_ahead_for_owner(here_, files.nodes_[node]->settings().handles, of_all_.domains);
}

bool OwnedFiles::Handle::is_long(int64_t bytes) const {
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
  of_all_.changes->note_change(*domains);
  return true;
}

// An access, as its windows see the file.
struct OwnedFiles::Handle::Windowed {
  Handle& handle;
  bool writes;

  bool is_long(int64_t bytes) const { return handle.is_long(bytes); }
  Status find_owner(const Extent&) const { return {}; }
  uint32_t whom_to_ask(int64_t offset) const { return handle.of_all_.domains.owner_of(offset); }
  Extent same_owner_at(int64_t offset) const {
    return handle.of_all_.domains.same_owner_at(offset);
  }
  Status move_window(int64_t, int64_t* moved) {
    handle.move(writes);
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
  const bool is_long_run = access.view == nullptr && is_long(access.bytes);
  if (!written_ && (is_long_run || !access.collective)) {
    here_.access(access);
    return;
  }
  Windowed windowed{*this, access.writes};
  const int64_t window_bytes =
      access.collective ? collective_window_bytes(here_.pace_bytes(), here_.file().state().handles,
                                                  files_.nodes_[node_]->cache().page_size())
                        : most_window_bytes;
  int64_t ignored = 0;
  (void)window_.carry_out(windowed, access, window_bytes, &ignored);
}

// Carries out the window, with all its owners at once.
void OwnedFiles::Handle::move(bool writes) {
  of_all_.used = true;
  Countdown answered;
  std::deque<Question> questions;
  for (const uint32_t owner : window_.asked()) {
    if (is_here(owner)) continue;
    const auto& [extents, bytes] = window_.part(owner);
    open_[owner] = true;
    questions.emplace_back(files_, node_, owner, writes ? Ask::write : Ask::read, file_, process_,
                           extents, bytes, answered);
  }
  for (const uint32_t owner : window_.asked()) {
    const auto& [extents, bytes] = window_.part(owner);
    if (is_here(owner)) access_part(here_, writes, extents, bytes);
  }
  answered.wait();
}

// The owners hand to storage what they hold of the range.
void OwnedFiles::Handle::settle(const Extent& range, const std::vector<uint32_t>& owners) {
  Countdown answered;
  std::deque<Question> questions;
  for (const uint32_t owner : owners) {
    open_[owner] = true;
    questions.emplace_back(files_, node_, owner, Ask::settle, file_, process_, std::span(&range, 1),
                           0, answered);
  }
  answered.wait();
}

// A file that only long runs reach needs no questions.
void OwnedFiles::Handle::bypass(bool writes, Extent run) {
  const FileDomains& domains = of_all_.domains;
  std::vector<uint32_t> owners;
  for (int64_t at = run.offset; at < run.end() && owners.size() < domains.owners();
       at = domains.same_owner_at(at).end()) {
    const uint32_t owner = domains.owner_of(at);
    if (!is_here(owner) && std::ranges::find(owners, owner) == owners.end())
      owners.push_back(owner);
  }
  const bool asks = of_all_.used;
  if (asks) settle(run, owners);
  access_part(here_, writes, {&run, 1}, run.length);
  if (writes && (asks || of_all_.used)) settle(run, owners);
}

void OwnedFiles::Handle::close() {
  Countdown answered;
  std::deque<Question> questions;
  for (uint32_t owner = 0; owner < open_.size(); ++owner) {
    if (open_[owner])
      questions.emplace_back(files_, node_, owner, Ask::close, file_, process_,
                             std::span<const Extent>(), 0, answered);
  }
  answered.wait();
  here_.close_last_commits();
}

}  // namespace forebay::sim
