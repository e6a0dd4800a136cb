// Files whose bytes have owners, nodes (scope=job, consistency=posix), as agent/job_file.h has
// them: a process reads and writes a byte in the cache of the byte's owner, its own node's
// directly, and others' through the owner's agent, with a message to it and back. Accesses ask all
// owners at once (engine/owner_windows.h). Long runs go past all caches, after their owners have
// handed over what they hold of them, if anybody holds anything; where nodes' clients of the file
// system keep bytes, only those that the node itself owns.
//
// In a collective access a process asks a process of the owner's node instead, which answers while
// it waits itself (mpiio/file/collective_exchange.h).
//
// With domain=region or dynamic the first large collective access to a file gives the owners other
// parts (domain/region_parts.h). An agent has as many workers as questions under way.
//
// With domain=first-touch a write claims the chunks that nobody owns yet, at the agents of their
// homes, and a process keeps what it has learnt of owners. All accesses ask agents.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "domain/file_domains.h"
#include "domain/region_parts.h"
#include "engine/foretold_reads.h"
#include "engine/owner_windows.h"
#include "sim/access_log.h"
#include "sim/cluster/client_node.h"
#include "sim/cluster/network.h"
#include "sim/cluster/process.h"

namespace forebay::sim {

struct OwnedSettings {
  FileDomains domains;
  std::optional<RegionParts> region_parts;  // how they change
  std::vector<uint32_t> node_of_owner;
  Picoseconds call_time = 0;  // of an agent, for each question
  double copy_bytes_per_second = 4e9;
};

class OwnedFiles {
 public:
  struct Counts {
    int64_t questions = 0;    // of processes to agents
    int64_t moved_bytes = 0;  // of files, in questions and answers
  };

  // `nodes`: each node's cache. All outlive this.
  OwnedFiles(Kernel& kernel, Network& network, FileSystem& file_system,
             std::span<const std::unique_ptr<ClientNode>> nodes, const OwnedSettings& settings);
  ~OwnedFiles();

  // A file as all have it.
  struct Parts {
    explicit Parts(const OwnedSettings& settings)
        : domains(settings.domains), changes(settings.region_parts) {}
    FileDomains domains;
    std::optional<RegionParts> changes;
    bool used = false;        // caches may hold bytes of it
    uint32_t view = no_view;  // of the latest collective access
    // With domain=first-touch: the owners of chunks that have been written to. Their homes know.
    std::unordered_map<int64_t, uint32_t> claims;
  };

  class Question;
  class Exchange;

  // What a process of a node has open. Its calls are made by the process, which waits.
  class Handle {
   public:
    // `written`: processes of the job may write to the file. Otherwise each node keeps copies of
    // any bytes; they come from storage.
    Handle(OwnedFiles& files, uint32_t node, uint64_t file, uint32_t process, bool written);
    void access(const Access& access);
    // Whether an access of so many contiguous bytes goes past all caches, whoever owns them.
    bool is_long(int64_t bytes) const;
    // Of a collective access that comes: the view of one of its processes.
    void note_view(uint32_t view);
    // Called by the last process to come to a collective access, while the others wait: `region`
    // has all bytes of it that go through caches, at most so many. False: the owners keep their
    // parts.
    bool change_parts(const Extent& region, int64_t bytes);
    // Carries out a part of a collective access, which ends when all parts have ended. `rank`: the
    // part's number in the exchange.
    void access(const Access& access, Exchange& exchange, std::size_t rank);
    void close();

   private:
    friend class Exchange;
    friend class Question;
    struct Windowed;
    bool is_here(uint32_t owner) const { return files_.settings_.node_of_owner[owner] == node_; }
    void take(Question& question);  // of another process
    void rouse();
    // Answers the questions of others until `done`.
    template <typename Done>
    void serve_until(Done done);
    void wait_for_answers();
    // Follows the owners' parts.
    void fetch_ahead();
    void close_at_agents();
    bool past_caches(int64_t bytes) const;
    // The bytes at the beginning of a run that go past the caches.
    int64_t find_long(const Extent& run, bool writes);
    void foretell(const Access& access);
    int64_t window_bytes(const Access& access) const;
    // The owner of the chunk at the offset, if this process knows it.
    std::optional<uint32_t> owner_of(int64_t offset) const;
    // The owner, or the chunk's home.
    uint32_t whom_to_ask(int64_t offset) const;
    // With domain=first-touch: who owns the chunks of the range. `claims`: those without an owner
    // become this node's.
    void learn_owners(const Extent& range, bool claims);
    void ask_window(bool writes);
    // Whether homes were asked for bytes that others own. Their owners are known now.
    bool follow_moved();
    void bypass(bool writes, Extent run);
    void settle(const Extent& range, const std::vector<uint32_t>& owners);

    OwnedFiles& files_;
    Parts& of_all_;
    const uint32_t node_;
    const uint64_t file_;
    const uint32_t process_;
    const bool written_;
    const uint32_t self_;  // the node's number as an owner; that of the owners if it is none
    ClientNode::Handle here_;
    OwnerWindow window_;
    std::vector<bool> open_;  // at the owner's agent, by its number
    ForetoldReads foretold_;
    // With domain=first-touch: known owners, by number of the chunk; and who was asked for bytes of
    // other owners.
    std::unordered_map<int64_t, uint32_t> known_;
    std::shared_ptr<OwnPart> own_part_;
    std::vector<uint32_t> moved_;
    FileDomains fetches_of_;        // the owners that here_ knows
    Exchange* exchange_ = nullptr;  // of the access under way
    std::size_t rank_ = 0;          // in it
    int64_t unanswered_ = 0;        // own questions
    std::deque<Question*> asked_;   // questions of others
    Process* sleeping_ = nullptr;   // in serve_until()
  };

  // The processes of a collective access.
  class Exchange {
   public:
    // `members`: what each part's process has open, by rank.
    explicit Exchange(std::span<Handle* const> members);

   private:
    friend class Handle;
    // The process of the owner's node that this rank asks; null: none takes part.
    Handle* asked_by(std::size_t rank, uint32_t owner) const;
    void end_part();

    std::vector<Handle*> members_;
    std::vector<std::vector<Handle*>> of_owner_;
    std::size_t ended_ = 0;
  };

  // The agents' workers end once they have nothing to do.
  void end_agents();
  const Counts& counts() const { return counts_; }

 private:
  enum class Ask : uint8_t { read, write, owners, claim, settle, close };
  // What a process of another node has open at an agent.
  struct Served {
    std::unique_ptr<ClientNode::Handle> handle;
    std::shared_ptr<OwnPart> part;
  };
  // A file that an agent has open, once for all who ask about it.
  struct AgentFile {
    int64_t handles = 0;
    bool opened = false;
    Queue opening;
  };
  struct Agent {
    std::deque<Question*> waiting;
    Queue idle;
    int64_t idle_workers = 0;
    std::vector<std::unique_ptr<Process>> workers;
    std::map<uint64_t, AgentFile> files;
    std::map<std::pair<uint32_t, uint64_t>, Served> open;  // by process and file
  };
  void take(uint32_t node, Question& question);
  void work(uint32_t node);
  void carry_out(uint32_t node, Question& question);
  void move(ClientNode::Handle& handle, const Question& question);
  // Whether no other node than the one asked owns bytes of the question.
  bool may_serve(const Question& question, OwnPart& part) const;
  void claim(const Question& question);
  void open(uint32_t node, uint64_t file);
  void close(uint32_t node, uint64_t file);

  Kernel& kernel_;
  Network& network_;
  FileSystem& file_system_;
  std::span<const std::unique_ptr<ClientNode>> nodes_;
  OwnedSettings settings_;
  std::map<uint64_t, Parts> parts_;  // by file
  std::vector<Agent> agents_;        // by node
  bool ends_ = false;
  Counts counts_;
};

}  // namespace forebay::sim
