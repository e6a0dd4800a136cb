// The machine of a simulation: what its servers are, and the file system that they are.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "sim/cluster/block_device.h"
#include "sim/cluster/disk.h"
#include "sim/cluster/file_system.h"
#include "sim/cluster/flash.h"
#include "sim/cluster/kernel.h"
#include "sim/cluster/measured_file_system.h"
#include "sim/cluster/network.h"
#include "sim/cluster/paged_file_system.h"
#include "sim/cluster/pvfs.h"
#include "sim/cluster/raid.h"
#include "sim/cluster/server_storage.h"

namespace forebay::sim {

// The devices of a server as one.
struct RaidProfile {
  RaidLevel level = RaidLevel::raid0;
  uint32_t members = 1;  // 1: no group
  int64_t unit_bytes = 64 << 10;
};

struct MachineSettings {
  uint32_t servers = 1;
  NetworkProfile network;
  std::variant<PvfsProfile, PagedProfile, MeasuredProfile> file_system;
  ServerProfile server;
  std::variant<DiskProfile, FlashProfile> device;  // of each server, or of its group
  RaidProfile raid;
};

// The servers' devices, and their operating systems as far as storage is concerned.
class Servers {
 public:
  Servers(Kernel& kernel, const MachineSettings& settings);

  std::span<ServerStorage* const> storages() const { return pointers_; }
  std::span<const std::unique_ptr<BlockDevice>> devices() const { return devices_; }

 private:
  std::unique_ptr<BlockDevice> made_group(Kernel& kernel, const MachineSettings& settings);

  std::vector<std::unique_ptr<BlockDevice>> members_;  // of groups
  std::vector<std::unique_ptr<BlockDevice>> devices_;
  std::vector<std::unique_ptr<ServerStorage>> storages_;
  std::vector<ServerStorage*> pointers_;
};

// Hosts of the network are the clients, from 0 on, then the servers, then one for metadata.
std::unique_ptr<FileSystem> made_file_system(Kernel& kernel, Network& network,
                                             const MachineSettings& settings, uint32_t clients,
                                             std::span<ServerStorage* const> storages);

}  // namespace forebay::sim
