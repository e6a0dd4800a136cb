#include "runtime/recover.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

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

}  // namespace

LeftCache recover_cache(const std::string& path, const RecoverSettings& settings) {
  LeftCache left;
  left.registry = path;
  Status status;
  const std::unique_ptr<Node> node = Node::adopt(path, &status);
  if (node == nullptr) {
    if (status.code == Code::unsupported) {
      left.problem = "it was made by another version of Forebay";
    } else if (!status.ok()) {
      left.problem = cause(status);
    }
    return left;
  }
  left.in_use = any_alive(node->registry(), node->process());
  left.cared_for = !node->watch();
  if (left.in_use || left.cared_for) {
    node->leave_as_it_is();
    return left;
  }
  if (!settings.commit) {
    for (const FileEntry& file : node->registry().files) {
      if (!file.in_use()) continue;
      if (const int64_t bytes = node->unsaved_bytes(file); bytes > 0)
        left.files.push_back({file.path, bytes, "not committed yet"});
    }
    node->leave_as_it_is();
    return left;
  }
  for (const uint32_t dead : node->dead_processes()) {
    for (const Node::Saved& saved : node->reap(dead, true, settings.force)) {
      if (saved.refusal.empty() && saved.status.ok()) left.files.push_back(left_file(saved));
    }
  }
  for (const Node::Saved& saved : node->save_kept(true, settings.force))
    left.files.push_back(left_file(saved));
  return left;
}

std::vector<LeftCache> recover(const RecoverSettings& settings) {
  const std::string base = settings.arena_dir.empty() ? "/dev/shm" : settings.arena_dir;
  const std::filesystem::path folder = base + "/forebay-" + std::to_string(geteuid());
  std::vector<std::string> registries;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".registry") && name.starts_with(settings.job))
      registries.push_back(entry.path().string());
  }
  std::sort(registries.begin(), registries.end());
  std::vector<LeftCache> all;
  for (const std::string& registry : registries) all.push_back(recover_cache(registry, settings));
  return all;
}

}  // namespace forebay::runtime
