#include "runtime/recover.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "runtime/clock.h"
#include "runtime/file_identity.h"
#include "runtime/node.h"

namespace forebay::runtime {

namespace {

LeftFile left_file(const Node::Saved& saved) { return {saved.path, saved.bytes, saved.problem()}; }

bool any_alive(const Registry& registry, uint32_t besides) {
  for (uint32_t p = 0; p < most_processes; ++p) {
    if (p != besides && alive(registry.processes[p])) return true;
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
    } else if (!status.ok()) {
      found.left.problem = cause(status);
    }
    return found;
  }
  found.left.in_use = any_alive(node->registry(), node->process());
  found.left.cared_for = !found.left.in_use && !node->watch();
  if (found.left.in_use || found.left.cared_for) {
    node->leave_as_it_is();
  } else {
    found.node = std::move(node);
  }
  return found;
}

// Files of several caches may be one: those of processes that had a cache each. So all are judged
// before any is written to, and marked as being written by us until all have been, lest a recovery
// that is repeated after an interruption takes its own writes for those of others.
using Refusals = std::map<const FileEntry*, std::string>;

Refusals judge(const std::vector<Found>& caches, bool force) {
  Refusals refusals;
  for (const Found& cache : caches) {
    if (cache.node == nullptr) continue;
    for (const FileEntry& file : cache.node->registry().files) {
      if (!file.in_use()) continue;
      refusals[&file] = change_by_others(file);
      if (force && still_named(file)) refusals[&file].clear();
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
  const std::filesystem::path folder = base + "/forebay-" + std::to_string(geteuid());
  std::vector<std::string> registries;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".registry") && name.starts_with(settings.job) &&
        entry.path().string() != settings.except)
      registries.push_back(entry.path().string());
  }
  std::sort(registries.begin(), registries.end());
  std::vector<Found> caches;
  for (const std::string& registry : registries) caches.push_back(find_cache(registry));
  if (settings.commit) {
    const Refusals refusals = judge(caches, settings.force);
    for_each_accepted(caches, refusals, [](FileEntry& file) {
      file.changed.written_ns.store(now_ns(CLOCK_REALTIME));
      file.changed.being_written.fetch_add(1);
    });
    for (Found& cache : caches) {
      if (cache.node == nullptr) continue;
      commit(cache, [&](const FileEntry& file) {
        const auto judged = refusals.find(&file);
        return judged == refusals.end() ? std::string() : judged->second;
      });
    }
    for_each_accepted(caches, refusals, [](FileEntry& file) {
      note_own_change(file);
      file.changed.being_written.fetch_sub(1);
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
