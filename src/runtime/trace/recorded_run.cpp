#include "runtime/trace/recorded_run.h"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "extent/text.h"
#include "options/options.h"
#include "runtime/cache/handle_rules.h"

namespace forebay::runtime {
namespace {

sim::CacheSettings settings_of(const Options& options) {
  sim::CacheSettings settings;
  settings.shape = shape_of(options);
  settings.handles = rules_of(options);
  settings.commit_size_bytes = options.commit_size_bytes;
  settings.commit_at_last_close = options.commit_at_close == CommitAtClose::last;
  return settings;
}

sim::Sharing sharing_of(const Options& options) {
  return options.scope == Scope::process ? sim::Sharing::process : sim::Sharing::node;
}

bool is_option(const std::string& name) {
  return std::ranges::any_of(option_table(), [&](const auto& spec) { return spec.name == name; });
}

}  // namespace

RecordedRun::RecordedRun(std::shared_ptr<const TraceReader> reader) : reader_(std::move(reader)) {
  AccessStream stream(reader_);
  std::vector<BadBlock> bad;
  stream.next(0, table_, bad);
}

std::map<std::string, std::string> RecordedRun::options() const {
  std::map<std::string, std::string> named;
  if (reader_->job().processes().empty()) return named;
  std::string_view lines = reader_->job().processes().front().options;
  while (!lines.empty()) {
    std::string_view value = cut(lines, '\n');
    const std::string name(cut(value, '='));
    if (is_option(name)) named[name] = value;
  }
  return named;
}

sim::RecordedSteps RecordedRun::steps(const std::map<std::string, std::string>& options) const {
  const Options parsed = options_of(options);
  sim::RecordedSteps steps(reader_->job(), table_, sharing_of(parsed), parsed.page_size_bytes);
  if (!steps.problem().empty()) throw std::invalid_argument(steps.problem());
  return steps;
}

std::vector<sim::ReplayedCache> RecordedRun::replay(
    const std::map<std::string, std::string>& options) const {
  const Options parsed = options_of(options);
  sim::Replayed replayed =
      sim::replay(reader_->job(), table_, settings_of(parsed), sharing_of(parsed));
  if (!replayed.problem.empty()) throw std::invalid_argument(replayed.problem);
  return std::move(replayed.caches);
}

}  // namespace forebay::runtime
