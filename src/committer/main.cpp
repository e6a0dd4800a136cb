// forebay-committer REGISTRY [REPORT]: takes the place of a job's killed processes on this node. It
// commits the dirty bytes of killed processes, and removes the cache after the last process. The
// first process starts it, detached; it ends by itself. REPORT is a file that receives a line per
// saved file. If a file's bytes have owners on several nodes, it is also the node's agent
// (src/agent), and lives as long as ranks of other nodes need it.
//
// forebay-committer --fabric: says by which provider libfabric would reach this node's agent, or
// why it would not; the exit code is 1 then.
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/agent.h"
#include "fabric/libfabric.h"
#include "fabric/tunnels.h"
#include "runtime/node/node_member.h"

namespace {

using forebay::agent::Agent;
using forebay::fabric::Tunnels;
using forebay::runtime::AgentWanted;
using forebay::runtime::NodeMember;
using forebay::runtime::ProcessEntry;
using forebay::runtime::Registry;

constexpr int look_again_ms = 200;  // interval of looking for what ranks want

void report(const char* path, const std::vector<NodeMember::Saved>& files) {
  if (path == nullptr || files.empty()) return;
  std::FILE* const file = std::fopen(path, "ae");
  if (file == nullptr) return;
  for (const NodeMember::Saved& saved : files) {
    std::fprintf(file, "%lld\t%s\t%s\n", static_cast<long long>(saved.bytes), saved.path.c_str(),
                 saved.problem().c_str());
  }
  std::fclose(file);
}

// Descriptors that signal the deaths of living processes, by the process's index in the registry.
class Watch {
 public:
  void update(const Registry& registry) {
    for (const ProcessEntry& process : registry.made_processes()) {
      const uint32_t p = registry.processes.index_of(process);
      const pid_t pid = process.id.pid;
      const auto known = descriptors_.find(p);
      if (known != descriptors_.end() && known->second.pid == pid) continue;
      if (known != descriptors_.end()) {
        close(known->second.descriptor);
        descriptors_.erase(known);
      }
      if (pid == 0 || pid == getpid()) continue;
      const auto descriptor = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
      if (descriptor >= 0) descriptors_[p] = {pid, descriptor};
    }
  }
  void wait() const {
    std::vector<pollfd> polled;
    for (const auto& [number, watched] : descriptors_)
      polled.push_back({watched.descriptor, POLLIN, 0});
    poll(polled.data(), polled.size(), look_again_ms);
  }
  void forget(uint32_t number) {
    const auto known = descriptors_.find(number);
    if (known == descriptors_.end()) return;
    close(known->second.descriptor);
    descriptors_.erase(known);
  }

 private:
  struct Watched {
    pid_t pid;
    int descriptor;
  };
  std::map<uint32_t, Watched> descriptors_;
};

bool anybody_else(const NodeMember& node, const Registry& registry) {
  const std::span<const ProcessEntry> processes = registry.made_processes();
  return std::any_of(processes.begin(), processes.end(), [&](const ProcessEntry& process) {
    return process.id.pid != 0 && registry.processes.index_of(process) != node.process();
  });
}

// What serves ranks of other nodes.
struct Service {
  std::unique_ptr<Tunnels> tunnels;  // null: TCP alone
  std::unique_ptr<Agent> agent;      // the first to go: it leaves sockets to tunnels
};

// Leads tunnels of the agent through the network that libfabric reaches. False: it cannot.
bool lead_tunnels(Service& service, std::unique_ptr<forebay::fabric::Fabric> fabric,
                  Registry& registry) {
  const forebay::agent::FabricName name = fabric->name();
  service.tunnels = std::make_unique<Tunnels>(std::move(fabric), service.agent->port());
  if (!service.tunnels->start()) return false;
  static_assert(sizeof name == sizeof registry.agent_fabric);
  std::memcpy(registry.agent_fabric, &name, sizeof name);
  return true;
}

// Starts the agent once a rank wants it.
void begin_service(NodeMember& node, Service& service) {
  Registry& registry = node.registry();
  const AgentWanted wanted = registry.agent_wanted.load();
  if (service.agent != nullptr || wanted == AgentWanted::no) return;
  forebay::runtime::open_through(node);
  std::unique_ptr<forebay::fabric::Fabric> fabric;
  std::string problem;
  if (wanted == AgentWanted::in_fabric) fabric = forebay::fabric::open_libfabric(&problem);
  service.agent = std::make_unique<Agent>();
  if (fabric != nullptr) {
    service.agent->lead_tunnels([&service](int socket, const forebay::agent::FabricName& to) {
      service.tunnels->begin(socket, to);
    });
  }
  const bool listens = service.agent->start();
  if (listens && fabric != nullptr && !lead_tunnels(service, std::move(fabric), registry))
    problem = "the node's agent gets no thread or descriptor for it";
  problem.copy(registry.agent_fabric_problem, sizeof registry.agent_fabric_problem - 1);
  const forebay::agent::Key& key = service.agent->key();
  std::copy(key.begin(), key.end(), registry.agent_key);
  registry.agent_port.store(listens ? service.agent->port() : forebay::runtime::no_agent);
}

int tell_of_fabric() {
  std::string problem;
  const auto fabric = forebay::fabric::open_libfabric(&problem);
  std::puts(fabric == nullptr ? problem.c_str() : fabric->description().c_str());
  return fabric == nullptr ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: forebay-committer REGISTRY [REPORT] | --fabric\n");
    return 2;
  }
  if (std::string_view(argv[1]) == "--fabric") return tell_of_fabric();
  // A launcher sends these signals to whole sessions and process groups at the end of a job. The
  // committer ignores them and ends by its own rule.
  for (const int ignored : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGPIPE})
    signal(ignored, SIG_IGN);
  forebay::Status status;
  const std::unique_ptr<NodeMember> node = NodeMember::adopt(argv[1], &status);
  if (node == nullptr) return status.ok() ? 0 : 1;
  // A recovery may hold the cache until it has judged all that it found on this node.
  while (!node->watch()) {
    if (!node->has_users()) return 0;
    poll(nullptr, 0, look_again_ms);
  }
  const char* const report_path = argc > 2 ? argv[2] : nullptr;
  Watch watch;
  Service service;
  const auto serves = [&service] {
    return service.agent != nullptr && service.agent->served() > 0;
  };
  while (anybody_else(*node, node->registry()) || serves()) {
    begin_service(*node, service);
    watch.update(node->registry());
    watch.wait();
    for (const uint32_t dead : node->dead_processes()) {
      report(report_path, node->reap_with_own_cache(dead));
      watch.forget(dead);
    }
  }
  return 0;
}
