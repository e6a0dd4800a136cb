#include "runtime/node/recover.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <vector>

#include "runtime/node/file_identity.h"
#include "runtime/node/node_member.h"
#include "runtime/node/own_change.h"
#include "storage/small_files.h"

namespace forebay::runtime {

namespace {

LeftFile left_file(const NodeMember::Saved& saved) {
  return {saved.path, saved.bytes, saved.problem(), saved.told};
}

// The name of the registry's file, without its suffix.
std::string stem_of(const std::string& registry) {
  const std::size_t begin = registry.rfind('/') + 1;
  return registry.substr(begin, registry.rfind('.') - begin);
}

bool has_users(const Registry& registry) {
  const std::span<const ProcessEntry> processes = registry.made_processes();
  return std::any_of(processes.begin(), processes.end(), [](const ProcessEntry& process) {
    return !process.caretaker && alive(process.id);
  });
}

// A cache as a recovery finds it. A cache with a `node` is unused, and other recoveries are kept
// from it.
struct Found {
  LeftCache left;
  std::unique_ptr<NodeMember>
      node;                     // null: nothing is to be done, or `left` says why nothing can be
  std::vector<uint32_t> saved;  // slots of the files whose bytes are committed, to be released
};

Found find_cache(const std::string& path) {
  Found found;
  found.left.registry = path;
  found.left.job = stem_of(path);
  Status status;
  std::unique_ptr<NodeMember> node = NodeMember::adopt(path, &status);
  if (node == nullptr) {
    if (status.code == Code::unsupported) {
      found.left.problem = "it was made by another version of Forebay";
    } else if (status.system_error == EBADMSG) {
      found.left.problem = "its header is damaged";
    } else if (!status.ok()) {
      found.left.problem = cause(status);
    }
    return found;
  }
  node->leave_as_it_is();  // a recovery that ends early commits nothing that it has not judged
  found.left.job = node->registry().job;
  found.left.in_use = has_users(node->registry());
  found.left.cared_for = !found.left.in_use && !node->watch();
  // Processes that have joined meanwhile need a committer, which waits for the watch.
  if (!found.left.cared_for) found.left.in_use = has_users(node->registry());
  if (found.left.in_use || found.left.cared_for) return found;
  if (node->registry().recoverable)
    found.node = std::move(node);
  else
    node->forget_the_dead();
  return found;
}

// In scope process, the name of a process's registry begins with that of the job's registry, and
// the job's committer looks after both.
std::vector<Found> find_caches(const std::vector<std::string>& registries) {
  std::vector<Found> caches;
  std::map<std::string, std::string> cared_for;  // jobs, by how their processes' registries begin
  for (const std::string& registry : registries) {
    const auto of_job = [&](const auto& entry) { return registry.starts_with(entry.first); };
    const auto job = std::find_if(cared_for.begin(), cared_for.end(), of_job);
    if (job != cared_for.end()) {
      Found& found = caches.emplace_back();
      found.left.registry = registry;
      found.left.job = job->second;
      found.left.cared_for = true;
      continue;
    }
    Found& found = caches.emplace_back(find_cache(registry));
    if (found.left.in_use || found.left.cared_for)
      cared_for[registry.substr(0, registry.rfind('.')) + "-"] = found.left.job;
  }
  return caches;
}

// The changes that are the job's own, by file. Processes with a cache each may have had the same
// file open: a write that any of these caches, or the job, has noted is not by others.
using Changes = std::map<FileIdentity, std::vector<OwnChange>>;

Changes own_changes(const std::vector<Found>& caches) {
  Changes changes;
  for (const Found& cache : caches) {
    if (cache.node == nullptr) continue;
    const Registry& registry = cache.node->registry();
    for (const FileEntry& file : registry.made_files()) {
      if (file.in_use())
        changes[file.identity].push_back(
            own_change(registry.job, file.identity, file.path, file.changed));
    }
  }
  // The job notes changes of files that its processes have open, whose entries know the path.
  for (const Found& cache : caches) {
    if (cache.node == nullptr) continue;
    const Registry& registry = cache.node->registry();
    for (const JobChange& change : registry.made_changes()) {
      if (change.caches == 0) continue;
      std::vector<OwnChange>& known = changes[change.identity];
      const std::string path = known.empty() ? "" : known.front().path;
      known.push_back(own_change(registry.job, change.identity, path, change.changed));
    }
  }
  return changes;
}

// The changes that the same jobs have noted on all nodes, by what names a file on all nodes.
using FileOfJob = std::tuple<std::string, std::string, uint64_t, int64_t>;
using ChangesOnNodes = std::map<FileOfJob, std::vector<OwnChange>>;

ChangesOnNodes exchanged(const Changes& here, const Exchange& exchange) {
  std::vector<OwnChange> mine;
  for (const auto& [identity, changes] : here)
    mine.insert(mine.end(), changes.begin(), changes.end());
  ChangesOnNodes all;
  for (OwnChange& change : exchange(mine)) {
    const FileOfJob file(change.job, change.path, change.inode, change.birth_ns);
    all[file].push_back(std::move(change));
  }
  return all;
}

// Why a file's bytes must not be committed, for each file; "" if they may. All files, of all nodes,
// are judged before any is written to. Until all are written, recover() marks them as being
// written, and keeps their notes: so a recovery that is repeated after an interruption does not
// take its own writes for those of others.
using Refusals = std::map<const FileEntry*, std::string>;

// What a user can do if one node alone does not know who has changed the file.
std::string advice(const FileEntry& file, const RecoverSettings& settings) {
  if (settings.exchange || file.owners.load() == 0) return "";
  const std::string folder = settings.arena_dir.empty() ? "" : " " + settings.arena_dir;
  return ", perhaps by another node of the job: run `mpiexec -n NODES forebay recover" + folder +
         "`, one process a node";
}

Refusals judge(const std::vector<Found>& caches, const RecoverSettings& settings) {
  const Changes here = own_changes(caches);
  const ChangesOnNodes all =
      settings.exchange ? exchanged(here, settings.exchange) : ChangesOnNodes();
  Refusals refusals;
  for (const Found& cache : caches) {
    if (cache.node == nullptr) continue;
    for (const FileEntry& file : cache.node->registry().made_files()) {
      if (!file.in_use()) continue;
      std::vector<OwnChange> ours = here.at(file.identity);
      const auto others =
          all.find({cache.left.job, file.path, file.identity.inode, file.identity.birth_ns});
      if (others != all.end())
        ours.insert(ours.end(), others->second.begin(), others->second.end());
      std::string refusal = change_by_others(file, ours);
      if (!refusal.empty() && still_named(file))
        refusal = settings.force ? "" : refusal + advice(file, settings);
      refusals[&file] = refusal;
    }
  }
  return refusals;
}

template <typename Act>
void for_each_accepted(const std::vector<Found>& caches, const Refusals& refusals, Act act) {
  for (const Found& cache : caches) {
    if (cache.node == nullptr) continue;
    for (FileEntry& file : cache.node->registry().made_files()) {
      const auto judged = refusals.find(&file);
      if (judged != refusals.end() && judged->second.empty()) act(file);
    }
  }
}

void list(Found& cache) {
  for (const FileEntry& file : cache.node->registry().made_files()) {
    if (!file.in_use()) continue;
    if (const int64_t bytes = cache.node->unsaved_bytes(file); bytes > 0)
      cache.left.files.push_back({file.path, bytes, "not committed yet", file.told.load() != 0});
  }
}

void commit(Found& cache, const NodeMember::Refusal& refusal) {
  for (const uint32_t dead : cache.node->dead_processes()) {
    for (const NodeMember::Saved& saved : cache.node->reap(dead, refusal)) {
      if (saved.problem().empty()) cache.left.files.push_back(left_file(saved));
    }
  }
  for (const NodeMember::Saved& saved : cache.node->save_kept(refusal)) {
    const bool complete = saved.problem().empty();
    if (complete) cache.saved.push_back(saved.slot);
    if (!complete || saved.bytes > 0) cache.left.files.push_back(left_file(saved));
  }
}

void commit_all(std::vector<Found>& caches, const RecoverSettings& settings) {
  const auto wait_for_all_nodes = [&] {
    if (settings.exchange) (void)settings.exchange({});
  };
  const Refusals refusals = judge(caches, settings);
  for_each_accepted(caches, refusals, [](FileEntry& file) {
    file.kept.store(1);
    ChangeNotes(file, nullptr).begin_write();
  });
  wait_for_all_nodes();  // all have judged
  for (Found& cache : caches) {
    if (cache.node == nullptr) continue;
    commit(cache, [&](const FileEntry& file) {
      const auto judged = refusals.find(&file);
      return judged == refusals.end() ? std::string() : judged->second;
    });
  }
  wait_for_all_nodes();  // all have committed
  for_each_accepted(caches, refusals, [](FileEntry& file) {
    note_own_change(file, nullptr);
    ChangeNotes(file, nullptr).end_write(nullptr, false);
  });
  for (const Found& cache : caches) {
    for (const uint32_t slot : cache.saved)
      cache.node->discard_kept(cache.node->registry().files[slot]);
  }
}

// Bytes that dead processes left of files that are not chosen are kept, as if storage had refused
// them.
template <typename IsChosen>
void discard(Found& cache, bool whole, IsChosen is_chosen) {
  NodeMember& node = *cache.node;
  const auto any = [&](const FileEntry& file) { return file.in_use() && is_chosen(file.path); };
  const std::span<const FileEntry> files = node.registry().made_files();
  if (!whole && std::none_of(files.begin(), files.end(), any)) return;
  for (const uint32_t dead : node.dead_processes())
    (void)node.reap(dead, [](const FileEntry&) { return std::string("not committed yet"); });
  for (FileEntry& file : node.registry().made_files()) {
    if (file.kept.load() == 0 || (!whole && !is_chosen(file.path))) continue;
    cache.left.files.push_back({file.path, node.unsaved_bytes(file), "", false});
    node.discard_kept(file);
  }
}

// The paths of the user's registries, shorter ones first: a job's registry comes before those of
// its processes, whose names begin with its name.
std::vector<std::string> registries_in(const std::string& arena_dir, const std::string& job) {
  const std::string base = arena_dir.empty() ? "/dev/shm" : arena_dir;
  const std::string folder = base + "/forebay-" + std::to_string(geteuid());
  std::vector<std::string> registries;
  for (const std::string& name : names_in(folder)) {
    if (name.ends_with(".registry") && name.starts_with(job))
      registries.push_back(folder + "/" + name);
  }
  std::sort(registries.begin(), registries.end(), [](const std::string& a, const std::string& b) {
    return std::pair(a.size(), a) < std::pair(b.size(), b);
  });
  return registries;
}

std::vector<LeftCache> left_of(std::vector<Found>& caches) {
  std::vector<LeftCache> all;
  for (Found& cache : caches) all.push_back(std::move(cache.left));
  return all;
}

}  // namespace

std::vector<LeftCache> recover(const RecoverSettings& settings) {
  std::vector<std::string> registries = registries_in(settings.arena_dir, settings.job);
  std::erase(registries, settings.except);
  std::vector<Found> caches = find_caches(registries);
  if (settings.commit) {
    commit_all(caches, settings);
  } else {
    for (Found& cache : caches) {
      if (cache.node != nullptr) list(cache);
    }
  }
  return left_of(caches);
}

std::vector<LeftCache> discard(const std::string& arena_dir, const Chosen& chosen) {
  const std::set<std::pair<std::string, std::string>> wanted(chosen.begin(), chosen.end());
  std::vector<Found> caches = find_caches(registries_in(arena_dir, ""));
  for (Found& cache : caches) {
    const std::string& registry = cache.left.registry;
    const bool whole = wanted.contains({registry, ""});
    if (cache.node != nullptr)
      discard(cache, whole, [&](const char* path) { return wanted.contains({registry, path}); });
    else if (whole && !cache.left.problem.empty())
      NodeMember::remove(registry);
  }
  return left_of(caches);
}

}  // namespace forebay::runtime
