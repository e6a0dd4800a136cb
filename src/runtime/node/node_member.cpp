#include "runtime/node/node_member.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <string_view>
#include <type_traits>

#include "runtime/node/committer.h"
#include "runtime/node/file_identity.h"
#include "runtime/node/memory_groups.h"
#include "runtime/node/recover.h"
#include "storage/held_signals.h"
#include "storage/small_files.h"

namespace forebay::runtime {

namespace {

constexpr std::string_view registry_suffix = ".registry";
constexpr const char* record_infix = ".record-";

int64_t random_word() {
  int64_t word = 0;
  while (getrandom(&word, sizeof word, 0) < 0 && errno == EINTR) {
  }
  return word;
}

std::string prefix_of(const std::string& registry_path) {
  return registry_path.substr(0, registry_path.size() - registry_suffix.size());
}

void lower_memory_limit(Registry& registry, int64_t mine) {
  int64_t known = registry.memory_limit.load();
  while (mine < known && !registry.memory_limit.compare_exchange_weak(known, mine)) {
  }
}

std::string record_path(const std::string& prefix, const std::string& name) {
  return prefix + record_infix + name;
}

void remove_records(const std::string& prefix) {
  const std::size_t name = prefix.rfind('/') + 1;
  const std::string folder = prefix.substr(0, name);
  const std::string begin = prefix.substr(name) + record_infix;
  for (const std::string& record : names_in(folder)) {
    if (record.starts_with(begin)) unlink((folder + record).c_str());
  }
}

std::string arena_path(const std::string& prefix, uint32_t number) {
  return prefix + ".arena" + std::to_string(number);
}

}  // namespace

std::unique_ptr<NodeMember> NodeMember::join(const std::string& directory, const Name& name,
                                             bool recoverable, bool* created, Status* status) {
  *created = false;
  // Asked before the join, since others wait while this process creates the registry.
  const ProcessId process = this_process();
  const int64_t memory_limit = MemoryGroups::mine().limit_bytes();
  // The last process to leave may be removing the registry: then a new one is joined or created.
  for (;;) {
    std::unique_ptr<NodeMember> node(new NodeMember);
    node->prefix_ = directory + "/" + name.registry;
    node->path_ = node->prefix_ + std::string(registry_suffix);
    node->segment_ = SharedSegment::join(
        node->path_, sizeof(Registry),
        offsetof(Registry, processes) + first_processes * sizeof(ProcessEntry),
        [&](std::byte* base) {
          auto* registry = new (base) Registry;
          registry->lock.init();
          registry->reaping.init();
          registry->turn.init();
          registry->care.init();
          registry->identity = random_word();
          name.job.copy(registry->job, sizeof registry->job - 1);
          registry->recoverable = recoverable;
          for (uint32_t p = 0; p < first_processes; ++p) new (&registry->processes[p]) ProcessEntry;
          registry->processes_made.store(first_processes);
          *created = true;
        },
        status);
    if (node->segment_ == nullptr) return nullptr;
    if (node->enter(process, false, status)) {
      lower_memory_limit(node->registry(), memory_limit);
      return node;
    }
    if (!status->ok()) return nullptr;
  }
}

std::unique_ptr<NodeMember> NodeMember::adopt(const std::string& registry_path, Status* status) {
  std::unique_ptr<NodeMember> node(new NodeMember);
  if (!registry_path.ends_with(registry_suffix)) {
    *status = {Code::bad_argument, EINVAL, -1};
    return nullptr;
  }
  node->path_ = registry_path;
  node->prefix_ = prefix_of(registry_path);
  node->segment_ = SharedSegment::attach(registry_path, status);
  if (node->segment_ == nullptr || !node->enter(this_process(), true, status)) return nullptr;
  return node;
}

void NodeMember::remove(const std::string& registry_path) {
  const std::string prefix = prefix_of(registry_path);
  remove_records(prefix);
  for (uint32_t a = 0; a < most_arenas; ++a) unlink(arena_path(prefix, a).c_str());
  unlink(registry_path.c_str());
}

// Takes a number in the registry's table of processes. False with success: the registry is being
// removed.
bool NodeMember::enter(const ProcessId& process, bool caretaker, Status* status) {
  auto* registry = reinterpret_cast<Registry*>(segment_->base());
  *status = {};
  if (segment_->bytes() != sizeof(Registry)) {
    *status = {Code::unsupported, 0, -1};
    return false;
  }
  const RegistryLock lock(*registry);
  if (registry->removed) {
    segment_->remove();  // the process that was to remove it may have died
    return false;
  }
  const std::span<ProcessEntry> processes = registry->made_processes();
  const auto free_entry = std::find_if(processes.begin(), processes.end(),
                                       [](const ProcessEntry& entry) { return entry.id.pid == 0; });
  process_ = free_entry != processes.end() ? registry->processes.index_of(*free_entry)
                                           : make(registry->processes, registry->processes_made);
  if (process_ == no_entry) {
    *status = {Code::no_memory, ENOMEM, -1};
    return false;
  }
  registry->processes[process_] = {process, caretaker};
  registry_ = registry;
  return true;
}

bool NodeMember::has_users() const {
  const std::span<const ProcessEntry> processes = registry_->made_processes();
  return std::any_of(processes.begin(), processes.end(), [](const ProcessEntry& process) {
    return process.id.pid != 0 && !process.caretaker;
  });
}

NodeMember::~NodeMember() {
  // If this process gets no memory to leave, the others find it dead and reap it.
  const Status ignored = within_memory([this] {
    if (registry_ != nullptr) leave();
  });
  (void)ignored;
}

void NodeMember::leave() {
  // This may be the last process, so it takes the place of the dead. Bytes that storage refuses
  // stay and can be recovered later.
  if (!looks_only_) {
    for (const uint32_t dead : dead_processes()) (void)reap_with_own_cache(dead);
  }
  const RegistryLock lock(*registry_);
  registry_->processes[process_] = {};
  // Caretakers do not count: they may have died, and one that still works has the segments mapped.
  // When such a one leaves, the files by these names may be those of the next registry.
  if (has_users() || keeps_bytes() || registry_->removed) return;
  registry_->removed = true;
  remove_records(prefix_);
  for (uint32_t a = 0; a < registry_->arenas; ++a) unlink(arena_path(prefix_, a).c_str());
  segment_->remove();
}

std::string NodeMember::registry_path_of(pid_t pid) const {
  return prefix_ + "-" + std::to_string(pid) + std::string(registry_suffix);
}

int64_t NodeMember::memory_bytes() const {
  constexpr int64_t block_bytes = 512;  // the unit of st_blocks
  int64_t bytes = 0;
  const auto add = [&](const std::string& path) {
    struct stat info;
    if (stat(path.c_str(), &info) == 0) bytes += info.st_blocks * block_bytes;
  };
  add(path_);
  for (uint32_t a = 0; a < registry_->arenas; ++a) add(arena_path(prefix_, a));
  return bytes;
}

ArenaCache* NodeMember::cache(uint32_t number, Status* status) {
  const std::lock_guard<std::mutex> guard(mutex_);
  std::unique_ptr<Arena>& arena = arenas_[number];
  if (arena == nullptr) {
    arena = Arena::join(arena_path(prefix_, number), number, registry_->arena[number], *registry_,
                        job(), process_,
                        {[this](uint32_t slot, uint64_t id) { return writable_storage(slot, id); },
                         [this] { (job_ == nullptr ? *this : *job_).begin_care(); }},
                        status);
  }
  return arena == nullptr ? nullptr : &arena->cache();
}

// Starts the committer, once for all processes of the node, before the first page that could be
// left dirty: a job whose accesses all go past the cache needs no further process. Others wait for
// the start; if the process that makes it dies meanwhile, one of them makes another.
// If `forebay run` waits to tell the user what was saved (FOREBAY_RUN_DIR), the committer reports
// to it.
void NodeMember::begin_care() {
  if (!wants_committer_ || registry_->cared_for.load()) return;
  const HeldSignals held;  // a handler may end the process, or leave this function by a longjmp
  registry_->care.lock();
  if (!registry_->cared_for.load()) {
    const Status ignored = within_memory([this] {
      const std::string program = committer_program();
      const std::string absolute = absolute_path(path_);
      if (program.empty() || absolute.empty()) return;
      const char* folder = std::getenv("FOREBAY_RUN_DIR");
      start_committer(program, absolute, folder == nullptr ? "" : std::string(folder) + "/saved",
                      wants_fabric_ ? environment_of_fabric() : std::vector<std::string>());
    });
    (void)ignored;  // the job runs without a committer
    registry_->cared_for.store(true);
  }
  registry_->care.unlock();
}

// A file of its own beside the registry.
Status NodeMember::keep_record(const std::string& name, std::span<const std::byte> bytes) {
  const std::string path = record_path(prefix_, name);
  if (access(path.c_str(), F_OK) == 0) return {};
  static std::atomic<uint64_t> attempts{0};  // threads may keep the same record at once
  const std::string fresh =
      path + "." + std::to_string(process_number()) + "." + std::to_string(attempts++);
  const int file = open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return Status::from_errno(errno);
  const ssize_t written = write(file, bytes.data(), bytes.size());
  int error = written < 0 ? errno : ENOSPC;
  close(file);
  if (written == std::ssize(bytes)) {
    if (rename(fresh.c_str(), path.c_str()) == 0) return {};
    error = errno;
  }
  unlink(fresh.c_str());
  return Status::from_errno(error);
}

std::vector<std::byte> NodeMember::record(const std::string& name) const {
  std::vector<std::byte> bytes;
  const int file = open(record_path(prefix_, name).c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info;
  if (file >= 0 && fstat(file, &info) == 0) {
    bytes.resize(static_cast<std::size_t>(info.st_size));
    if (read(file, bytes.data(), bytes.size()) != std::ssize(bytes)) bytes.clear();
  }
  if (file >= 0) close(file);
  return bytes;
}

bool NodeMember::call_agent() {
  constexpr int attempts = 2500;
  constexpr int between_ms = 2;
  if (!wants_committer_) return false;
  registry_->agent_wanted.store(wants_fabric_ ? AgentWanted::in_fabric : AgentWanted::yes);
  for (int attempt = 0; registry_->agent_port.load() == 0 && attempt < attempts; ++attempt) {
    begin_care();
    poll(nullptr, 0, between_ms);
  }
  // Nobody waits again for what does not come.
  int64_t none_yet = 0;
  registry_->agent_port.compare_exchange_strong(none_yet, no_agent);
  return registry_->agent_port.load() > 0;
}

template <typename Entry, uint32_t most>
uint32_t NodeMember::make(Table<Entry, most>& table, std::atomic<uint32_t>& made) {
  constexpr std::size_t step_bytes = 8 << 10;
  const uint32_t first = made.load();
  const auto count = std::min<uint32_t>(step_bytes / sizeof(Entry), most - first);
  if (count == 0) return no_entry;
  const auto offset =
      static_cast<std::size_t>(reinterpret_cast<std::byte*>(&table[first]) - segment_->base());
  if (!segment_->reserve(offset, count * sizeof(Entry))) return no_entry;
  segment_->populate(offset, count * sizeof(Entry));
  for (Entry& entry : table.first(first + count).subspan(first)) {
    new (&entry) Entry;
    if constexpr (std::is_same_v<Entry, FileEntry>) {
      entry.access.init();
      entry.giving.init();
    }
  }
  made.store(first + count);
  return first;
}

uint32_t NodeMember::make_changes() { return make(registry_->changes, registry_->changes_made); }
uint32_t NodeMember::make_files() { return make(registry_->files, registry_->files_made); }
uint32_t NodeMember::make_seats() { return make(registry_->seats, registry_->seats_made); }
uint32_t NodeMember::make_words() { return make(registry_->words, registry_->words_made); }

std::shared_ptr<OpenStorage> NodeMember::storage(uint32_t slot, const StorageOpener& opener,
                                                 OpenMode mode, Status* status) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const bool writes = mode != OpenMode::read_only;
  std::weak_ptr<OpenStorage>& known = storages_[{registry_->files[slot].id, writes ? 1 : 0}];
  std::shared_ptr<OpenStorage> file = known.lock();
  if (file != nullptr) return file;
  file = std::make_shared<OpenStorage>();
  file->writable = writes;
  file->readable = true;
  OpenedStorage opened = opener(true, writes);
  if (opened.storage == nullptr && mode == OpenMode::write_only) {
    file->readable = false;
    opened = opener(false, true);
  }
  if (opened.storage == nullptr) {
    *status = opened.status;
    return nullptr;
  }
  file->storage = std::move(opened.storage);
  known = file;
  std::erase_if(storages_, [](const auto& entry) { return entry.second.expired(); });
  return file;
}

Storage* NodeMember::writable_storage(uint32_t slot, uint64_t file_id) {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto known = storages_.find({file_id, 1});
    if (known != storages_.end()) {
      if (std::shared_ptr<OpenStorage> file = known->second.lock()) {
        // It stays open while its pages may need it.
        return adopted_.try_emplace(file_id, Adopted{slot, file}).first->second.file->storage.get();
      }
    }
    if (const auto adopted = adopted_.find(file_id); adopted != adopted_.end()) {
      return adopted->second.file->storage.get();
    }
  }
  const FileEntry& entry = registry_->files[slot];
  if (entry.id != file_id || !still_named(entry)) return nullptr;
  Status status;
  const std::shared_ptr<OpenStorage> file = storage(
      slot,
      [&](bool readable, bool writable) {
        return find_storage("posix")->open(entry.path, readable, writable);
      },
      OpenMode::write_only, &status);
  if (file == nullptr) return nullptr;
  close_unused();
  const std::lock_guard<std::mutex> guard(mutex_);
  return adopted_.try_emplace(file_id, Adopted{slot, file}).first->second.file->storage.get();
}

void NodeMember::close_unused() {
  const std::lock_guard<std::mutex> guard(mutex_);
  std::erase_if(adopted_, [this](const auto& item) {
    const FileEntry& entry = registry_->files[item.second.slot];
    return !entry.in_use() || entry.id != item.first;
  });
}

CommitCost NodeMember::commit_cost(uint64_t device) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto known = commit_costs_.find(device);
  return known == commit_costs_.end() ? CommitCost{} : known->second;
}

void NodeMember::add_commit_cost(uint64_t device, CommitCost cost) {
  const std::lock_guard<std::mutex> guard(mutex_);
  CommitCost& sum = commit_costs_[device];
  sum.ns += cost.ns;
  sum.bytes += cost.bytes;
  sum.requests += cost.requests;
}

namespace {

// Never destroyed at exit: a fork's child has no mapping of the parent's segments and must not
// touch what it inherited.
std::mutex nodes_mutex;
NodeMember* nodes[2] = {};
pid_t nodes_process = 0;
int64_t nodes_memory[2] = {};  // the most that each was seen to take

void forget_parents_nodes() {
  if (nodes_process == process_number()) return;
  nodes[0] = nodes[1] = nullptr;
  nodes_process = process_number();
}

// A node's memory only grows until the node is left, so its present size is its highest.
void note_memory() {
  for (int n = 0; n < 2; ++n) {
    if (nodes[n] != nullptr) nodes_memory[n] = std::max(nodes_memory[n], nodes[n]->memory_bytes());
  }
}

NodeMember::Name node_name(Scope scope, const Options& options) {
  const std::string process = std::to_string(process_number());
  NodeMember::Name name;
  name.job = options.job.empty() ? "process-" + process : options.job;
  name.registry = name.job;
  if (!options.node.empty()) name.registry.append("-").append(options.node);
  if (scope == Scope::process) name.registry.append("-").append(process);
  return name;
}

// What became of the bytes of a file that earlier jobs left, summed over all their caches.
struct Recovered {
  int64_t bytes = 0;
  bool told = true;  // the user knows of all of them
};

// Commits what earlier jobs left: a file that this job opens may lack bytes of a job that was
// killed together with its committer. The user is told once of bytes that cannot be committed: the
// first process that finds them marks them.
void recover_earlier_jobs(const Options& options, const std::string& own_registry,
                          Notices& notices) {
  RecoverSettings settings;
  settings.arena_dir = options.arena_dir;
  settings.except = own_registry;
  std::map<std::pair<std::string, std::string>, Recovered> files;  // by path and problem
  for (const LeftCache& cache : recover(settings)) {
    for (const LeftFile& file : cache.files) {
      Recovered& recovered = files[{file.path, file.problem}];
      recovered.bytes += file.bytes;
      recovered.told &= file.told;
    }
  }
  for (const auto& [file, recovered] : files) {
    const auto& [path, problem] = file;
    if (problem.empty())
      notices.saved(path, recovered.bytes);
    else if (!recovered.told)
      notices.missing(path, recovered.bytes, problem, options.arena_dir);
  }
}

}  // namespace

void open_through(NodeMember& node) {
  const std::lock_guard<std::mutex> guard(nodes_mutex);
  forget_parents_nodes();
  nodes[0] = &node;
}

NodeMember* node_of(Scope scope, const Options& options, Status* status, Notices& notices) {
  const std::lock_guard<std::mutex> guard(nodes_mutex);
  forget_parents_nodes();
  NodeMember*& node = nodes[scope != Scope::process ? 0 : 1];
  if (node == nullptr) {
    const std::string directory = segment_directory(options.arena_dir, status);
    if (directory.empty()) return nullptr;
    bool created = false;
    node = NodeMember::join(directory, node_name(scope, options), options.recoverable, &created,
                            status)
               .release();
    if (node != nullptr) node->give(notices);
    // The committer of the node of scope node looks after the caches of scope process, too.
    if (node != nullptr && scope != Scope::process && options.committer && options.recoverable)
      node->want_committer(options.transport == Transport::libfabric);
    if (node != nullptr && created && scope != Scope::process) {
      const Status ignored =
          within_memory([&] { recover_earlier_jobs(options, node->registry_path(), notices); });
      (void)ignored;
    }
  }
  return node;
}

NodeMember* node(const Options& process_options, Status* status) {
  return node_of(Scope::node, process_options, status);
}

void leave_node() {
  const std::lock_guard<std::mutex> guard(nodes_mutex);
  forget_parents_nodes();
  const Status noted = within_memory([] { note_memory(); });
  (void)noted;
  // The node of scope process first: it uses the other one.
  for (NodeMember** node : {&nodes[1], &nodes[0]}) {
    delete *node;
    *node = nullptr;
  }
}

int64_t highest_memory(Scope scope) {
  const std::lock_guard<std::mutex> guard(nodes_mutex);
  forget_parents_nodes();
  const Status ignored = within_memory([] { note_memory(); });
  (void)ignored;
  return nodes_memory[scope != Scope::process ? 0 : 1];
}

bool node_keeps_bytes() {
  const std::lock_guard<std::mutex> guard(nodes_mutex);
  forget_parents_nodes();
  return std::any_of(std::begin(nodes), std::end(nodes),
                     [](const NodeMember* node) { return node != nullptr && node->keeps_bytes(); });
}

int64_t memory_identity(NodeMember& node) { return node.registry().identity; }

bool first_notice(NodeMember& node, uint64_t number) {
  for (std::atomic<uint64_t>& notice : node.registry().notices) {
    uint64_t known = 0;
    if (notice.compare_exchange_strong(known, number)) return true;
    if (known == number) return false;
  }
  return false;
}

int32_t SharedWords::allocate(NodeMember& node) {
  Registry& registry = node.registry();
  const RegistryLock lock(registry);
  const std::span<SharedWord> words = registry.made_words();
  const auto free = std::find_if(words.begin(), words.end(),
                                 [](const SharedWord& word) { return word.used.load() == 0; });
  const uint32_t index = free != words.end() ? registry.words.index_of(*free) : node.make_words();
  if (index == no_entry) return -1;
  registry.words[index].used.store(1);
  registry.words[index].value.store(0);
  return static_cast<int32_t>(index);
}

std::atomic<int64_t>* SharedWords::at(NodeMember& node, int32_t index) {
  return &node.registry().words[static_cast<uint32_t>(index)].value;
}

void SharedWords::release(NodeMember& node, int32_t index) {
  node.registry().words[static_cast<uint32_t>(index)].used.store(0);
}

}  // namespace forebay::runtime
