#include "sim/cluster/machine.h"

#include <utility>

namespace forebay::sim {
namespace {

std::unique_ptr<BlockDevice> made_device(Kernel& kernel, const MachineSettings& settings) {
  if (const auto* const disk = std::get_if<DiskProfile>(&settings.device))
    return std::make_unique<Disk>(kernel, *disk);
  return std::make_unique<Flash>(kernel, std::get<FlashProfile>(settings.device));
}

}  // namespace

Servers::Servers(Kernel& kernel, const MachineSettings& settings) {
  for (uint32_t s = 0; s < settings.servers; ++s) {
    devices_.push_back(made_group(kernel, settings));
    storages_.push_back(std::make_unique<ServerStorage>(kernel, *devices_.back(), settings.server));
    pointers_.push_back(storages_.back().get());
  }
}

// Of one server.
std::unique_ptr<BlockDevice> Servers::made_group(Kernel& kernel, const MachineSettings& settings) {
  const RaidProfile& raid = settings.raid;
  if (raid.members == 1) return made_device(kernel, settings);
  std::vector<BlockDevice*> group;
  for (uint32_t m = 0; m < raid.members; ++m) {
    members_.push_back(made_device(kernel, settings));
    group.push_back(members_.back().get());
  }
  return std::make_unique<Raid>(kernel, raid.level, raid.unit_bytes, std::move(group));
}

std::unique_ptr<FileSystem> made_file_system(Kernel& kernel, Network& network,
                                             const MachineSettings& settings, uint32_t clients,
                                             std::span<ServerStorage* const> storages) {
  const auto made = [&]<typename System>(const auto& profile) {
    return std::make_unique<System>(kernel, network, profile, clients, storages);
  };
  if (const auto* const pvfs = std::get_if<PvfsProfile>(&settings.file_system))
    return made.operator()<Pvfs>(*pvfs);
  if (const auto* const measured = std::get_if<MeasuredProfile>(&settings.file_system))
    return made.operator()<MeasuredFileSystem>(*measured);
  return made.operator()<PagedFileSystem>(std::get<PagedProfile>(settings.file_system));
}

}  // namespace forebay::sim
