// Random programs of jobs on two to eight nodes whose file has owners (scope=job,
// consistency=posix): each node is a process with a cache and an agent of its own, so that only
// what goes over the network is common. The test tells one rank after another what to do, and knows
// after every step what each byte is. Now and then ranks write side by side, and a node is killed.
//
// In other programs each rank opens the file alone, at any time, and the agent that keeps the job's
// directory tells who owns its bytes.
//
// FOREBAY_SEEDS: number of programs. FOREBAY_SEED: this program alone, with its steps.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "agent/owners.h"
#include "agents/wire.h"
#include "domain/cyclic.h"
#include "domain/region.h"
#include "extent/layout.h"
#include "extent/seeded_random.h"
#include "runtime/node/recover.h"

namespace forebay::test {
namespace {

using agent::Address;
using agent::Owners;

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

struct Settings {
  int64_t nodes = 2;
  int64_t ranks_a_node = 1;
  int64_t owning = 2;  // nodes that own bytes
  std::string domain;
  int64_t chunk_pages = 1;
  int64_t servers = 1;
  Opening opening;
  int64_t stored_before = 0;
  int64_t writes_in_100 = 40;
  bool kills = false;
  bool readers = false;        // some ranks can only read; at first all
  bool long_at_first = false;  // most of the first accesses go past all caches

  Settings(uint64_t seed, SeededRandom& random)
      : readers(seed % 6 == 4), long_at_first(seed % 6 == 2) {
    nodes = 2 + random.below(random.one_in(4) ? 7 : 2);
    ranks_a_node = 1 + random.below(2);
    owning = random.one_in(4) ? 1 + random.below(nodes) : nodes;
    const char* const domains[] = {"cyclic", "file", "stripe", "first-touch"};
    domain = domains[random.below(4)];
    chunk_pages = 1 + random.below(3);
    servers = 1 + random.below(4);
    const int64_t pages[] = {512, 1024, 4096};
    opening.page_bytes = pages[random.below(3)];
    opening.cache_bytes = opening.page_bytes * (8 + random.below(40));
    opening.bypass_bytes = draw_bypass(random);
    opening.read_ahead_bytes = random.one_in(2) ? 0 : 8 * opening.page_bytes;
    opening.write_behind = random.below(2);
    stored_before = random.one_in(2) ? 0 : random.below(10 * opening.page_bytes);
    writes_in_100 = random.one_in(2) ? 40 : 5;
    kills = random.one_in(3);
    if (long_at_first) opening.bypass_bytes = opening.page_bytes / 8;
    opening.slow = long_at_first ? 1 : 0;
    if (readers) stored_before = random.below(4 * nodes * opening.page_bytes);
  }
  // For ranks that open the file alone.
  void open_alone() {
    owning = nodes;
    kills = readers = long_at_first = false;
    opening.slow = 0;
    opening.first_touch = domain == "first-touch" ? 1 : 0;
    opening.chunk_bytes = chunk_pages * opening.page_bytes;
  }
  int64_t draw_bypass(SeededRandom& random) const {
    const int64_t page = opening.page_bytes;
    const int64_t choices[] = {page / 8, 2 * page, int64_t{1} << 20};
    return choices[random.below(3)];
  }
  int64_t ranks() const { return nodes * ranks_a_node; }
  std::string text() const {
    std::ostringstream out;
    out << nodes << " nodes, " << owning << " own bytes; " << ranks_a_node
        << " ranks a node; domain=" << domain << " of " << chunk_pages << " pages of "
        << opening.page_bytes << " bytes, " << servers << " servers; cache " << opening.cache_bytes
        << ", bypass " << opening.bypass_bytes << ", read_ahead " << opening.read_ahead_bytes
        << ", write_behind " << opening.write_behind << "; " << stored_before
        << " bytes stored before, " << writes_in_100 << " writes in 100 steps"
        << (readers ? ", and readers" : "") << (long_at_first ? "; long accesses at first" : "");
    return out.str();
  }
};

// A job and its file, and what each of its bytes must be.
class Job {
 public:
  enum class Opens : uint8_t { together, alone };
  // Loud: it prints each step before it takes it.
  Job(uint64_t seed, Opens opens, const std::string& folder, bool loud)
      : random_(seed),
        settings_(seed, random_),
        alone_(opens == Opens::alone),
        folder_(folder),
        path_(folder + "/file"),
        loud_(loud) {
    if (alone_) settings_.open_alone();
  }

  void run() {
    note(settings_.text());
    store_before();
    alone_ ? start_alone() : start();
    const int64_t steps = 20 + random_.below(60);
    if (settings_.long_at_first) long_steps_ = random_.below(steps);
    for (int64_t step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
      take_step();
      --long_steps_;
    }
    if (!testing::Test::HasFailure()) finish();
    for (const auto& node : nodes_) EXPECT_EQ(node->end(), "");
  }
  const std::vector<std::string>& steps() const { return steps_; }

 private:
  // An access: its extents and bytes.
  struct Draw {
    int64_t offset = 0;
    int64_t count = 0;
    View view;
    int64_t end() const { return count == 0 ? offset : at(count - 1) + 1; }
    int64_t at(int64_t position) const {
      if (view.run == 0) return offset + position;
      return offset + position / view.run * view.stride + position % view.run;
    }
    std::string text() const {
      std::string said = std::to_string(count) + " bytes at " + std::to_string(offset);
      if (view.run != 0)
        said += ", " + std::to_string(view.run) + " in each " + std::to_string(view.stride);
      return said;
    }
  };

  void note(const std::string& text) {
    steps_.push_back(text);
    if (loud_) std::cout << text << std::endl;
  }

  void store_before() {
    model_ = draw_bytes(settings_.stored_before);
    unknown_.assign(model_.size(), false);
    std::ofstream(path_, std::ios::binary) << model_;
  }
  std::string draw_bytes(int64_t count) {
    std::string bytes(static_cast<std::size_t>(count), '\0');
    for (char& byte : bytes) byte = static_cast<char>('a' + random_.below(26));
    return bytes;
  }
  std::string stored() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // The job
  // ----------------------------------------------------------------------------------------

  NodeProcess& node_of(int64_t rank) {
    return *nodes_[static_cast<std::size_t>(rank / settings_.ranks_a_node)];
  }
  Reply ask(int64_t rank, Command command, const std::string& text, std::string* answer) {
    command.rank = static_cast<uint32_t>(rank % settings_.ranks_a_node);
    Reply reply;
    EXPECT_TRUE(node_of(rank).tell(command, text));
    EXPECT_TRUE(node_of(rank).hear(&reply, answer)) << "the node died";
    return reply;
  }
  Reply ask(int64_t rank, const Command& command, const std::string& text = "") {
    std::string ignored;
    return ask(rank, command, text, &ignored);
  }
  // All these ranks at the same time, as far as they are on different nodes.
  std::vector<Reply> ask_together(const std::vector<int64_t>& ranks,
                                  const std::vector<Command>& commands,
                                  const std::vector<std::string>& texts) {
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      Command command = commands[i];
      command.rank = static_cast<uint32_t>(ranks[i] % settings_.ranks_a_node);
      EXPECT_TRUE(node_of(ranks[i]).tell(command, texts[i]));
    }
    std::vector<Reply> replies(ranks.size());
    std::string ignored;
    for (std::size_t i = 0; i < ranks.size(); ++i)
      EXPECT_TRUE(node_of(ranks[i]).hear(&replies[i], &ignored)) << "the node died";
    return replies;
  }
  std::vector<Reply> ask_together(const std::vector<int64_t>& ranks, const Command& command,
                                  const std::string& text = "") {
    return ask_together(ranks, std::vector<Command>(ranks.size(), command),
                        std::vector<std::string>(ranks.size(), text));
  }
  bool has_open(int64_t rank) const { return open_[static_cast<std::size_t>(rank)]; }
  // Those that have the file open.
  std::vector<int64_t> living() {
    std::vector<int64_t> ranks;
    for (int64_t rank = 0; rank < settings_.ranks(); ++rank) {
      if (node_of(rank).lives() && has_open(rank)) ranks.push_back(rank);
    }
    return ranks;
  }
  bool can_write(int64_t rank) const { return can_write_[static_cast<std::size_t>(rank)]; }
  std::vector<int64_t> writers() {
    std::vector<int64_t> ranks = living();
    std::erase_if(ranks, [this](int64_t rank) { return !can_write(rank); });
    return ranks;
  }
  int64_t draw_rank() {
    const std::vector<int64_t> ranks = living();
    return ranks[static_cast<std::size_t>(random_.below(std::ssize(ranks)))];
  }
  // All that the rank needs to open the file.
  std::string opening_of(int64_t rank) {
    Opening opening = settings_.opening;
    opening.read_only = can_write(rank) ? 0 : 1;
    return std::string(reinterpret_cast<const char*>(&opening), sizeof opening) + owners_ + path_;
  }

  std::vector<Address> start_nodes() {
    std::vector<Address> addresses;
    for (int64_t node = 0; node < settings_.nodes; ++node) {
      nodes_.push_back(std::make_unique<NodeProcess>(folder_ + "/node-" + std::to_string(node)));
      std::string answer;
      ask(node * settings_.ranks_a_node, {.order = Order::greet}, "", &answer);
      EXPECT_EQ(answer.size(), sizeof(Address));
      answer.resize(sizeof(Address));
      std::memcpy(&addresses.emplace_back(), answer.data(), sizeof(Address));
    }
    open_.assign(static_cast<std::size_t>(settings_.ranks()), !alone_);
    can_write_.assign(open_.size(), !settings_.readers);
    return addresses;
  }

  // A node's agent keeps the directory, and nobody has the file open yet.
  void start_alone() {
    const std::vector<Address> addresses = start_nodes();
    const Address& keeper = addresses[static_cast<std::size_t>(random_.below(settings_.nodes))];
    owners_.assign(reinterpret_cast<const char*>(&keeper), sizeof keeper);
    settings_.opening.owners = std::ssize(owners_);
  }

  void start() {
    Owners owners;
    const std::vector<Address> addresses = start_nodes();
    // The last nodes own bytes.
    first_owner_ = settings_.nodes - settings_.owning;
    owners.agents.assign(addresses.begin() + first_owner_, addresses.end());
    DomainFacts facts;
    facts.nodes = static_cast<uint32_t>(settings_.owning);
    facts.include_page(settings_.opening.page_bytes);
    facts.chunk_bytes = settings_.chunk_pages * settings_.opening.page_bytes;
    facts.file_bytes = settings_.stored_before;
    facts.stripe_bytes = facts.chunk_bytes;
    facts.servers = settings_.servers;
    domains_ = owners.domains = find_assignment(settings_.domain)->assign(facts);
    const std::vector<std::byte> record = owners.encoded();
    settings_.opening.owners = std::ssize(record);
    owners_.assign(reinterpret_cast<const char*>(record.data()), record.size());
    expect_success(ask_together(living(), {.order = Order::open}, opening_of(0)));
    expect_success(ask_together(living(), {.order = Order::meet}));
  }

  static void expect_success(const std::vector<Reply>& replies) {
    for (const Reply& reply : replies)
      EXPECT_EQ(reply.code, Code::ok) << describe(reply.code) << " " << reply.system_error;
  }

  // Of the node that owns the byte, if that can be known here.
  bool owner_lives(int64_t offset) const {
    return nodes_[static_cast<std::size_t>(first_owner_ + domains_.owner_of(offset))]->lives();
  }
  bool all_owners_live(const Draw& draw) const {
    if (!anyone_dead_) return true;
    for (int64_t position = 0; position < draw.count; ++position) {
      if (domains_.first_touch() || !owner_lives(draw.at(position))) return false;
    }
    return true;
  }

  // Steps
  // ------------------------------------------------------------------------------------------

  int64_t page() const { return settings_.opening.page_bytes; }

  Draw draw_access(bool writes) {
    Draw draw;
    const int64_t most_pages = 4 * settings_.nodes;
    draw.offset = random_.below(most_pages * page());
    const int64_t counts[] = {1 + random_.below(50), 1 + random_.below(page()),
                              1 + random_.below(4 * page())};
    draw.count = counts[random_.below(3)];
    if (random_.one_in(3)) {
      draw.view.run = 1 + random_.below(random_.one_in(2) ? 10 : page());
      draw.view.stride = draw.view.run + 1 + random_.below(page());
      draw.count = std::min(draw.count, 40 * draw.view.run);
    }
    if (long_steps_ > 0 && !random_.one_in(20)) {
      draw.view = {};
      draw.count += settings_.opening.bypass_bytes;
    }
    // What is written beyond the end that the dead knew is nobody's any more.
    if (anyone_dead_ && writes) {
      while (draw.count > 0 && draw.end() > std::ssize(model_)) draw.count /= 2;
    }
    return draw;
  }

  void apply(const Draw& draw, const std::string& bytes, bool known) {
    if (draw.count == 0) return;
    const auto end = static_cast<std::size_t>(draw.end());
    if (model_.size() < end) {
      model_.resize(end);
      unknown_.resize(end);
    }
    for (int64_t position = 0; position < draw.count; ++position) {
      const auto at = static_cast<std::size_t>(draw.at(position));
      model_[at] = bytes[static_cast<std::size_t>(position)];
      unknown_[at] = !known;
    }
  }

  void write() {
    const int64_t rank = draw_rank();
    if (!can_write(rank)) return read();
    const Draw draw = draw_access(true);
    const std::string bytes = draw_bytes(draw.count);
    note("rank " + std::to_string(rank) + " writes " + draw.text());
    const Reply reply = ask(rank, command_of(Order::write, draw), bytes);
    if (all_owners_live(draw)) {
      EXPECT_EQ(reply.code, Code::ok) << describe(reply.code);
    } else if (!domains_.first_touch() && !settings_.long_at_first) {
      EXPECT_NE(reply.code, Code::ok) << "who owns it?";
    }
    apply(draw, bytes, reply.code == Code::ok);
  }

  void read() {
    const int64_t rank = draw_rank();
    const Draw draw = draw_access(false);
    note("rank " + std::to_string(rank) + " reads " + draw.text());
    read(rank, draw);
  }
  void read(int64_t rank, const Draw& draw) {
    std::string answer;
    const Reply reply = ask(rank, command_of(Order::read, draw), "", &answer);
    if (anyone_dead_ && reply.code != Code::ok) return;
    ASSERT_EQ(reply.code, Code::ok) << describe(reply.code) << " " << reply.system_error;
    int64_t expected = 0;
    for (int64_t position = 0; position < draw.count; ++position) {
      const auto at = static_cast<std::size_t>(draw.at(position));
      if (at >= model_.size()) break;
      ++expected;
      if (!unknown_[at]) {
        ASSERT_EQ(answer[static_cast<std::size_t>(position)], model_[at]) << "at offset " << at;
      }
    }
    ASSERT_EQ(reply.value, expected);
  }

  // Ranks write records that lie between each other's.
  void write_together() {
    const std::vector<int64_t> ranks = writers();
    const int64_t record = 1 + random_.below(page());
    const int64_t begin = random_.below(2 * settings_.nodes * page());
    note("all write " + std::to_string(record) + " bytes, from " + std::to_string(begin) + " on");
    std::vector<Command> commands;
    std::vector<std::string> texts;
    std::vector<Draw> draws;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      Draw draw;
      draw.offset = begin + static_cast<int64_t>(i) * record;
      draw.count = record;
      if (anyone_dead_ && draw.end() > std::ssize(model_)) draw.count = 0;
      draws.push_back(draw);
      commands.push_back(command_of(Order::write, draw));
      texts.push_back(draw_bytes(draw.count));
    }
    const std::vector<Reply> replies = ask_together(ranks, commands, texts);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (all_owners_live(draws[i])) {
        EXPECT_EQ(replies[i].code, Code::ok) << describe(replies[i].code);
      }
      apply(draws[i], texts[i], replies[i].code == Code::ok);
    }
  }

  // What the reader finds is old or new. What it leaves behind in caches must not be old.
  void read_beside_a_write() {
    const int64_t writer = draw_rank(), reader = draw_rank();
    if (!can_write(writer)) return read();
    Draw draw = draw_access(true);
    if (writer / settings_.ranks_a_node == reader / settings_.ranks_a_node) return write();
    if (!all_owners_live(draw)) return;
    note("rank " + std::to_string(writer) + " writes " + draw.text() + ", rank " +
         std::to_string(reader) + " reads there");
    std::string bytes = draw_bytes(draw.count);
    Draw seen = draw;
    if (long_steps_ > 0) seen.count = std::min(seen.count, page() / 16);  // through a cache
    const Command writing = command_of(Order::write, draw), reading = command_of(Order::read, seen);
    for (int time = 0; time < 4 && !testing::Test::HasFailure(); ++time) {
      for (char& byte : bytes) byte = byte == 'z' ? 'a' : static_cast<char>(byte + 1);
      const std::vector<Reply> replies =
          ask_together({writer, reader}, {writing, reading}, {bytes, ""});
      EXPECT_EQ(replies[0].code, Code::ok) << describe(replies[0].code);
      apply(draw, bytes, true);
      read(reader, seen);
      read(reader, draw);
    }
  }

  void ask_size() {
    const int64_t rank = draw_rank();
    note("rank " + std::to_string(rank) + " asks for the size");
    const Reply reply = ask(rank, {.order = Order::size});
    EXPECT_EQ(reply.code, Code::ok) << describe(reply.code);
    EXPECT_EQ(reply.value, std::ssize(model_));
  }

  void commit() {
    const int64_t rank = draw_rank(), forget = random_.below(2);
    note("rank " + std::to_string(rank) + " commits everywhere" + (forget != 0 ? ", forgets" : ""));
    expect_success({ask(rank, {.order = Order::commit, .count = forget})});
    if (random_.one_in(4)) expect_success({ask(rank, {.order = Order::flush})});
    EXPECT_EQ(stored(), model_);
  }

  // As mpiio/file/sizes.cpp: by all ranks, or by one that has opened the file alone.
  void set_size() {
    const int64_t bytes = random_.below(std::ssize(model_) + 2 * page());
    std::vector<int64_t> ranks = random_.one_in(2) ? writers() : std::vector<int64_t>{draw_rank()};
    if (ranks.empty() || !can_write(ranks[0])) return read();
    note((ranks.size() == 1 ? "rank " + std::to_string(ranks[0]) + " sets" : "all set") +
         " the size to " + std::to_string(bytes));
    const Command forget{.order = Order::truncate, .offset = bytes};
    expect_success(ask_together(ranks, forget));
    std::filesystem::resize_file(path_, static_cast<uintmax_t>(bytes));
    expect_success(ask_together(ranks, forget));
    model_.resize(static_cast<std::size_t>(bytes));
    unknown_.resize(model_.size());
  }

  // A rank closes the file alone, or opens it alone. A node may own bytes while none of its ranks
  // has the file open. Some ranks commit nothing when they close, as after a failure: what they
  // wrote is seen by the others all the same.
  void close_or_open() {
    const int64_t rank = random_.below(settings_.ranks());
    const std::size_t place = static_cast<std::size_t>(rank);
    if (!has_open(rank)) {
      if (settings_.readers) can_write_[place] = random_.one_in(2);
      note("rank " + std::to_string(rank) + " opens" + (can_write(rank) ? "" : " to read"));
      expect_success({ask(rank, {.order = Order::open}, opening_of(rank))});
      expect_success({ask(rank, {.order = Order::meet, .count = 1})});
      open_[place] = true;
    } else if (living().size() > 1) {
      note("rank " + std::to_string(rank) + " closes");
      if (rank % 2 == 0) expect_success({ask(rank, {.order = Order::close_commits})});
      expect_success({ask(rank, {.order = Order::close_leaves})});
      open_[place] = false;
    }
  }

  // Ranks that open the file alone ---------------------------------------------------------------

  std::vector<int64_t> closed_on_other_nodes(const NodeProcess* than) {
    std::vector<int64_t> ranks;
    for (int64_t rank = 0; rank < settings_.ranks(); ++rank) {
      if (!has_open(rank) && &node_of(rank) != than) ranks.push_back(rank);
    }
    return ranks;
  }
  int64_t draw_of(const std::vector<int64_t>& ranks) {
    return ranks[static_cast<std::size_t>(random_.below(std::ssize(ranks)))];
  }
  // It can write, or not.
  void draw_open(int64_t rank) {
    can_write_[static_cast<std::size_t>(rank)] = !random_.one_in(3);
    open_[static_cast<std::size_t>(rank)] = true;
    note("rank " + std::to_string(rank) + " opens" + (can_write(rank) ? "" : " to read"));
  }

  // Also several ranks at once, of different nodes.
  void open_alone() {
    std::vector<int64_t> ranks = closed_on_other_nodes(nullptr);
    if (ranks.empty()) return read();
    if (random_.one_in(2)) ranks = {draw_of(ranks)};
    std::vector<int64_t> opening;
    std::vector<std::string> texts;
    for (const int64_t rank : ranks) {
      if (!opening.empty() && &node_of(opening.back()) == &node_of(rank)) continue;
      draw_open(rank);
      opening.push_back(rank);
      texts.push_back(opening_of(rank));
    }
    const std::vector<Command> commands(opening.size(), {.order = Order::open_alone});
    expect_success(ask_together(opening, commands, texts));
  }

  // An open gives the file owners while a rank writes into its node's cache alone.
  void open_beside_a_write() {
    const std::vector<int64_t> ranks = writers();
    if (ranks.empty()) return open_alone();
    const int64_t writer = draw_of(ranks);
    const std::vector<int64_t> closed = closed_on_other_nodes(&node_of(writer));
    if (closed.empty()) return write();
    const int64_t opener = draw_of(closed);
    const Draw draw = draw_access(true);
    const std::string bytes = draw_bytes(draw.count);
    note("rank " + std::to_string(writer) + " writes " + draw.text() + ", and meanwhile");
    draw_open(opener);
    expect_success(ask_together({writer, opener},
                                {command_of(Order::write, draw), {.order = Order::open_alone}},
                                {bytes, opening_of(opener)}));
    apply(draw, bytes, true);
    read(opener, draw);
    if (!testing::Test::HasFailure()) read(writer, draw);
  }

  // The last owner's bytes are in storage before the directory forgets the file.
  void close_alone() {
    const int64_t rank = draw_rank();
    note("rank " + std::to_string(rank) + " closes");
    expect_success({ask(rank, {.order = Order::close_commits})});
    std::vector<int64_t> ranks{rank};
    std::vector<Command> commands{{.order = Order::close_leaves}};
    std::vector<std::string> texts{""};
    const std::vector<int64_t> closed = closed_on_other_nodes(&node_of(rank));
    if (!closed.empty() && random_.one_in(3)) {
      ranks.push_back(draw_of(closed));
      draw_open(ranks.back());
      commands.push_back({.order = Order::open_alone});
      texts.push_back(opening_of(ranks.back()));
    }
    expect_success(ask_together(ranks, commands, texts));
    open_[static_cast<std::size_t>(rank)] = false;
  }

  void take_step_alone() {
    if (living().empty()) return open_alone();
    const int64_t kind = random_.below(100);
    if (kind < 10) return open_alone();
    if (kind < 16) return open_beside_a_write();
    if (kind < 26) return close_alone();
    if (kind < 50) return write();
    if (kind < 78) return read();
    if (kind < 83) return read_beside_a_write();
    if (kind < 86) return writers().empty() ? read() : write_together();
    if (kind < 90) return ask_size();
    if (kind < 96) return commit();
    set_size();
  }

  // As mpiio/file/owners_parts.cpp: the owners get other parts, while all that have the file open
  // wait; each node has a rank among them.
  void change_parts() {
    const std::vector<int64_t> ranks = living();
    std::vector<int64_t> first;  // of each node
    for (const int64_t rank : ranks) {
      if (first.empty() || &node_of(first.back()) != &node_of(rank)) first.push_back(rank);
    }
    if (domains_.first_touch() || std::ssize(first) < settings_.nodes) return read();
    DomainFacts facts;
    facts.nodes = static_cast<uint32_t>(settings_.owning);
    facts.include_page(page());
    facts.chunk_bytes = (1 + random_.below(5)) * page();
    facts.region = {random_.below(4 * page()), 1 + random_.below(6 * settings_.nodes * page())};
    const bool by_region = random_.one_in(2);
    const FileDomains domains = by_region ? assign_region(facts) : assign_cyclic(facts);
    note("all give the owners parts of " + std::to_string(domains.chunk_bytes()) + " bytes from " +
         std::to_string(domains.origin()) + " on");
    const std::string text(reinterpret_cast<const char*>(&domains), sizeof domains);
    expect_success(ask_together(ranks, {.order = Order::change_prepare}, text));
    expect_success(ask_together(first, {.order = Order::change_commit}));
    expect_success(ask_together(ranks, {.order = Order::change}));
    domains_ = domains;
    Owners owners = *Owners::decoded(std::as_bytes(std::span(owners_)));
    owners.domains = domains;
    const std::vector<std::byte> record = owners.encoded();
    owners_.assign(reinterpret_cast<const char*>(record.data()), record.size());
  }

  void kill_node() {
    const std::vector<int64_t> ranks = living();
    const int64_t rank = draw_rank();
    const bool alone = std::ranges::all_of(
        ranks, [&](int64_t other) { return &node_of(other) == &node_of(rank); });
    if (alone) return;
    note("the node of rank " + std::to_string(rank) + " is gone");
    node_of(rank).kill_it();
    anyone_dead_ = true;
  }

  void take_step() {
    if (alone_) return take_step_alone();
    if (settings_.readers && !anyone_dead_ && random_.one_in(10)) return close_or_open();
    const int64_t kind = random_.below(100);
    if (kind < settings_.writes_in_100) return write();
    if (kind < 72) return read();
    if (kind < 76) return read_beside_a_write();
    if (kind < 81 && long_steps_ <= 0)
      return random_.below(40) < settings_.writes_in_100 ? write_together() : read();
    if (kind == 99 && settings_.kills) return kill_node();
    if (long_steps_ > 0) return kind < 85 && !anyone_dead_ ? ask_size() : read_beside_a_write();
    if (kind < 85) {
      const int64_t rank = draw_rank(), bytes = settings_.draw_bypass(random_);
      note("rank " + std::to_string(rank) + " sets bypass to " + std::to_string(bytes));
      return expect_success({ask(rank, {.order = Order::bypass, .count = bytes})});
    }
    if (anyone_dead_) return read();
    if (kind < 88) return ask_size();
    if (kind < 92) return commit();
    if (kind < 94) return set_size();
    if (kind < 97) return close_or_open();
    if (kind < 99) return change_parts();
    const int64_t rank = draw_rank();
    note("rank " + std::to_string(rank) + " forgets everywhere");
    expect_success({ask(rank, {.order = Order::forget})});
  }

  Command command_of(Order order, const Draw& draw) const {
    return {.order = order, .offset = draw.offset, .count = draw.count, .view = draw.view};
  }

  void finish() {
    note("all close");
    // A rank that leaves without a commit leaves its bytes to caches whose last user commits them.
    // An agent may not know yet that a dead node's ranks use its cache no more.
    if (anyone_dead_) ask_together(living(), {.order = Order::close_commits});
    for (const int64_t rank : alone_ ? living() : std::vector<int64_t>())
      expect_success({ask(rank, {.order = Order::close_commits})});
    const std::vector<Reply> replies = ask_together(living(), {.order = Order::close_leaves});
    if (!anyone_dead_) expect_success(replies);
    for (const auto& node : nodes_) {
      if (node->lives()) continue;
      runtime::RecoverSettings recovery;
      recovery.arena_dir = node->folder();
      recovery.force = true;  // other nodes have changed the file since
      for (const runtime::LeftCache& left : runtime::recover(recovery)) EXPECT_EQ(left.problem, "");
    }
    const std::string found = stored();
    ASSERT_EQ(found.size(), model_.size());
    for (std::size_t at = 0; at < found.size(); ++at) {
      if (!unknown_[at]) {
        ASSERT_EQ(found[at], model_[at]) << "stored at offset " << at;
      }
    }
  }

  SeededRandom random_;
  Settings settings_;
  const bool alone_;
  const std::string folder_, path_;
  const bool loud_;
  std::vector<std::unique_ptr<NodeProcess>> nodes_;
  std::string owners_;      // encoded; or, of ranks that open the file alone, the directory's agent
  std::vector<bool> open_;  // by rank
  std::vector<bool> can_write_;
  FileDomains domains_;
  int64_t first_owner_ = 0;
  bool anyone_dead_ = false;
  int64_t long_steps_ = 0;  // to come, in which most accesses are long
  std::string model_;
  std::vector<bool> unknown_;  // written by an access that failed
  std::vector<std::string> steps_;
};

int64_t number_in(const char* variable, int64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoll(text);
}

void play_programs(Job::Opens opens) {
  constexpr unsigned seconds_a_program = 120;
  const int64_t only = number_in("FOREBAY_SEED", -1);
  const int64_t first = only >= 0 ? only : 0;
  const int64_t count = only >= 0 ? 1 : number_in("FOREBAY_SEEDS", 150);
  for (int64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) {
    std::string folder = testing::TempDir() + "/forebay-agents-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    alarm(seconds_a_program);
    Job job(static_cast<uint64_t>(seed), opens, folder, only >= 0);
    job.run();
    alarm(0);
    std::filesystem::remove_all(folder);
    if (!testing::Test::HasFailure()) continue;
    std::cout << "FOREBAY_SEED=" << seed << '\n';
    for (const std::string& step : job.steps()) std::cout << "  " << step << '\n';
  }
}

TEST(Agents, LoseNoByte) { play_programs(Job::Opens::together); }

TEST(Agents, LoseNoByteOfRanksThatOpenTheFileAlone) { play_programs(Job::Opens::alone); }

}  // namespace
}  // namespace forebay::test

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "--node") == 0)
    return forebay::test::play_node(std::atoi(argv[2]), argv[3]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
