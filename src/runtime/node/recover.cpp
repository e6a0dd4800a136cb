#include "runtime/node/recover.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "runtime/node/file_identity.h"
#include "runtime/node/node_member.h"
#include "runtime/node/own_change.h"

namespace forebay::runtime {

namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

// Not with std::filesystem, which ends the process when the system refuses it memory.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, CloseDirectory> directory(opendir(folder.c_str()));
  if (directory == nullptr) return names;
  while (const dirent* entry = readdir(directory.get())) names.emplace_back(entry->d_name);
  return names;
}

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
      node;  // null: nothing is to be done, or `left` says why nothing can be
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
  found.left.job = node->registry().job;
  found.left.in_use = has_users(node->registry());
  found.left.cared_for = !found.left.in_use && !node->watch();
  if (found.left.in_use || found.left.cared_for) {
    node->leave_as_it_is();
  } else if (!node->registry().recoverable) {
    node->forget_the_dead();
  } else {
    found.node = std::move(node);
  }
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
using Changes = std::map<FileIdentity, std::vector<const LastChange*>>;

Changes own_changes(const std::vector<Found>& caches) {
  Changes changes;
  for (const Found& cache : caches) {
    if (cache.node == nullptr) continue;
    const Registry& registry = cache.node->registry();
    for (const FileEntry& file : registry.made_files()) {
      if (file.in_use()) changes[file.identity].push_back(&file.changed);
    }
    for (const JobChange& change : registry.made_changes()) {
      if (change.caches > 0) changes[change.identity].push_back(&change.changed);
    }
  }
  return changes;
}

// Why a file's bytes must not be committed, for each file; "" if they may. All files are judged
// before any is written to. Until all are written, recover() marks them as being written: so a
// recovery that is repeated after an interruption does not take its own writes for those of others.
using Refusals = std::map<const FileEntry*, std::string>;

Refusals judge(const std::vector<Found>& caches, bool force) {
  const Changes changes = own_changes(caches);
  Refusals refusals;
  for (const Found& cache : caches) {
    if (cache.node == nullptr) continue;
    for (const FileEntry& file : cache.node->registry().made_files()) {
      if (!file.in_use()) continue;
      std::string refusal = change_by_others(file, changes.at(file.identity));
      if (force && still_named(file)) refusal.clear();
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
  cache.node->leave_as_it_is();
}

void commit(Found& cache, const NodeMember::Refusal& refusal) {
  for (const uint32_t dead : cache.node->dead_processes()) {
    for (const NodeMember::Saved& saved : cache.node->reap(dead, refusal)) {
      if (saved.problem().empty()) cache.left.files.push_back(left_file(saved));
    }
  }
  for (const NodeMember::Saved& saved : cache.node->save_kept(refusal))
    cache.left.files.push_back(left_file(saved));
}

// Bytes that dead processes left of files that are not chosen are kept, as if storage had refused
// them.
template <typename IsChosen>
void discard(Found& cache, bool whole, IsChosen is_chosen) {
  NodeMember& node = *cache.node;
  const auto any = [&](const FileEntry& file) { return file.in_use() && is_chosen(file.path); };
  const std::span<const FileEntry> files = node.registry().made_files();
  if (!whole && std::none_of(files.begin(), files.end(), any)) {
    node.leave_as_it_is();
    return;
  }
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
    const Refusals refusals = judge(caches, settings.force);
    for_each_accepted(caches, refusals,
                      [](FileEntry& file) { ChangeNotes(file, nullptr).begin_write(); });
    for (Found& cache : caches) {
      if (cache.node == nullptr) continue;
      commit(cache, [&](const FileEntry& file) {
        const auto judged = refusals.find(&file);
        return judged == refusals.end() ? std::string() : judged->second;
      });
    }
    for_each_accepted(caches, refusals, [](FileEntry& file) {
      note_own_change(file, nullptr);
      ChangeNotes(file, nullptr).end_write(nullptr);
    });
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
