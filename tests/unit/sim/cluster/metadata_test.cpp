// Metadata of simulated file systems: messages of each operation, counted by hand; how they grow
// with the servers; trees of files.
#include "sim/cluster/metadata.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "sim/cluster/metadata_work.h"

namespace forebay::sim {
namespace {

MachineSettings pvfs_machine(uint32_t servers, bool driven_by_servers) {
  PvfsProfile pvfs;
  pvfs.driven_by_servers = driven_by_servers;
  pvfs.create_directory_entry = 1'172 * microsecond;
  pvfs.create_data_file = 885 * microsecond;
  pvfs.create_metadata = 654 * microsecond;
  pvfs.get_attributes = 601 * microsecond;
  pvfs.set_attributes = 1'316 * microsecond;
  pvfs.lookup = 668 * microsecond;
  pvfs.read_directory = 603 * microsecond;
  pvfs.remove_directory_entry = 1'855 * microsecond;
  pvfs.remove_metadata = 1'358 * microsecond;
  pvfs.remove_object = 508 * microsecond;
  MachineSettings settings;
  settings.servers = servers;
  settings.network.serial_hosts = true;
  settings.server.cache_bytes = 64 << 20;
  settings.device = wd800jd();
  settings.file_system = pvfs;
  return settings;
}

// A client of a machine, and the servers behind it.
class Clients {
 public:
  explicit Clients(const MachineSettings& settings)
      : network(kernel, settings.network, 1 + settings.servers + 1),
        servers(kernel, settings),
        files(made_file_system(kernel, network, settings, 1, servers.storages())),
        metadata(dynamic_cast<Metadata&>(*files)) {}

  struct Cost {
    uint64_t messages = 0;
    int64_t served = 0;
    Picoseconds time = 0;
  };
  Cost cost_of(const std::function<void()>& act) {
    const Cost before = so_far();
    Picoseconds time = 0;
    Process process(kernel, [&] {
      const Picoseconds began = kernel.now();
      act();
      time = kernel.now() - began;
    });
    EXPECT_TRUE(kernel.run());
    EXPECT_TRUE(process.ended());
    const Cost after = so_far();
    return {after.messages - before.messages, after.served - before.served, time};
  }

  Kernel kernel;
  Network network;
  Servers servers;
  std::unique_ptr<FileSystem> files;
  Metadata& metadata;

 private:
  Cost so_far() const {
    Cost cost;
    cost.messages = network.counts().messages;
    for (uint32_t s = 0; s < files->counted(); ++s) cost.served += files->counts(s).requests;
    return cost;
  }
};

constexpr Named top{0, Named::root, true}, file_in_top{1, 0, false};

// A made tree: so many directories in a first one, with so many files each.
FileTree small_tree(uint32_t directories, uint32_t files, int64_t bytes) {
  FileTree tree{{0}, {FileTree::directory}};
  for (uint32_t d = 0; d < directories; ++d) {
    const auto number = static_cast<uint32_t>(tree.bytes.size());
    tree.parents.push_back(0);
    tree.bytes.push_back(FileTree::directory);
    for (uint32_t f = 0; f < files; ++f) {
      tree.parents.push_back(number);
      tree.bytes.push_back(bytes + f);
    }
  }
  return tree;
}

MetadataResult simulated_tree(const FileTree& tree, const MachineSettings& settings) {
  EXPECT_TRUE(tree.is_sound());
  Progress progress;
  const MetadataResult result = simulate_metadata(tree, settings, progress);
  EXPECT_EQ(progress.done.load(), metadata_tasks * tree.bytes.size());
  return result;
}

const MetadataResult::Operations& operations(const MetadataResult& result, MetadataTask task,
                                             MetadataOperation operation) {
  return result.tasks[static_cast<std::size_t>(task)]
      .operations[static_cast<std::size_t>(operation)];
}

Picoseconds each(const MetadataResult& result, MetadataTask task, MetadataOperation operation) {
  const MetadataResult::Operations& sum = operations(result, task, operation);
  return sum.time / sum.times;
}

// The client asks each server: a message there and one back.
TEST(PvfsMetadata, AClientAsksEachServer) {
  for (const uint32_t servers : {1u, 2u, 5u}) {
    Clients client(pvfs_machine(servers, false));
    Metadata& metadata = client.metadata;
    // The attributes of the root, then metadata, a data object, attributes, an entry.
    EXPECT_EQ(client.cost_of([&] { metadata.make_directory(0, top); }).messages, 2 * 5u);
    // Metadata, a data object on each server, attributes, an entry.
    const auto created = client.cost_of([&] { metadata.create_file(0, file_in_top); });
    EXPECT_EQ(created.messages, 2 * (servers + 3));
    EXPECT_EQ(created.served, servers + 3);
    EXPECT_EQ(client.cost_of([&] { metadata.set_attributes(0, file_in_top); }).messages, 2u);
    // The client knows the file: its size is what each server has.
    EXPECT_EQ(client.cost_of([&] { metadata.get_attributes(0, file_in_top); }).messages,
              2 * servers);
    EXPECT_EQ(client.cost_of([&] { metadata.get_attributes(0, top); }).messages, 0u);
    metadata.forget(0);
    // A look-up and the attributes besides.
    EXPECT_EQ(client.cost_of([&] { metadata.get_attributes(0, file_in_top); }).messages,
              2 * (servers + 2));
    EXPECT_EQ(client.cost_of([&] { metadata.get_attributes(0, top); }).messages, 2 * 2u);
    EXPECT_EQ(client.cost_of([&] { metadata.read_directory(0, 0, 33); }).messages, 2 * 2u);
    EXPECT_EQ(client.cost_of([&] { metadata.read_directory(0, 0, 0); }).messages, 2u);
    // An entry, metadata, an object of each server.
    const auto removed = client.cost_of([&] { metadata.remove_file(0, file_in_top); });
    EXPECT_EQ(removed.messages, 2 * (servers + 2));
    EXPECT_EQ(removed.served, servers + 2);
    EXPECT_EQ(client.cost_of([&] { metadata.remove_directory(0, top); }).messages, 2 * 3u);
  }
}

// The client asks one server, and it the others: a tree of N servers has N - 1 edges, each with a
// message there and one back. The server of the directory and that of the file may be the same.
TEST(PvfsMetadata, ServersAskEachOther) {
  for (const uint32_t servers : {1u, 2u, 5u}) {
    Clients client(pvfs_machine(servers, true));
    Metadata& metadata = client.metadata;
    client.cost_of([&] { metadata.make_directory(0, top); });
    const uint64_t tree = 2 * (servers - 1);
    const auto created = client.cost_of([&] { metadata.create_file(0, file_in_top); });
    const bool same = created.messages == 2 + tree;
    // To the file's server, for metadata and attributes.
    EXPECT_EQ(created.messages, 2 + tree + (same ? 0 : 2 * 2));
    EXPECT_EQ(created.served, servers + 3);
    EXPECT_EQ(client.cost_of([&] { metadata.get_attributes(0, file_in_top); }).messages, 2 + tree);
    metadata.forget(0);
    EXPECT_EQ(client.cost_of([&] { metadata.get_attributes(0, file_in_top); }).messages,
              2 + 2 + tree);
    const auto removed = client.cost_of([&] { metadata.remove_file(0, file_in_top); });
    EXPECT_EQ(removed.messages, 2 + tree + (same ? 0 : 2));
    EXPECT_EQ(removed.served, servers + 2);
    EXPECT_TRUE(same || servers > 1);
  }
}

TEST(PvfsMetadata, OneServerTakesItsTimesAlone) {
  for (const bool by_servers : {false, true}) {
    Clients client(pvfs_machine(1, by_servers));
    client.cost_of([&] { client.metadata.make_directory(0, top); });
    const Picoseconds created =
        client.cost_of([&] { client.metadata.create_file(0, file_in_top); }).time;
    const Picoseconds work = (1'172 + 885 + 654 + 1'316) * microsecond;
    EXPECT_GT(created, work);
    EXPECT_LT(created, work + millisecond);
  }
}

// A removed file leaves no bytes on the servers.
TEST(PvfsMetadata, ARemovedFileHasNoBytes) {
  for (const bool by_servers : {false, true}) {
    Clients client(pvfs_machine(4, by_servers));
    const auto on_servers = [&] {
      int64_t bytes = 0;
      for (const ServerStorage* storage : client.servers.storages()) bytes += storage->size(1);
      return bytes;
    };
    const Extent all{0, 300'000};
    client.cost_of([&] {
      client.metadata.make_directory(0, top);
      client.metadata.create_file(0, file_in_top);
      Completion done;
      client.files->access(0, 1, true, {&all, 1}, done.then());
      done.wait();
    });
    EXPECT_EQ(on_servers(), all.length);
    client.cost_of([&] { client.metadata.remove_file(0, file_in_top); });
    EXPECT_EQ(on_servers(), 0);
    EXPECT_EQ(client.files->size(1), 0);
  }
}

// Twice as many servers: the client takes twice as much longer, the servers equally longer.
TEST(PvfsMetadata, TimesGrowLinearlyOrLogarithmically) {
  const FileTree tree = small_tree(2, 50, 1000);
  const struct {
    MetadataTask task;
    MetadataOperation operation;
  } kinds[] = {{MetadataTask::extract, MetadataOperation::create_file},
               {MetadataTask::list, MetadataOperation::get_attributes},
               {MetadataTask::remove, MetadataOperation::remove_file}};
  MetadataResult by_client[3], by_servers[3];
  for (uint32_t i = 0; i < 3; ++i) {
    by_client[i] = simulated_tree(tree, pvfs_machine(64u << i, false));
    by_servers[i] = simulated_tree(tree, pvfs_machine(64u << i, true));
  }
  for (const auto& kind : kinds) {
    const auto growth = [&](const MetadataResult* of, int from) {
      return static_cast<double>(each(of[from + 1], kind.task, kind.operation) -
                                 each(of[from], kind.task, kind.operation));
    };
    EXPECT_NEAR(growth(by_client, 1) / growth(by_client, 0), 2, 0.1);
    EXPECT_GT(growth(by_client, 0), 2.0 * millisecond);
    EXPECT_LT(growth(by_servers, 0), 0.5 * millisecond);
    EXPECT_LT(growth(by_servers, 1), 0.5 * millisecond);
    EXPECT_LT(each(by_servers[0], kind.task, kind.operation),
              each(by_client[0], kind.task, kind.operation));
  }
}

TEST(MetadataWork, EveryObjectOfTheTreeIsDealtWithOnce) {
  const FileTree tree = small_tree(3, 7, 100);
  const int64_t files = 21, directories = 4;
  int64_t bytes = 0;
  for (const int64_t each_bytes : tree.bytes) bytes += std::max<int64_t>(each_bytes, 0);
  MachineSettings lustre = pvfs_machine(4, false), nfs = pvfs_machine(1, false);
  PagedProfile paged;
  paged.create = paged.remove = paged.set_attributes = 100 * microsecond;
  paged.get_attributes = paged.read_directory = paged.open = paged.close = 10 * microsecond;
  lustre.file_system = paged;
  paged.locks = false;
  paged.commits_at_close = true;
  nfs.file_system = paged;
  for (const MachineSettings& settings :
       {pvfs_machine(4, false), pvfs_machine(4, true), lustre, nfs}) {
    using enum MetadataOperation;
    const MetadataResult result = simulated_tree(tree, settings);
    const auto times = [&](MetadataTask task, MetadataOperation operation) {
      return operations(result, task, operation).times;
    };
    EXPECT_EQ(times(MetadataTask::extract, make_directory), directories);
    EXPECT_EQ(times(MetadataTask::extract, create_file), files);
    EXPECT_EQ(times(MetadataTask::extract, write), files);
    EXPECT_EQ(times(MetadataTask::extract, set_attributes), files + directories);
    EXPECT_EQ(times(MetadataTask::list, read_directory), directories);
    EXPECT_EQ(times(MetadataTask::list, get_attributes), files);
    EXPECT_EQ(times(MetadataTask::list, get_directory_attributes), directories);
    EXPECT_EQ(times(MetadataTask::list, remove_file), 0);
    EXPECT_EQ(times(MetadataTask::remove, remove_file), files);
    EXPECT_EQ(times(MetadataTask::remove, remove_directory), directories);
    for (const MetadataResult::Task& task : result.tasks) {
      Picoseconds sum = 0;
      for (const auto& operation : task.operations) sum += operation.time;
      EXPECT_EQ(sum, task.time);
      EXPECT_GT(task.messages, 0u);
    }
    // Lustre's clients may keep bytes when all is over.
    const int64_t written = std::accumulate(
        result.tasks.begin(), result.tasks.end(), int64_t{0},
        [](int64_t before, const auto& task) { return before + task.written_bytes; });
    if (settings.servers == 1 || std::holds_alternative<PvfsProfile>(settings.file_system))
      EXPECT_EQ(written, bytes);
    else
      EXPECT_LE(written, bytes);
  }
}

// 21 files and 4 directories in a tree of depth 2, on 4 servers.
TEST(MetadataWork, MessagesOfATreeOfFiles) {
  const FileTree tree = small_tree(3, 7, 100);
  const MetadataResult result = simulated_tree(tree, pvfs_machine(4, false));
  // The root's attributes; directories: 4 and their times; files: 4 + 3, a write, the times.
  EXPECT_EQ(result.tasks[0].messages, 2u * (1 + 4 * (4 + 1) + 21 * (7 + 1 + 1)));
  // Each looked up, with its attributes; directories are read, files have 4 parts.
  EXPECT_EQ(result.tasks[1].messages, 2u * (4 * (2 + 1) + 21 * (2 + 4)));
  // The same, then 3 for a directory and 4 + 2 for a file.
  EXPECT_EQ(result.tasks[2].messages, 2u * (4 * (2 + 1 + 3) + 21 * (2 + 4 + 6)));
}

// One message each to the server of metadata; a file of Lustre has its size on one server.
TEST(MetadataWork, LustreAndNfsAskTheServerOfMetadata) {
  const FileTree tree = small_tree(3, 7, 100);
  MachineSettings settings = pvfs_machine(1, false);
  PagedProfile paged;
  for (const bool locks : {true, false}) {
    paged.locks = locks;
    settings.file_system = paged;
    const MetadataResult result = simulated_tree(tree, settings);
    EXPECT_EQ(result.tasks[1].messages, 2u * (4 * 2 + 21 * (1 + locks)));
    EXPECT_EQ(result.tasks[2].messages, 2u * (4 * 3 + 21 * (1 + locks + 1)));
  }
}

TEST(MetadataWork, TheSameTreeTakesTheSameTime) {
  const FileTree tree = small_tree(4, 10, 5000);
  for (const bool by_servers : {false, true}) {
    const MetadataResult first = simulated_tree(tree, pvfs_machine(8, by_servers));
    const MetadataResult second = simulated_tree(tree, pvfs_machine(8, by_servers));
    EXPECT_EQ(first.events, second.events);
    for (std::size_t task = 0; task < metadata_tasks; ++task)
      EXPECT_EQ(first.tasks[task].time, second.tasks[task].time);
  }
}

TEST(MetadataWork, ItCanBeStopped) {
  Progress progress;
  progress.stop = true;
  EXPECT_THROW(simulate_metadata(small_tree(1, 1, 1), pvfs_machine(1, false), progress),
               std::runtime_error);
  EXPECT_EQ(progress.done.load(), 0u);
}

TEST(MetadataWork, AMeasuredFileSystemHasNoMetadata) {
  MachineSettings settings = pvfs_machine(1, false);
  settings.file_system = MeasuredProfile{};
  Progress progress;
  EXPECT_THROW(simulate_metadata(small_tree(1, 1, 1), settings, progress), std::invalid_argument);
}

TEST(FileTrees, ADirectoryIsFollowedByWhatIsInIt) {
  constexpr int64_t directory = FileTree::directory;
  EXPECT_TRUE((FileTree{{0}, {directory}}.is_sound()));
  EXPECT_TRUE((FileTree{{0, 0, 1, 0}, {directory, directory, 5, 0}}.is_sound()));
  EXPECT_FALSE((FileTree{{}, {}}.is_sound()));
  EXPECT_FALSE((FileTree{{0}, {5}}.is_sound()));                                    // a file
  EXPECT_FALSE((FileTree{{0, 0}, {directory}}.is_sound()));                         // too short
  EXPECT_FALSE((FileTree{{0, 0, 1}, {directory, 5, 5}}.is_sound()));                // in a file
  EXPECT_FALSE((FileTree{{0, 2, 0}, {directory, 5, directory}}.is_sound()));        // later
  EXPECT_FALSE((FileTree{{0, 0, 0, 1}, {directory, directory, 5, 5}}.is_sound()));  // left before
  EXPECT_FALSE((FileTree{{0, 0}, {directory, -2}}.is_sound()));                     // no size
}

}  // namespace
}  // namespace forebay::sim
