// forebay._core: the cluster simulator. Only a binding; the headers that it includes say what
// everything means.
#include "cluster_binding.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "columns.h"
#include "options/options.h"
#include "runtime/cache/handle_rules.h"
#include "runtime/trace/recorded_run.h"
#include "sim/cluster/cluster.h"
#include "sim/cluster/metadata_work.h"
#include "sim/cluster/recorded_order.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace forebay {

namespace {

using sim::Caching;
using sim::ClusterResult;
using sim::ClusterSettings;
using sim::DiskProfile;
using sim::FlashProfile;
using sim::MeasuredProfile;
using sim::MeasuredTimes;
using sim::NetworkProfile;
using sim::PagedProfile;
using sim::Picoseconds;
using sim::PvfsProfile;
using sim::ServerProfile;

using Texts = std::map<std::string, std::string>;

constexpr uint32_t most_hosts = 1 << 20;  // of a kind

Picoseconds picoseconds(double seconds) {
  return static_cast<Picoseconds>(seconds * static_cast<double>(sim::second) + 0.5);
}
double seconds(Picoseconds time) {
  return static_cast<double>(time) / static_cast<double>(sim::second);
}

// A member of a profile that is a time, in seconds.
template <typename Profile, Picoseconds Profile::*member>
void time(nb::class_<Profile>& bound, const char* name) {
  bound.def_prop_rw(
      name, [](const Profile& profile) { return seconds(profile.*member); },
      [](Profile& profile, double value) { profile.*member = picoseconds(value); });
}

// Raises ValueError for what no run accepts.
void set_cache(ClusterSettings& settings, const Texts& texts) {
  const Options options = options_of(texts);
  settings.cache.shape = runtime::shape_of(options);
  settings.cache.handles = runtime::rules_of(options);
  settings.cache.commit_size_bytes = options.commit_size_bytes;
  settings.cache.keeps_pages = options.keep != Keep::never;
  settings.cache.commit_at_last_close = options.commit_at_close == CommitAtClose::last;
  settings.assignment = find_assignment(options.domain);
  settings.chunk_bytes = options.domain_size_bytes;
  settings.owners = static_cast<uint32_t>(options.cb_nodes);
}

Caching caching_of(const std::string& scope) {
  if (scope == "none") return Caching::none;
  if (scope == "process") return Caching::process;
  if (scope == "node") return Caching::node;
  expect(scope == "job", "a scope is none, process, node or job");
  return Caching::job;
}

// What the recorded run did to its caches is done to the simulated ones; `options` are theirs.
// Raises ValueError, one line, if the trace does not tell, or other processes shared a cache.
void set_steps(ClusterSettings& settings, const std::shared_ptr<const runtime::RecordedRun>& run,
               Texts options) {
  const bool shared = settings.caching != Caching::process;
  options["scope"] = shared ? "node" : "process";
  settings.steps = {new sim::RecordedSteps(run->steps(options)),
                    [run](const sim::RecordedSteps* steps) { delete steps; }};
  static_cast<void>(sim::RecordedOrder(*settings.steps));  // throws, if there is none
  if (!shared) return;
  std::map<uint32_t, std::string> caches;  // by node
  bool same = true;
  for (const sim::RecordedSteps::Cache& cache : settings.steps->caches()) {
    int64_t bytes = 0;
    expect(!__builtin_mul_overflow(settings.cache.shape.capacity_bytes, cache.ranks, &bytes),
           "its cache would be larger than 63 bits can say");
    for (const uint32_t process : cache.processes) {
      expect(process < settings.node_of_process.size(), "a process has no node");
      const auto known = caches.try_emplace(settings.node_of_process[process], cache.name).first;
      same = same && known->second == cache.name;
    }
  }
  expect(same && caches.size() == settings.steps->caches().size(),
         "its caches were shared by other processes than those of a node here");
}

DiskProfile disk_of(const std::string& model, const std::string& scheduler) {
  DiskProfile disk;
  if (model == "wd800jd") {
    disk = sim::wd800jd();
  } else {
    expect(model == "as-configured", "a disk is a wd800jd or as-configured");
    disk = sim::published_simulator_disk();
  }
  if (scheduler == "fcfs") {
    disk.scheduler = sim::DiskScheduler::fcfs;
  } else if (scheduler == "sstf") {
    disk.scheduler = sim::DiskScheduler::sstf;
  } else {
    expect(scheduler == "elevator", "a scheduler is fcfs, sstf or elevator");
    disk.scheduler = sim::DiskScheduler::elevator;
  }
  return disk;
}

sim::RaidProfile raid_of(const std::string& level, uint32_t members, int64_t unit_bytes) {
  using sim::RaidLevel;
  const std::map<std::string, RaidLevel> levels = {{"0", RaidLevel::raid0},
                                                   {"1", RaidLevel::raid1},
                                                   {"5", RaidLevel::raid5},
                                                   {"6", RaidLevel::raid6}};
  const auto known = levels.find(level);
  expect(known != levels.end(), "a group of disks has the level 0, 1, 5 or 6");
  expect(unit_bytes >= 512 && members >= 1 && members <= 1024, "a group has 1 to 1,024 disks");
  return {known->second, members, unit_bytes};
}

void check(const PvfsProfile& files) {
  expect(std::ranges::all_of(files.strips, [](int64_t strip) { return strip >= 0; }) &&
             files.group_servers >= 0 && files.unit_bytes > 0,
         "strips and units have bytes");
  expect(files.strip_bytes > 0 && files.flow_buffer_bytes > 0 && files.flow_buffers > 0 &&
             files.extents_a_request > 0 && files.extent_bytes >= 0 && files.entries_a_readdir > 0,
         "strips and flow buffers have bytes, requests extents, and responses entries");
}
void check(const PagedProfile& files) {
  expect(files.page_bytes >= 512 && files.stripe_bytes > 0 && files.stripe_count > 0 &&
             files.rpc_bytes > 0 && files.stripe_bytes % files.page_bytes == 0 &&
             files.rpc_bytes % files.page_bytes == 0,
         "stripes and requests consist of pages");
  expect(files.cache_bytes > 0 && files.dirty_bytes > 0 && files.rpcs_in_flight > 0 &&
             files.extents_an_rpc > 0 && files.read_ahead_bytes >= 0 &&
             files.copy_bytes_per_second > 0 && files.entries_a_readdir > 0,
         "caches have bytes, requests extents, responses entries, and copies a rate");
}
void check(const MeasuredProfile& files) {
  for (const MeasuredTimes* const times :
       {&files.write, &files.read, &files.read_written, &files.read_reopened})
    expect(times->alone_rate > 0 && times->together_rate > 0, "requests have a rate");
  expect(files.full_speed_nodes > 0 && files.requests_at_once > 0 &&
             files.requests_at_once <= 1024 && files.close_rate >= 0,
         "nodes are served, and accesses make 1 to 1,024 requests at once");
}
void check(const FlashProfile& drive) {
  expect(drive.bytes > 0 && drive.page_bytes >= 512 && drive.channels > 0 &&
             drive.channels <= 4096 && drive.queue_depth > 0 &&
             drive.channel_bytes_per_second > 0 && drive.interface_bytes_per_second > 0,
         "a drive has pages and channels with a rate");
}

// Raises ValueError for a machine that no simulation accepts.
void check(const sim::MachineSettings& settings) {
  expect(settings.servers >= 1 && settings.servers <= most_hosts,
         "there are 1 to 1,048,576 servers");
  std::visit([](const auto& files) { check(files); }, settings.file_system);
  if (const auto* const pvfs = std::get_if<PvfsProfile>(&settings.file_system))
    expect(pvfs->group_servers == 0 || settings.servers % pvfs->group_servers == 0,
           "groups have equally many servers");
  if (const auto* const flash = std::get_if<FlashProfile>(&settings.device)) check(*flash);
  const NetworkProfile& network = settings.network;
  expect(network.segments_an_acknowledgement == 1 || network.segments_an_acknowledgement == 2,
         "a receiver acknowledges each segment or every second one");
  expect(network.bits_per_second > 0 && network.mss > 0 && network.window > 0 && network.mtu > 0,
         "a network has a rate, and frames with bytes");
  expect(settings.server.block_bytes >= 512 && settings.server.copy_bytes_per_second > 0,
         "blocks have 512 bytes or more, and copies a rate");
}

// The most memory, in bytes, that the states of pages take if they are masks: three bits a byte of
// the pages that accesses reach, each once in every cache that has it, or of the caches.
double mask_bytes(const sim::AccessLog& log, const ClusterSettings& settings) {
  constexpr double bits = 3, bits_a_byte = 8;
  constexpr uint32_t of_all = std::numeric_limits<uint32_t>::max();
  const CacheShape& shape = settings.cache.shape;
  std::unordered_set<uint32_t> owned;  // files whose bytes have one owner each
  for (const sim::DataAccess& access : log.accesses()) {
    if (settings.caching == Caching::job && access.writes) owned.insert(access.file);
  }
  const auto cache_of = [&](const sim::DataAccess& access) {
    if (settings.caching == Caching::process) return access.process;
    return owned.contains(access.file) ? of_all : settings.node_of_process[access.process];
  };
  struct Reached {
    int64_t offset = std::numeric_limits<int64_t>::max(), end = 0;
    double bytes = 0;  // of the accesses, one by one
  };
  std::unordered_map<uint64_t, Reached> parts;  // by file and cache
  for (const sim::DataAccess& access : log.accesses()) {
    Reached& part = parts[uint64_t{access.file} << 32 | cache_of(access)];
    part.offset = std::min(part.offset, access.offset);
    part.end = std::max(part.end, access.end);
    part.bytes += static_cast<double>(access.end - access.offset + 2 * shape.page_size);
  }
  double reached = 0;
  for (const auto& [where, part] : parts)
    reached +=
        std::min(part.bytes, static_cast<double>(part.end - part.offset + 2 * shape.page_size));
  const double capacity = static_cast<double>(shape.capacity_bytes) * log.processes();
  return std::min(reached, capacity) * bits / bits_a_byte;
}

ClusterResult simulate(const sim::AccessLog& log, const ClusterSettings& settings,
                       sim::Progress& progress) {
  check(static_cast<const sim::MachineSettings&>(settings));
  expect(settings.node_of_process.size() >= log.processes(), "a process has no node");
  expect(settings.steps == nullptr || settings.caching == Caching::process ||
             settings.caching == Caching::node,
         "steps are of caches of processes or nodes");
  for (const uint32_t node : settings.node_of_process)
    expect(node < most_hosts, "nodes are below 1,048,576");
  expect(settings.copy_bytes_per_second > 0, "copies have a rate");
  expect(settings.caching != Caching::job || settings.assignment != nullptr,
         "a job's caches need options");
  const nb::gil_scoped_release release;
  return sim::simulate_cluster(log, settings, progress);
}

sim::MetadataResult simulate_files(std::vector<uint32_t> parents, std::vector<int64_t> bytes,
                                   const ClusterSettings& settings, sim::Progress& progress) {
  check(static_cast<const sim::MachineSettings&>(settings));
  const sim::FileTree tree{std::move(parents), std::move(bytes)};
  expect(tree.is_sound(), "a directory is followed by what is in it");
  expect(!std::holds_alternative<MeasuredProfile>(settings.file_system),
         "a measured file system has no metadata");
  const nb::gil_scoped_release release;
  return sim::simulate_metadata(tree, settings, progress);
}

// By the number of MetadataOperation: how often, and seconds.
std::vector<std::pair<int64_t, double>> operation_sums(const sim::MetadataResult::Task& task) {
  std::vector<std::pair<int64_t, double>> sums;
  for (const auto& sum : task.operations) sums.emplace_back(sum.times, seconds(sum.time));
  return sums;
}

// The columns of a timeline: process, what it does (by number of Doing), file (or -1), bytes, and
// start and end in nanoseconds.
nb::dict timeline_of(const ClusterResult& result) {
  std::vector<uint32_t> process;
  std::vector<uint8_t> doing;
  std::vector<int64_t> file, bytes, start, end;
  for (const sim::Span& span : result.timeline) {
    process.push_back(span.process);
    doing.push_back(static_cast<uint8_t>(span.doing));
    file.push_back(span.file == sim::Span::no_file ? -1 : int64_t{span.file});
    bytes.push_back(span.bytes);
    start.push_back(span.start / sim::nanosecond);
    end.push_back(span.end / sim::nanosecond);
  }
  nb::dict columns;
  columns["process"] = array_of(std::move(process));
  columns["doing"] = array_of(std::move(doing));
  columns["file"] = array_of(std::move(file));
  columns["bytes"] = array_of(std::move(bytes));
  columns["start_ns"] = array_of(std::move(start));
  columns["end_ns"] = array_of(std::move(end));
  return columns;
}

// The readings of sim::ClusterSeries, and how many servers and hosts they are of.
nb::dict series_of(const ClusterResult& result) {
  const sim::ClusterSeries& series = result.series;
  nb::dict columns;
  columns["servers"] = series.servers;
  columns["hosts"] = series.hosts;
  columns["times_ps"] = array_of(std::vector<int64_t>(series.times));
  columns["readings"] = array_of(std::vector<int64_t>(series.readings));
  return columns;
}

// The columns of who waited for whom: hosts by number, why (by number of Waiting), how often, and
// seconds.
nb::dict waits_of(const ClusterResult& result) {
  std::vector<uint32_t> host, other;
  std::vector<uint8_t> reason;
  std::vector<int64_t> times;
  std::vector<double> waited;
  for (const auto& [key, sum] : result.waits.sums()) {
    host.push_back(key.host);
    other.push_back(key.other);
    reason.push_back(static_cast<uint8_t>(key.reason));
    times.push_back(sum.times);
    waited.push_back(seconds(sum.time));
  }
  nb::dict columns;
  columns["host"] = array_of(std::move(host));
  columns["other"] = array_of(std::move(other));
  columns["reason"] = array_of(std::move(reason));
  columns["times"] = array_of(std::move(times));
  columns["seconds"] = array_of(std::move(waited));
  columns["hosts"] = result.hosts;
  return columns;
}

template <typename Each>
std::vector<double> times_of(const ClusterResult& result, const Each& each) {
  std::vector<double> times;
  for (const auto& process : result.processes) times.push_back(seconds(process.*each));
  return times;
}

}  // namespace

void bind_cluster(nb::module_& module) {
  nb::class_<NetworkProfile> network(module, "NetworkProfile", "The network of a cluster.");
  network.def(nb::init<>())
      .def_rw("bits_per_second", &NetworkProfile::bits_per_second)
      .def_rw("mtu", &NetworkProfile::mtu)
      .def_rw("mss", &NetworkProfile::mss)
      .def_rw("window", &NetworkProfile::window)
      .def_rw("segments_an_acknowledgement", &NetworkProfile::segments_an_acknowledgement)
      .def_rw("buffer_per_port", &NetworkProfile::buffer_per_port)
      .def_rw("least_buffer", &NetworkProfile::least_buffer)
      .def_rw("most_buffer", &NetworkProfile::most_buffer)
      .def_rw("nic_queue_frames", &NetworkProfile::nic_queue_frames)
      .def_rw("nic_transmit_limit_frames", &NetworkProfile::nic_transmit_limit_frames)
      .def_rw("serial_hosts", &NetworkProfile::serial_hosts)
      .def_rw("by_frames", &NetworkProfile::by_frames)
      .def_rw("copy_bytes_per_second", &NetworkProfile::copy_bytes_per_second);
  time<NetworkProfile, &NetworkProfile::host_delay>(network, "host_delay_s");
  time<NetworkProfile, &NetworkProfile::switch_delay>(network, "switch_delay_s");

  nb::class_<PvfsProfile> file_system(module, "PvfsProfile", "A file system like PVFS 2.");
  file_system.def(nb::init<>())
      .def_rw("strip_bytes", &PvfsProfile::strip_bytes)
      .def_rw("strips", &PvfsProfile::strips)
      .def_rw("group_servers", &PvfsProfile::group_servers)
      .def_rw("unit_bytes", &PvfsProfile::unit_bytes)
      .def_rw("flow_buffer_bytes", &PvfsProfile::flow_buffer_bytes)
      .def_rw("flow_buffers", &PvfsProfile::flow_buffers)
      .def_rw("extents_a_request", &PvfsProfile::extents_a_request)
      .def_rw("extent_bytes", &PvfsProfile::extent_bytes)
      .def_rw("entries_a_readdir", &PvfsProfile::entries_a_readdir)
      .def_rw("driven_by_servers", &PvfsProfile::driven_by_servers);
  time<PvfsProfile, &PvfsProfile::request_time>(file_system, "request_s");
  time<PvfsProfile, &PvfsProfile::open>(file_system, "open_s");
  time<PvfsProfile, &PvfsProfile::create_directory_entry>(file_system, "create_directory_entry_s");
  time<PvfsProfile, &PvfsProfile::create_data_file>(file_system, "create_data_file_s");
  time<PvfsProfile, &PvfsProfile::create_metadata>(file_system, "create_metadata_s");
  time<PvfsProfile, &PvfsProfile::get_attributes>(file_system, "get_attributes_s");
  time<PvfsProfile, &PvfsProfile::lookup>(file_system, "lookup_s");
  time<PvfsProfile, &PvfsProfile::stat>(file_system, "stat_s");
  time<PvfsProfile, &PvfsProfile::utime>(file_system, "utime_s");
  time<PvfsProfile, &PvfsProfile::mkdir>(file_system, "mkdir_s");
  time<PvfsProfile, &PvfsProfile::readdir>(file_system, "client_readdir_s");
  time<PvfsProfile, &PvfsProfile::unlink>(file_system, "unlink_s");
  time<PvfsProfile, &PvfsProfile::set_attributes>(file_system, "set_attributes_s");
  time<PvfsProfile, &PvfsProfile::read_directory>(file_system, "readdir_s");
  time<PvfsProfile, &PvfsProfile::remove_directory_entry>(file_system, "remove_directory_entry_s");
  time<PvfsProfile, &PvfsProfile::remove_metadata>(file_system, "remove_metadata_s");
  time<PvfsProfile, &PvfsProfile::remove_object>(file_system, "remove_object_s");

  nb::class_<PagedProfile> paged(module, "PagedProfile", "A file system like Lustre, or like NFS.");
  paged.def(nb::init<>())
      .def_rw("locks", &PagedProfile::locks)
      .def_rw("stripe_bytes", &PagedProfile::stripe_bytes)
      .def_rw("stripe_count", &PagedProfile::stripe_count)
      .def_rw("page_bytes", &PagedProfile::page_bytes)
      .def_rw("cache_bytes", &PagedProfile::cache_bytes)
      .def_rw("dirty_bytes", &PagedProfile::dirty_bytes)
      .def_rw("read_ahead_bytes", &PagedProfile::read_ahead_bytes)
      .def_rw("rpc_bytes", &PagedProfile::rpc_bytes)
      .def_rw("extents_an_rpc", &PagedProfile::extents_an_rpc)
      .def_rw("rpcs_in_flight", &PagedProfile::rpcs_in_flight)
      .def_rw("carried_bytes", &PagedProfile::carried_bytes)
      .def_rw("commits_at_close", &PagedProfile::commits_at_close)
      .def_rw("entries_a_readdir", &PagedProfile::entries_a_readdir)
      .def_rw("copy_bytes_per_second", &PagedProfile::copy_bytes_per_second);
  time<PagedProfile, &PagedProfile::call>(paged, "call_s");
  time<PagedProfile, &PagedProfile::request_time>(paged, "request_s");
  time<PagedProfile, &PagedProfile::lock_time>(paged, "lock_s");
  time<PagedProfile, &PagedProfile::create>(paged, "create_s");
  time<PagedProfile, &PagedProfile::open>(paged, "open_s");
  time<PagedProfile, &PagedProfile::close>(paged, "close_s");
  time<PagedProfile, &PagedProfile::get_attributes>(paged, "get_attributes_s");
  time<PagedProfile, &PagedProfile::set_attributes>(paged, "set_attributes_s");
  time<PagedProfile, &PagedProfile::read_directory>(paged, "readdir_s");
  time<PagedProfile, &PagedProfile::remove>(paged, "remove_s");
  time<PagedProfile, &PagedProfile::library_lock>(paged, "library_lock_s");

  nb::class_<MeasuredTimes> times(module, "MeasuredTimes", "Of reads, or of writes.");
  times.def(nb::init<>())
      .def_rw("alone_bytes_per_second", &MeasuredTimes::alone_rate)
      .def_rw("together_bytes_per_second", &MeasuredTimes::together_rate);
  time<MeasuredTimes, &MeasuredTimes::alone>(times, "alone_s");
  time<MeasuredTimes, &MeasuredTimes::together>(times, "together_s");

  nb::class_<MeasuredProfile> measured(module, "MeasuredProfile",
                                       "A file system of which only times are known.");
  measured.def(nb::init<>())
      .def_rw("read", &MeasuredProfile::read)
      .def_rw("read_written", &MeasuredProfile::read_written)
      .def_rw("read_reopened", &MeasuredProfile::read_reopened)
      .def_rw("write", &MeasuredProfile::write)
      .def_rw("close_bytes_per_second", &MeasuredProfile::close_rate)
      .def_rw("full_speed_nodes", &MeasuredProfile::full_speed_nodes)
      .def_rw("requests_at_once", &MeasuredProfile::requests_at_once);
  time<MeasuredProfile, &MeasuredProfile::create>(measured, "create_s");
  time<MeasuredProfile, &MeasuredProfile::open>(measured, "open_s");
  time<MeasuredProfile, &MeasuredProfile::close>(measured, "close_s");
  time<MeasuredProfile, &MeasuredProfile::lock>(measured, "library_lock_s");

  nb::class_<FlashProfile> flash(module, "FlashProfile", "A flash drive.");
  flash.def(nb::init<>())
      .def_rw("bytes", &FlashProfile::bytes)
      .def_rw("page_bytes", &FlashProfile::page_bytes)
      .def_rw("channels", &FlashProfile::channels)
      .def_rw("channel_bytes_per_second", &FlashProfile::channel_bytes_per_second)
      .def_rw("interface_bytes_per_second", &FlashProfile::interface_bytes_per_second)
      .def_rw("queue_depth", &FlashProfile::queue_depth);
  time<FlashProfile, &FlashProfile::read_latency>(flash, "read_latency_s");
  time<FlashProfile, &FlashProfile::write_latency>(flash, "write_latency_s");

  nb::class_<ServerProfile> server(module, "ServerProfile", "A server's operating system.");
  server.def(nb::init<>())
      .def_rw("block_bytes", &ServerProfile::block_bytes)
      .def_rw("cache_bytes", &ServerProfile::cache_bytes)
      .def_rw("dirty_threshold", &ServerProfile::dirty_threshold)
      .def_rw("copy_bytes_per_second", &ServerProfile::copy_bytes_per_second)
      .def_rw("read_ahead_bytes", &ServerProfile::read_ahead_bytes);
  time<ServerProfile, &ServerProfile::system_call>(server, "system_call_s");

  nb::class_<ClusterSettings> settings(module, "ClusterSettings", "A job and its machine.");
  settings.def(nb::init<>())
      .def_rw("node_of_process", &ClusterSettings::node_of_process)
      .def_rw("servers", &ClusterSettings::servers)
      .def_rw("network", &ClusterSettings::network)
      .def_rw("file_system", &ClusterSettings::file_system)
      .def_rw("server", &ClusterSettings::server)
      .def_rw("copy_bytes_per_second", &ClusterSettings::copy_bytes_per_second)
      .def_rw("think", &ClusterSettings::think)
      .def_rw("timeline", &ClusterSettings::timeline)
      .def_rw("series", &ClusterSettings::series)
      .def_rw("waits", &ClusterSettings::waits)
      .def(
          "set_disk",
          [](ClusterSettings& of, const std::string& model, const std::string& scheduler) {
            of.device = disk_of(model, scheduler);
          },
          "model"_a, "scheduler"_a)
      .def(
          "set_raid",
          [](ClusterSettings& of, const std::string& level, uint32_t members, int64_t unit_bytes) {
            of.raid = raid_of(level, members, unit_bytes);
          },
          "level"_a, "members"_a, "unit_bytes"_a)
      .def(
          "set_flash",
          [](ClusterSettings& of, const FlashProfile& profile) { of.device = profile; },
          "profile"_a)
      .def(
          "set_caching",
          [](ClusterSettings& of, const std::string& scope, const Texts& options) {
            of.caching = caching_of(scope);
            set_cache(of, options);
          },
          "scope"_a, "options"_a, "Raises ValueError, one line, for options that no run accepts.");
  settings.def(
      "set_steps",
      [](ClusterSettings& of, const std::shared_ptr<const runtime::RecordedRun>& run,
         const Texts& options) { set_steps(of, run, options); },
      "run"_a, "options"_a,
      "After set_caching, with the same options: the caches do what those of the run did, in the"
      " recorded order. Raises ValueError, one line, if this is not possible.");
  settings.def_prop_ro(
      "deterministic", [](const ClusterSettings& of) { return of.cache.handles.deterministic; },
      "The option.");
  settings.def(
      "mask_bytes",
      [](const ClusterSettings& of, const sim::AccessLog& log) { return mask_bytes(log, of); },
      "log"_a, "The most memory that masks of pages take.");
  settings.def(
      "set_collective",
      [](ClusterSettings& of, uint32_t aggregators, int64_t buffer_bytes, double message,
         double window) {
        expect(buffer_bytes > 0, "an aggregator's buffer has bytes");
        of.collective = true;
        of.union_window_ns = window < 0 ? -1 : picoseconds(window) / sim::nanosecond;
        of.message = picoseconds(message);
        of.two_phase = {aggregators, buffer_bytes};
      },
      "aggregators"_a, "buffer_bytes"_a, "message_s"_a, "window_s"_a,
      "Processes of collective calls wait for each other. Without a cache the calls are made in two"
      " phases.");
  time<ClusterSettings, &ClusterSettings::call_time>(settings, "call_s");

  nb::class_<ClusterResult>(module, "ClusterResult", "What a job on a cluster took.")
      .def_prop_ro("run_s", [](const ClusterResult& r) { return seconds(r.run_time); })
      .def_prop_ro("end_s",
                   [](const ClusterResult& r) { return times_of(r, &sim::ProcessTimes::end); })
      .def_prop_ro(
          "computing_s",
          [](const ClusterResult& r) { return times_of(r, &sim::ProcessTimes::computing); })
      .def_prop_ro("opening_s",
                   [](const ClusterResult& r) { return times_of(r, &sim::ProcessTimes::opening); })
      .def_prop_ro("reading_s",
                   [](const ClusterResult& r) { return times_of(r, &sim::ProcessTimes::reading); })
      .def_prop_ro("writing_s",
                   [](const ClusterResult& r) { return times_of(r, &sim::ProcessTimes::writing); })
      .def_prop_ro("closing_s",
                   [](const ClusterResult& r) { return times_of(r, &sim::ProcessTimes::closing); })
      .def_ro("accesses", &ClusterResult::accesses)
      .def_ro("read_bytes", &ClusterResult::read_bytes)
      .def_ro("written_bytes", &ClusterResult::written_bytes)
      .def_ro("caches", &ClusterResult::cache_count)
      .def_ro("requests", &ClusterResult::requests)
      .def_ro("events", &ClusterResult::events)
      .def("timeline", &timeline_of, nb::sig("def timeline(self) -> dict[str, typing.Any]"),
           "What each process did when, as columns.")
      .def("series", &series_of, nb::sig("def series(self) -> dict[str, typing.Any]"),
           "What the parts of the cluster did by when (src/sim/cluster/cluster.h).")
      .def("waits", &waits_of, nb::sig("def waits(self) -> dict[str, typing.Any]"),
           "Who waited for whom (src/sim/cluster/waits.h).")
      .def_prop_ro("collective_calls", [](const ClusterResult& r) { return r.two_phase.calls; })
      .def_ro("incomplete_calls", &ClusterResult::calls_without_some)
      .def_prop_ro("exchanged_bytes",
                   [](const ClusterResult& r) { return r.two_phase.exchanged_bytes; })
      .def_prop_ro("agent_questions", [](const ClusterResult& r) { return r.owned.questions; })
      .def_prop_ro("agent_bytes", [](const ClusterResult& r) { return r.owned.moved_bytes; })
      .def_prop_ro("lock_requests", [](const ClusterResult& r) { return r.locks.asked; })
      .def_prop_ro("locks_called_back", [](const ClusterResult& r) { return r.locks.called_back; })
      .def_prop_ro("hits", [](const ClusterResult& r) { return r.caches.hits; })
      .def_prop_ro("misses", [](const ClusterResult& r) { return r.caches.misses; })
      .def_prop_ro("evictions", [](const ClusterResult& r) { return r.caches.evictions; })
      .def_prop_ro("committed_bytes",
                   [](const ClusterResult& r) { return r.caches.committed_bytes; })
      .def_prop_ro(
          "cache_requests",
          [](const ClusterResult& r) { return r.caches.read_requests + r.caches.write_requests; })
      .def_prop_ro("bypass_bytes", [](const ClusterResult& r) { return r.caches.bypass_bytes; })
      .def_prop_ro("fetched_bytes", [](const ClusterResult& r) { return r.caches.fetched_bytes; })
      .def_prop_ro("frames", [](const ClusterResult& r) { return r.network.frames; })
      .def_prop_ro("dropped_frames", [](const ClusterResult& r) { return r.network.dropped; })
      .def_prop_ro("timeouts", [](const ClusterResult& r) { return r.network.timeouts; })
      .def_prop_ro("server_busy_s",
                   [](const ClusterResult& r) {
                     std::vector<double> busy;
                     for (const auto& counts : r.servers) busy.push_back(seconds(counts.busy));
                     return busy;
                   })
      .def_prop_ro("disk_busy_s", [](const ClusterResult& r) {
        std::vector<double> busy;
        for (const auto& counts : r.devices) busy.push_back(seconds(counts.busy));
        return busy;
      });
  module.def("simulate_cluster", &simulate, "log"_a, "settings"_a, "progress"_a);

  using sim::MetadataResult;
  nb::class_<MetadataResult::Task>(module, "MetadataTask", "What a task with a tree of files took.")
      .def_prop_ro("seconds", [](const MetadataResult::Task& task) { return seconds(task.time); })
      .def_prop_ro("operations", &operation_sums)
      .def_ro("messages", &MetadataResult::Task::messages)
      .def_ro("message_bytes", &MetadataResult::Task::message_bytes)
      .def_ro("served", &MetadataResult::Task::served)
      .def_ro("written_bytes", &MetadataResult::Task::written_bytes);
  nb::class_<MetadataResult>(module, "MetadataResult", "What a tree of files took.")
      .def_prop_ro("tasks",
                   [](const MetadataResult& result) {
                     return std::vector(result.tasks.begin(), result.tasks.end());
                   })
      .def_prop_ro("dropped_frames", [](const MetadataResult& r) { return r.network.dropped; })
      .def_prop_ro("timeouts", [](const MetadataResult& r) { return r.network.timeouts; })
      .def_ro("events", &MetadataResult::events);
  module.def("simulate_metadata", &simulate_files, "parents"_a, "bytes"_a, "settings"_a,
             "progress"_a, "A tree of files is extracted, listed and removed.");
}

}  // namespace forebay
