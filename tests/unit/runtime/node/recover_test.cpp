// Recovery after a job whose processes were killed on two nodes: folders of shared memory that
// stand for nodes, each recovered by a thread.
#include "runtime/node/recover.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <barrier>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "runtime/cache/cached_file.h"
#include "runtime/node/clock.h"
#include "runtime/node/file_identity.h"
#include "runtime/node/node_member.h"

namespace forebay::runtime {
namespace {

constexpr int nodes = 2;
constexpr int64_t half_bytes = 5;
constexpr int64_t minute_ns = 60 * second_ns;

// Ends a recovery as a signal would: nothing of it is done any more.
struct Interrupted : std::runtime_error {
  Interrupted() : std::runtime_error("interrupted") {}
};

// What a node does after its n-th exchange.
using AfterExchange = std::function<void(int node, int n)>;

class RecoverTest : public testing::Test {
 protected:
  RecoverTest() {
    leave_node();  // which an earlier test may have joined
    char folder[] = "/tmp/recover-XXXXXX";
    folder_ = mkdtemp(folder);
    path_ = folder_ + "/file";
    std::ofstream{path_};
    for (int node = 0; node < nodes; ++node) std::filesystem::create_directory(memory_of(node));
  }
  ~RecoverTest() override { std::filesystem::remove_all(folder_); }

  std::string memory_of(int node) const { return folder_ + "/node" + std::to_string(node); }

  // A process of `job` on a node writes its half of the file and is killed. Owners: the file is
  // open on several nodes.
  void leave_half(int node, const std::string& job, bool owners = false) {
    const pid_t killed = fork();
    if (killed == 0) {
      Options options;
      options.arena_dir = memory_of(node);
      options.committer = false;
      options.write_behind = false;
      options.step_aside = StepAside::never;
      options.job = job;
      Status status;
      bool news = false;
      std::array<std::byte, half_bytes> bytes;
      bytes.fill(std::byte('a' + node));
      auto file = CachedFile::open(path_, OpenMode::read_write, options, &status);
      if (owners) (void)file->join_owners(1, bytes, &news);
      (void)file->write(node * half_bytes, bytes.data(), half_bytes);
      (void)file.release();
      _exit(0);
    }
    int ended = 0;
    ASSERT_EQ(waitpid(killed, &ended, 0), killed);
    ASSERT_EQ(ended, 0);
  }

  // Sets the file's time of modification.
  void modified_at(int64_t ns) const {
    const timespec time{ns / second_ns, ns % second_ns};
    const timespec times[] = {time, time};
    ASSERT_EQ(utimensat(AT_FDCWD, path_.c_str(), times, 0), 0);
  }

  // Calls `change` with what a node has noted of the file.
  void change_note(int node, const std::function<void(LastChange&)>& change) const {
    const std::string folder = memory_of(node) + "/forebay-" + std::to_string(geteuid());
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".registry") continue;
      Status status;
      const auto member = NodeMember::adopt(entry.path(), &status);
      member->leave_as_it_is();
      for (FileEntry& file : member->registry().made_files()) {
        if (file.in_use()) change(file.changed);
      }
    }
  }

  // The job's last write on this node, as it has noted it, was that of now.
  void note_change_of_now(int node) const {
    struct stat info {};
    ASSERT_EQ(stat(path_.c_str(), &info), 0);
    change_note(node, [&](LastChange& note) { note.modified_ns.store(modified_ns(info)); });
  }

  LeftFile recover_alone(int node) const {
    RecoverSettings settings;
    settings.arena_dir = memory_of(node);
    return only_file(recover(settings));
  }

  // What each node has made of its half; a node that was interrupted has made nothing.
  std::vector<LeftFile> recover_together(const AfterExchange& after = [](int, int) {}) const {
    std::vector<LeftFile> files(nodes);
    std::vector<OwnChange> all;
    std::mutex mutex;
    std::barrier<> meeting(nodes);
    const auto act = [&](int node) {
      RecoverSettings settings;
      settings.arena_dir = memory_of(node);
      int exchanges = 0;
      settings.exchange = [&](const std::vector<OwnChange>& mine) {
        {
          const std::lock_guard guard(mutex);
          all.insert(all.end(), mine.begin(), mine.end());
        }
        meeting.arrive_and_wait();
        after(node, ++exchanges);
        const std::lock_guard guard(mutex);
        return all;
      };
      try {
        files[static_cast<std::size_t>(node)] = only_file(recover(settings));
      } catch (const Interrupted&) {
        meeting.arrive_and_drop();
      }
    };
    std::thread other(act, 1);
    act(0);
    other.join();
    return files;
  }

  std::string content() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  bool nothing_left(int node) const {
    return std::filesystem::is_empty(memory_of(node) + "/forebay-" + std::to_string(geteuid()));
  }

  std::string folder_;
  std::string path_;

 private:
  static LeftFile only_file(const std::vector<LeftCache>& caches) {
    std::vector<LeftFile> files;
    for (const LeftCache& cache : caches)
      files.insert(files.end(), cache.files.begin(), cache.files.end());
    return files.size() == 1 ? files[0] : LeftFile{"", std::ssize(files), "not one file", false};
  }
};

constexpr const char* changed = "it was changed after the job last wrote to it";

TEST_F(RecoverTest, TakesWritesOfTheJobOnAnotherNodeForItsOwn) {
  for (int node = 0; node < nodes; ++node) leave_half(node, "job", true);
  modified_at(now_ns(CLOCK_REALTIME) + minute_ns);
  note_change_of_now(1);
  const LeftFile alone = recover_alone(0);
  EXPECT_EQ(alone.problem, std::string(changed) +
                               ", perhaps by another node of the job: run `mpiexec -n NODES forebay"
                               " recover " +
                               memory_of(0) + "`, one process a node");
  EXPECT_EQ(content(), "");
  for (const LeftFile& file : recover_together()) {
    EXPECT_EQ(file.bytes, half_bytes);
    EXPECT_EQ(file.problem, "");
  }
  EXPECT_EQ(content(), "aaaaabbbbb");
  for (int node = 0; node < nodes; ++node) EXPECT_TRUE(nothing_left(node));
}

TEST_F(RecoverTest, RefusesWhatNoNodeHasNoted) {
  for (int node = 0; node < nodes; ++node) leave_half(node, "job");
  modified_at(now_ns(CLOCK_REALTIME) + minute_ns);
  EXPECT_EQ(recover_alone(0).problem, changed);
  for (const LeftFile& file : recover_together()) EXPECT_EQ(file.problem, changed);
  EXPECT_EQ(content(), "");
}

TEST_F(RecoverTest, RefusesWhatAnotherJobHasNotedOnAnotherNode) {
  leave_half(0, "job");
  leave_half(1, "another");
  modified_at(now_ns(CLOCK_REALTIME) + minute_ns);
  note_change_of_now(1);
  const std::vector<LeftFile> files = recover_together();
  EXPECT_EQ(files[0].problem, changed);
  EXPECT_EQ(files[1].problem, "");
}

// Node 1 has committed, node 0 has not, and has last noted something long ago.
TEST_F(RecoverTest, IsRepeatedAfterAnInterruptionBetweenTheCommitsOfTwoNodes) {
  for (int node = 0; node < nodes; ++node) leave_half(node, "job");
  constexpr int judged = 2, committed = 3;
  recover_together([](int node, int n) {
    if ((node == 0 && n == judged) || n == committed) throw Interrupted();
  });
  EXPECT_EQ(content(), std::string(half_bytes, '\0') + "bbbbb");
  change_note(0, [](LastChange& note) {
    note.modified_ns.store(0);
    note.written_ns.store(0);
  });
  recover_together();
  EXPECT_EQ(content(), "aaaaabbbbb");
  for (int node = 0; node < nodes; ++node) EXPECT_TRUE(nothing_left(node));
}

TEST_F(RecoverTest, CommitsNothingWhereItEndsBeforeAllHaveJudged) {
  for (int node = 0; node < nodes; ++node) leave_half(node, "job");
  recover_together([](int, int) { throw Interrupted(); });
  EXPECT_EQ(content(), "");
  recover_together();
  EXPECT_EQ(content(), "aaaaabbbbb");
}

}  // namespace
}  // namespace forebay::runtime
