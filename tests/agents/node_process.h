// A node of the test: a process of its own (node.cpp), which carries out what it is told.
#pragma once

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "agents/wire.h"

namespace forebay::test {

class NodeProcess {
 public:
  explicit NodeProcess(const std::string& folder) : folder_(folder) {
    std::filesystem::create_directory(folder);
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) std::abort();
    pid_ = fork();
    if (pid_ == 0) {
      // The test's ends of all sockets are closed, so that the node sees when the test ends.
      for (int other = 3; other < 64; ++other) {
        if (other != ends[1]) close(other);
      }
      const std::string number = std::to_string(ends[1]);
      execl("/proc/self/exe", "forebay_agents", "--node", number.c_str(), folder.c_str(), nullptr);
      _exit(127);
    }
    close(ends[1]);
    socket_ = ends[0];
  }
  NodeProcess(const NodeProcess&) = delete;
  NodeProcess& operator=(const NodeProcess&) = delete;
  ~NodeProcess() { end(); }

  bool lives() const { return pid_ > 0; }
  const std::string& folder() const { return folder_; }
  bool tell(const Command& command, const std::string& text) {
    return send_with_text(socket_, command, text);
  }
  bool hear(Reply* reply, std::string* answer) { return receive_with_text(socket_, reply, answer); }
  void kill_it() {
    kill(pid_, SIGKILL);
    end();
  }
  // How it ended; nothing: in order.
  std::string end() {
    if (pid_ <= 0) return "";
    shutdown(socket_, SHUT_RDWR);
    close(socket_);
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
    const int code = WEXITSTATUS(status);
    return code == 0 ? "" : "exit status " + std::to_string(code);
  }

 private:
  const std::string folder_;
  pid_t pid_ = -1;
  int socket_ = -1;
};

}  // namespace forebay::test
