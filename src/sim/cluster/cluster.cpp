#include "sim/cluster/cluster.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "sim/cluster/recorded_order.h"
#include "sim/cluster/series.h"

namespace forebay::sim {
namespace {

uint32_t nodes_of(const ClusterSettings& settings) {
  uint32_t nodes = 1;
  for (const uint32_t node : settings.node_of_process) nodes = std::max(nodes, node + 1);
  return nodes;
}

// The accesses of one process are spread over the log. So each comes from memory, and takes longer
// than an event, unless the processor's cache was told of it before.
void fetch_early(const DataAccess& access) {
  __builtin_prefetch(&access);
  __builtin_prefetch(&access.writes);
}

class Cluster {
 public:
  Cluster(const AccessLog& log, const ClusterSettings& settings, Progress& progress)
      : log_(log),
        settings_(settings),
        progress_(progress),
        nodes_(nodes_of(settings)),
        processes_(log.processes()),
        // One host more for metadata.
        network_(kernel_, settings.network, nodes_ + settings.servers + 1),
        servers_(kernel_, settings),
        file_system_(made_file_system(kernel_, network_, settings, nodes_, servers_.storages())),
        calls_(log, settings.collective, settings.union_window_ns, settings.message,
               settings.node_of_process, file_system_->waits()),
        two_phase_(network_, *file_system_, calls_, log, settings.two_phase,
                   settings.node_of_process) {
    if (settings.waits) file_system_->waits().keep();
    find_files();
    if (settings.steps != nullptr) {
      order_.emplace(*settings.steps);
      files_.resize(std::max(files_.size(), order_->files()));
      processes_ = std::max(processes_, order_->processes());
      find_recorded_sizes();
    } else {
      sort_by_process();
    }
    place_files();
    if (settings.caching != Caching::none) make_caches();
    if (settings.caching == Caching::job && nodes_ > 1)
      owned_.emplace(kernel_, network_, *file_system_, caches_, owned_settings());
  }

  ClusterResult run();

 private:
  struct File {
    bool known = false;
    bool exists = false;  // before the job: its first access reads it
    int64_t read_end = 0;
    bool created = false;
    bool written = false;  // by any access of the job
  };

  struct OpenFile {
    uint32_t file = 0;
    // Null without a cache; the second one if its bytes have owners.
    std::unique_ptr<ClientNode::Handle> cached;
    std::unique_ptr<OwnedFiles::Handle> owned;
  };

  // One process of the job, while it runs.
  struct Job {
    uint32_t process = 0;
    uint32_t node = 0;
    ClientNode* cache = nullptr;
    std::map<uint32_t, OpenFile> open;  // by the log's number of the handle
    // What agents have open for it in other nodes' caches, by that number and the node.
    std::map<std::pair<uint32_t, uint32_t>, std::unique_ptr<ClientNode::Handle>> at_agents;
    std::vector<Extent> extents;  // of the access under way
    ProcessTimes times;
  };

  void sort_by_process();
  void find_files();
  void find_recorded_sizes();
  void place_files();
  void make_caches();
  uint32_t owners() const;
  std::optional<RegionParts> region_parts() const;
  DomainFacts domain_facts() const;
  FileDomains domains() const;
  bool change_parts(const OpenFile& file, const CollectiveCall& call) const;
  std::shared_ptr<OwnedFiles::Exchange> exchange_of(const CollectiveCall& call) const;
  OwnedSettings owned_settings() const;
  void end_job();
  void read_counters(std::vector<int64_t>& counters) const;
  void live(Job& job);
  void live_again(Job& job);
  Doing ask(Job& job, const RecordedOrder::Turn& turn, const RecordedStep& step);
  static Doing doing(const RecordedStep& step);
  Doing take(Job& job, const RecordedOrder::Turn& turn, const RecordedStep& step);
  void close_all(Job& job);
  // The process has done something since `began`, to the file, or no_file.
  void spend(Job& job, Doing doing, Picoseconds began, uint32_t file, int64_t bytes = 0);
  void think(Job& job, int64_t from_ns, int64_t to_ns);
  OpenFile& open_file(Job& job, uint32_t handle, uint32_t file);
  OpenFile& opened(Job& job, const DataAccess& access);
  void straight(Job& job, uint32_t file, const forebay::Access& access);
  void cached(const OpenFile& file, uint32_t number);
  forebay::Access access_of(const DataAccess& access) const;

  const AccessLog& log_;
  const ClusterSettings& settings_;
  Progress& progress_;
  uint32_t nodes_;
  uint32_t processes_;
  Kernel kernel_;
  Network network_;
  Servers servers_;
  std::unique_ptr<FileSystem> file_system_;
  CollectiveCalls calls_;
  TwoPhase two_phase_;
  std::vector<std::vector<uint32_t>> accesses_;  // by process: the numbers of its accesses
  std::vector<File> files_;
  std::vector<std::unique_ptr<ClientNode>> caches_;
  std::optional<OwnedFiles> owned_;
  std::vector<Job> jobs_;   // by process
  std::size_t living_ = 0;  // of them
  std::vector<Span> timeline_;
  std::vector<uint32_t> users_;  // of each cache, that have not ended
  std::optional<RecordedOrder> order_;
};

void Cluster::sort_by_process() {
  accesses_.resize(log_.processes());
  const std::span<const DataAccess> accesses = log_.accesses();
  for (std::size_t a = 0; a < accesses.size(); ++a)
    accesses_[accesses[a].process].push_back(static_cast<uint32_t>(a));
}

// A file whose first access reads it was there before, with all bytes that are read.
void Cluster::find_files() {
  for (const DataAccess& access : log_.accesses()) {
    if (access.file >= files_.size()) files_.resize(access.file + 1);
    File& file = files_[access.file];
    if (!std::exchange(file.known, true)) file.exists = !access.writes;
    if (!access.writes) file.read_end = std::max(file.read_end, access.end);
    file.written = file.written || access.writes;
  }
}

// What the first process that joined a file saw.
void Cluster::find_recorded_sizes() {
  const RecordedSteps& steps = order_->steps();
  std::map<int32_t, int64_t> first_ns;  // by file
  for (const RecordedSteps::Cache& cache : steps.caches()) {
    for (const std::size_t row : cache.rows) {
      const RecordedStep step = steps.at(row);
      if (step.kind != RecordedStep::Kind::join) continue;
      const int64_t start_ns = steps.table().start_ns[row];
      const auto [known, first] = first_ns.try_emplace(step.file, start_ns);
      if (!first && known->second <= start_ns) continue;
      known->second = start_ns;
      File& file = files_[static_cast<std::size_t>(step.file)];
      file.exists = step.argument > 0;
      file.read_end = step.argument;
    }
  }
}

void Cluster::place_files() {
  for (std::size_t f = 0; f < files_.size(); ++f) {
    if (files_[f].exists) file_system_->place(f, files_[f].read_end);
    files_[f].created = files_[f].exists;
  }
}

void Cluster::make_caches() {
  const bool shared = settings_.caching != Caching::process;
  std::vector<uint32_t> ranks(nodes_, 0);
  for (const uint32_t node : settings_.node_of_process) ++ranks[node];
  std::vector<int64_t> shares(ranks.begin(), ranks.end());
  if (order_ && shared) {
    for (const RecordedSteps::Cache& cache : order_->steps().caches())
      shares[settings_.node_of_process[cache.processes.front()]] = cache.ranks;
  }
  const auto add = [&](uint32_t node, uint32_t processes) {
    ClientCacheSettings cache = settings_.cache;
    if (shared) cache.shape.capacity_bytes *= std::max<int64_t>(shares[node], 1);
    caches_.push_back(std::make_unique<ClientNode>(kernel_, *file_system_, node, cache));
    users_.push_back(processes);
  };
  if (shared) {
    for (uint32_t node = 0; node < nodes_; ++node) add(node, ranks[node]);
  } else {
    for (uint32_t process = 0; process < processes_; ++process)
      add(settings_.node_of_process[process], 1);
  }
}

uint32_t Cluster::owners() const {
  return settings_.owners > 0 ? std::min(settings_.owners, nodes_) : nodes_;
}

DomainFacts Cluster::domain_facts() const {
  DomainFacts facts;
  facts.nodes = owners();
  facts.include_page(settings_.cache.shape.page_size);
  facts.chunk_bytes = settings_.chunk_bytes;
  // Programs know the stripes of Lustre. Elsewhere nothing but what the user asks for goes by them.
  const Striping stripes = file_system_->striping();
  if (stripes.locks || settings_.assignment == find_assignment("stripe")) {
    facts.stripe_bytes = stripes.bytes;
    facts.servers = stripes.servers;
  }
  facts.close_to_open = file_system_->close_to_open() && !settings_.cache.handles.deterministic;
  for (const File& file : files_) facts.file_bytes = std::max(facts.file_bytes, file.read_end);
  return facts;
}

std::optional<RegionParts> Cluster::region_parts() const {
  const bool anew = settings_.assignment == find_assignment("dynamic");
  if (settings_.assignment != find_assignment("region") && !anew) return std::nullopt;
  return RegionParts(domain_facts(), anew);
}

FileDomains Cluster::domains() const {
  if (const std::optional<RegionParts> parts = region_parts()) return parts->now();
  return settings_.assignment->assign(domain_facts());
}

OwnedSettings Cluster::owned_settings() const {
  OwnedSettings owned;
  owned.domains = domains();
  owned.region_parts = region_parts();
  owned.call_time = settings_.call_time;
  owned.copy_bytes_per_second = settings_.copy_bytes_per_second;
  for (uint32_t owner = 0; owner < owners(); ++owner)
    owned.node_of_owner.push_back(static_cast<uint32_t>(uint64_t{owner} * nodes_ / owners()));
  return owned;
}

ClusterResult Cluster::run() {
  jobs_.resize(processes_);
  std::vector<std::unique_ptr<Process>> processes;
  for (uint32_t p = 0; p < processes_; ++p) {
    Job& job = jobs_[p];
    job.process = p;
    job.node = settings_.node_of_process[p];
    const uint32_t cache = settings_.caching == Caching::process ? p : job.node;
    if (!caches_.empty()) job.cache = caches_[cache].get();
    processes.push_back(std::make_unique<Process>(kernel_, [this, &job, cache] {
      if (order_)
        live_again(job);
      else
        live(job);
      --living_;
      if (owned_) return end_job();
      if (job.cache != nullptr && --users_[cache] == 0) job.cache->end_background();
    }));
  }
  living_ = processes.size();
  Series series(kernel_, [this](std::vector<int64_t>& counters) { read_counters(counters); });
  if (settings_.series) series.begin();
  do {
    kernel_.run();
  } while (calls_.go_without());
  if (settings_.series) series.end();
  for (const auto& process : processes) {
    if (process->failure() != nullptr) std::rethrow_exception(process->failure());
  }

  ClusterResult result;
  for (const Job& job : jobs_) {
    result.processes.push_back(job.times);
    result.run_time = std::max(result.run_time, job.times.end);
  }
  for (const DataAccess& access : log_.accesses())
    (access.writes ? result.written_bytes : result.read_bytes) += access.bytes;
  result.timeline = std::move(timeline_);
  if (settings_.series)
    result.series = {settings_.servers, nodes_ + settings_.servers + 1, series.times(),
                     series.counters()};
  result.accesses = std::ssize(log_.accesses());
  for (const auto& cache : caches_) result.caches.add(cache->statistics());
  result.cache_count = static_cast<uint32_t>(caches_.size());
  result.requests = file_system_->requests();
  result.locks = file_system_->locks();
  result.two_phase = two_phase_.counts();
  result.calls_without_some = calls_.without_some();
  if (owned_) result.owned = owned_->counts();
  result.network = network_.counts();
  for (uint32_t s = 0; s < settings_.servers; ++s) {
    result.servers.push_back(file_system_->counts(s));
    result.devices.push_back(servers_.devices()[s]->counts());
  }
  result.waits = file_system_->waits();
  result.hosts = nodes_ + settings_.servers + 1;
  result.events = kernel_.happened();
  return result;
}

void Cluster::read_counters(std::vector<int64_t>& counters) const {
  for (uint32_t s = 0; s < settings_.servers; ++s) {
    counters.push_back(file_system_->worked(s));
    counters.push_back(file_system_->waiting(s));
  }
  for (const auto& device : servers_.devices()) {
    counters.push_back(device->worked());
    counters.push_back(static_cast<int64_t>(device->requests()));
  }
  const uint32_t hosts = nodes_ + settings_.servers + 1;
  for (uint32_t host = 0; host < hosts; ++host) counters.push_back(network_.sent_for(host));
  for (uint32_t host = 0; host < hosts; ++host) counters.push_back(network_.received_for(host));
}

// Once the last process has ended, nobody needs the others' caches any more.
void Cluster::end_job() {
  if (living_ > 0) return;
  owned_->end_agents();
  for (const auto& cache : caches_) cache->end_background();
}

// The life of a process: its accesses in order, then it closes what it has opened.
void Cluster::live(Job& job) {
  const std::vector<uint32_t>& numbers = accesses_[job.process];
  const DataAccess* before = nullptr;
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const uint32_t number = numbers[n];
    const DataAccess access = log_.accesses()[number];
    if (before == nullptr)
      think(job, log_.accesses().front().start_ns, access.start_ns);
    else if (before->end_ns >= before->start_ns)
      think(job, before->end_ns, access.start_ns);
    before = &log_.accesses()[number];
    const OpenFile& file = opened(job, access);
    const Picoseconds began = kernel_.now();
    Picoseconds local = settings_.call_time;
    if (job.cache != nullptr) {
      local += time_of(access.bytes, settings_.copy_bytes_per_second);
      cached(file, number);
    } else if (!calls_.unites(number) || !two_phase_.take_part(number)) {
      straight(job, access.file, access_of(access));
    }
    if (n + 1 < numbers.size()) fetch_early(log_.accesses()[numbers[n + 1]]);
    Process::current()->sleep(local);
    spend(job, access.writes ? Doing::writing : Doing::reading, began, access.file, access.bytes);
    progress_.add(1);
  }
  close_all(job);
}

// The same, of a recorded run: also what is no access is done again, each step at its turn.
void Cluster::live_again(Job& job) {
  const trace::Table& table = order_->steps().table();
  int64_t from_ns = table.start_ns[order_->first_row()];
  for (const RecordedOrder::Turn& turn : order_->of_process(job.process)) {
    const RecordedStep step = order_->steps().at(turn.row);
    if (step.moves_bytes()) {
      think(job, from_ns, table.start_ns[turn.row]);
      from_ns = table.end_ns[turn.row];
    }
    const Picoseconds began = kernel_.now();
    const Doing doing = step.by_agent ? ask(job, turn, step) : take(job, turn, step);
    spend(job, doing, began, static_cast<uint32_t>(step.file), step.access.bytes);
    if (step.moves_bytes()) progress_.add(1);
  }
  close_all(job);
}

// A step in another node's cache, which the node's agent takes: a question and an answer.
Doing Cluster::ask(Job& job, const RecordedOrder::Turn& turn, const RecordedStep& step) {
  constexpr int64_t message_bytes = 64;
  const RecordedSteps::Cache& cache = order_->steps().caches()[turn.cache];
  const uint32_t owner = settings_.node_of_process[cache.processes.front()];
  const auto send = [&](uint32_t from, uint32_t to, bool with_data) {
    Completion arrived;
    network_.send(from, to, message_bytes + (with_data ? step.access.bytes : 0), arrived.then());
    arrived.wait();
  };
  const Picoseconds began = kernel_.now();
  send(job.node, owner, step.kind == RecordedStep::Kind::write);
  order_->begin(turn);
  std::unique_ptr<ClientNode::Handle>& handle =
      job.at_agents[{static_cast<uint32_t>(step.open), owner}];
  const auto file = static_cast<uint32_t>(step.file);
  if (step.kind == RecordedStep::Kind::join) {
    file_system_->open(owner, file);
    handle = std::make_unique<ClientNode::Handle>(*caches_[owner], file, job.process,
                                                  ClientNode::Handle::Maker::agent, step.reads);
    handle->expect_size(step.argument);
  } else {
    carry_out(step, *handle);
  }
  if (step.kind == RecordedStep::Kind::leave) {
    file_system_->close(owner, file);
    handle.reset();
  }
  Process::current()->sleep(settings_.call_time +
                            time_of(step.access.bytes, settings_.copy_bytes_per_second));
  order_->end(turn);
  send(owner, job.node, step.kind == RecordedStep::Kind::read);
  file_system_->waits().add(job.node, owner, Waiting::owner, kernel_.now() - began);
  return doing(step);
}

Doing Cluster::doing(const RecordedStep& step) {
  if (step.kind == RecordedStep::Kind::join) return Doing::opening;
  if (step.access.bytes == 0) return Doing::closing;
  return step.access.writes ? Doing::writing : Doing::reading;
}

Doing Cluster::take(Job& job, const RecordedOrder::Turn& turn, const RecordedStep& step) {
  order_->begin(turn);
  const auto handle = static_cast<uint32_t>(step.open);
  const auto known = job.open.find(handle);
  const bool opens = known == job.open.end() || step.kind == RecordedStep::Kind::join;
  OpenFile& open = opens ? open_file(job, handle, static_cast<uint32_t>(step.file)) : known->second;
  if (step.kind == RecordedStep::Kind::join) {
    open.cached = std::make_unique<ClientNode::Handle>(
        *job.cache, open.file, job.process, ClientNode::Handle::Maker::program, step.reads);
    open.cached->expect_size(step.argument);
    order_->end(turn);
    return Doing::opening;
  }
  const bool past_caches = turn.cache == RecordedOrder::Turn::no_cache;
  if (past_caches)
    straight(job, open.file, step.access);
  else
    carry_out(step, *open.cached);
  if (step.kind == RecordedStep::Kind::leave) {
    file_system_->close(job.node, open.file);
    job.open.erase(known);
  }
  Picoseconds local = 0;
  if (step.access.bytes > 0) local += settings_.call_time;
  if (!past_caches) local += time_of(step.access.bytes, settings_.copy_bytes_per_second);
  if (local > 0) Process::current()->sleep(local);
  order_->end(turn);
  return doing(step);
}

void Cluster::close_all(Job& job) {
  const Picoseconds began = kernel_.now();
  for (auto& [number, handle] : job.at_agents) {
    if (handle != nullptr) handle->close();
  }
  for (auto& [number, open] : job.open) {
    if (open.cached != nullptr) open.cached->close();
    if (open.owned != nullptr) open.owned->close();
    file_system_->close(job.node, open.file);
  }
  spend(job, Doing::closing, began, Span::no_file);
  job.times.end = kernel_.now();
}

void Cluster::spend(Job& job, Doing doing, Picoseconds began, uint32_t file, int64_t bytes) {
  constexpr Picoseconds ProcessTimes::*parts[] = {&ProcessTimes::computing, &ProcessTimes::opening,
                                                  &ProcessTimes::reading, &ProcessTimes::writing,
                                                  &ProcessTimes::closing};
  const Picoseconds now = kernel_.now();
  job.times.*parts[static_cast<std::size_t>(doing)] += now - began;
  if (settings_.timeline && now != began)
    timeline_.push_back({began, now, bytes, job.process, file, doing});
}

// The process computes for the part of the time that the settings name.
void Cluster::think(Job& job, int64_t from_ns, int64_t to_ns) {
  if (settings_.think <= 0 || from_ns == trace::no_time || to_ns <= from_ns) return;
  const auto time = static_cast<Picoseconds>(static_cast<double>(to_ns - from_ns) *
                                             static_cast<double>(nanosecond) * settings_.think);
  const Picoseconds began = kernel_.now();
  Process::current()->sleep(time);
  spend(job, Doing::computing, began, Span::no_file);
}

// The first process that opens a file of the job's own creates it; the others find it.
Cluster::OpenFile& Cluster::open_file(Job& job, uint32_t handle, uint32_t file) {
  if (!std::exchange(files_[file].created, true)) file_system_->create(job.node, file);
  file_system_->open(job.node, file);
  OpenFile& open = job.open[handle];
  open.file = file;
  return open;
}

// Opens the file with the process's first access to it.
Cluster::OpenFile& Cluster::opened(Job& job, const DataAccess& access) {
  const auto known = job.open.find(access.handle);
  if (known != job.open.end()) return known->second;
  const Picoseconds began = kernel_.now();
  OpenFile& open = open_file(job, access.handle, access.file);
  if (owned_)
    open.owned = std::make_unique<OwnedFiles::Handle>(*owned_, job.node, access.file, job.process,
                                                      files_[access.file].written);
  else if (job.cache != nullptr)
    open.cached = std::make_unique<ClientNode::Handle>(*job.cache, access.file, job.process);
  spend(job, Doing::opening, began, access.file);
  return open;
}

forebay::Access Cluster::access_of(const DataAccess& access) const {
  forebay::Access made;
  made.writes = access.writes;
  made.bytes = access.bytes;
  made.position = access.view == no_view ? access.offset : access.position;
  if (access.view != no_view) made.view = &log_.view(access.view);
  return made;
}

// As src/mpiio/file/owners_parts.h.
bool Cluster::change_parts(const OpenFile& file, const CollectiveCall& call) const {
  if (file.owned == nullptr) return false;
  // Each process has a view of its own; the first process tells when they are set.
  const auto first = std::ranges::min_element(
      call.parts, {}, [this](const auto& part) { return log_.accesses()[part.access].process; });
  file.owned->note_view(log_.accesses()[first->access].view);
  Extent region{0, 0};
  int64_t most = 0;
  for (const CollectiveCall::Part& part : call.parts) {
    const DataAccess& access = log_.accesses()[part.access];
    if (access.view == no_view && file.owned->is_long(access.bytes)) continue;
    const int64_t begin =
        region.empty() ? part.region.offset : std::min(region.offset, part.region.offset);
    const int64_t end = std::max(region.end(), part.region.end());
    region = {begin, end - begin};
    most = std::max(most, access.bytes);
  }
  return !region.empty() && file.owned->change_parts(region, most * std::ssize(call.parts));
}

std::shared_ptr<OwnedFiles::Exchange> Cluster::exchange_of(const CollectiveCall& call) const {
  std::vector<OwnedFiles::Handle*> members;
  for (const CollectiveCall::Part& part : call.parts) {
    const DataAccess& access = log_.accesses()[part.access];
    members.push_back(jobs_[access.process].open.at(access.handle).owned.get());
  }
  return std::make_shared<OwnedFiles::Exchange>(members);
}

// As the runtime: the processes of a collective call begin together. Then they keep pace, if one
// cache serves all of them, or they end together, if nodes own the bytes.
void Cluster::cached(const OpenFile& file, uint32_t number) {
  forebay::Access access = access_of(log_.accesses()[number]);
  CollectiveCalls::Came came;
  if (settings_.caching != Caching::process && calls_.unites(number)) came = calls_.come(number);
  if (came.call == nullptr) {
    if (file.owned != nullptr) return file.owned->access(access);
    file.cached->access(access);
    return;
  }
  access.collective = true;
  if (came.last) {
    const Picoseconds agreement = calls_.agreement(came.call->parts.size());
    if (nodes_ > 1) Process::current()->sleep(agreement);
    constexpr int64_t steps = 4;
    if (change_parts(file, *came.call)) Process::current()->sleep(steps * agreement);
    if (file.owned != nullptr) came.call->exchange = exchange_of(*came.call);
    calls_.release(came);
  }
  if (file.owned != nullptr) {
    file.owned->access(access, *came.call->exchange, came.part);
    Process::current()->sleep(calls_.agreement(came.call->parts.size()));
    return;
  }
  std::optional<CallPace> pace;
  const int64_t distance = file.cached->pace_bytes();
  const bool paced = nodes_ == 1 && !settings_.cache.handles.deterministic &&
                     needs_pace(access.bytes, std::ssize(came.call->parts), distance);
  if (paced)
    access.pace = &pace.emplace(*came.call, came.part, distance);
  else
    CallPace::pass(*came.call, came.part);
  file.cached->access(access);
}

void Cluster::straight(Job& job, uint32_t file, const forebay::Access& access) {
  job.extents.clear();
  for (AccessRuns runs(access); !runs.done();) job.extents.push_back(runs.next());
  if (const Picoseconds lock = file_system_->lock_time()) Process::current()->sleep(lock);
  Completion done;
  file_system_->access(job.node, file, access.writes, job.extents, done.then());
  done.wait();
}

}  // namespace

ClusterResult simulate_cluster(const AccessLog& log, const ClusterSettings& settings,
                               Progress& progress) {
  return Cluster(log, settings, progress).run();
}

}  // namespace forebay::sim
