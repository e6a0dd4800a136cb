#include "runtime/recover.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <vector>

#include "runtime/clock.h"
#include "runtime/file_identity.h"
#include "runtime/node.h"
#include "runtime/own_change.h"

namespace forebay::runtime {

namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

// Not by std::filesystem, which ends the process when it is refused memory.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, CloseDirectory> directory(opendir(folder.c_str()));
  if (directory == nullptr) return names;
  while (const dirent* entry = readdir(directory.get())) names.emplace_back(entry->d_name);
  return names;
}

LeftFile left_file(const Node::Saved& saved) { return {saved.path, saved.bytes, saved.problem()}; }

bool has_users(const Registry& registry) {
  for (uint32_t p = 0; p < most_processes; ++p) {
    if (!registry.caretaker[p] && alive(registry.processes[p])) return true;
  }
  return false;
}

// A cache that nobody uses, held against other recoveries.
struct Found {
  LeftCache left;
  std::unique_ptr<Node> node;  // null: there is nothing to do, or `left` says why it cannot be done
};

Found find_cache(const std::string& path) {
  Found found;
  found.left.registry = path;
  Status status;
  std::unique_ptr<Node> node = Node::adopt(path, &status);
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

// The registry of a job's process in scope process is named after that of the job, whose committer
// looks after both.
std::vector<Found> find_caches(const std::vector<std::string>& registries) {
  std::vector<Found> caches;
  std::vector<std::string> cared_for;  // beginnings of names
  for (const std::string& registry : registries) {
    const auto of_job = [&](const std::string& begin) { return registry.starts_with(begin); };
    if (std::any_of(cared_for.begin(), cared_for.end(), of_job)) {
      Found& found = caches.emplace_back();
      found.left.registry = registry;
      found.left.cared_for = true;
      continue;
    }
    Found& found = caches.emplace_back(find_cache(registry));
    if (found.left.in_use || found.left.cared_for)
      cared_for.push_back(registry.substr(0, registry.rfind('.')) + "-");
  }
  return caches;
}

// Files of several caches may be one: those of processes that had a cache each. What any of them,
// or the job, knows to be its own write is none by others.
using Changes = std::map<FileIdentity, std::vector<const LastChange*>>;

Changes own_changes(const std::vector<Found>& caches) {
  Changes changes;
  for (const Found& cache : caches) {
    if (cache.node == nullptr) continue;
    const Registry& registry = cache.node->registry();
    for (const FileEntry& file : registry.files) {
      if (file.in_use()) changes[file.identity].push_back(&file.changed);
    }
    for (const JobChange& change : registry.changes) {
      if (change.caches > 0) changes[change.identity].push_back(&change.changed);
    }
  }
  return changes;
}

// So all are judged before any is written to, and marked as being written by us until all have
// been, lest a recovery that is repeated after an interruption takes its own writes for those of
// others.
using Refusals = std::map<const FileEntry*, std::string>;

Refusals judge(const std::vector<Found>& caches, bool force) {
  const Changes changes = own_changes(caches);
  Refusals refusals;
  for (const Found& cache : caches) {
    if (cache.node == nullptr) continue;
    for (const FileEntry& file : cache.node->registry().files) {
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
    for (FileEntry& file : cache.node->registry().files) {
      const auto judged = refusals.find(&file);
      if (judged != refusals.end() && judged->second.empty()) act(file);
    }
  }
}

void list(Found& cache) {
  for (const FileEntry& file : cache.node->registry().files) {
    if (!file.in_use()) continue;
    if (const int64_t bytes = cache.node->unsaved_bytes(file); bytes > 0)
      cache.left.files.push_back({file.path, bytes, "not committed yet"});
  }
  cache.node->leave_as_it_is();
}

void commit(Found& cache, const Node::Refusal& refusal) {
  for (const uint32_t dead : cache.node->dead_processes()) {
    for (const Node::Saved& saved : cache.node->reap(dead, refusal)) {
      if (saved.problem().empty()) cache.left.files.push_back(left_file(saved));
    }
  }
  for (const Node::Saved& saved : cache.node->save_kept(refusal))
    cache.left.files.push_back(left_file(saved));
}

}  // namespace

std::vector<LeftCache> recover(const RecoverSettings& settings) {
  const std::string base = settings.arena_dir.empty() ? "/dev/shm" : settings.arena_dir;
  const std::string folder = base + "/forebay-" + std::to_string(geteuid());
  std::vector<std::string> registries;
  for (const std::string& name : names_in(folder)) {
    const std::string path = folder + "/" + name;
    if (name.ends_with(".registry") && name.starts_with(settings.job) && path != settings.except)
      registries.push_back(path);
  }
  // The shorter name first, as it is the other's beginning.
  std::sort(registries.begin(), registries.end(),
            [](const std::string& a, const std::string& b) { return a.size() < b.size(); });
  std::vector<Found> caches = find_caches(registries);
  if (settings.commit) {
    const Refusals refusals = judge(caches, settings.force);
    for_each_accepted(caches, refusals, [](FileEntry& file) {
      file.changed.written_ns.store(now_ns(CLOCK_REALTIME));
      ChangeNotes(file, nullptr).begin_write();
    });
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
  std::vector<LeftCache> all;
  for (Found& cache : caches) all.push_back(std::move(cache.left));
  return all;
}

}  // namespace forebay::runtime
