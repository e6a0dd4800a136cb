// A job of the random programs: nodes, each a process with a cache and an agent of its own, ranks
// that do one thing after another, or some things side by side, and what each byte of their file
// must be.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "agent/owners.h"
#include "agents/node_process.h"
#include "agents/wire.h"
#include "domain/file_domains.h"
#include "extent/seeded_random.h"
#include "runtime/node/recover.h"

namespace forebay::test {

using agent::Address;
using agent::Owners;

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
    opening.close_to_open = seed % 6 == 5 ? 1 : 0;
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
        << (opening.close_to_open != 0 ? "; clients keep bytes" : "")
        << (readers ? ", and readers" : "") << (long_at_first ? "; long accesses at first" : "");
    return out.str();
  }
};

// A job and its file, and what each of its bytes must be.
class Job {
 public:
  // Loud: it prints each step before it takes it.
  Job(uint64_t seed, const std::string& folder, bool loud)
      : random_(seed),
        settings_(seed, random_),
        folder_(folder),
        path_(folder + "/file"),
        loud_(loud) {}
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  virtual ~Job() = default;

  void run() {
    note(settings_.text());
    store_before();
    start();
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

 protected:
  virtual void start() = 0;
  virtual void take_step() = 0;
  // Of all that have the file open.
  virtual void commit_at_the_end() = 0;

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

  // `open`: all ranks are about to open the file.
  std::vector<Address> start_nodes(bool open) {
    std::vector<Address> addresses;
    for (int64_t node = 0; node < settings_.nodes; ++node) {
      nodes_.push_back(std::make_unique<NodeProcess>(folder_ + "/node-" + std::to_string(node)));
      std::string answer;
      ask(node * settings_.ranks_a_node, {.order = Order::greet}, "", &answer);
      EXPECT_EQ(answer.size(), sizeof(Address));
      answer.resize(sizeof(Address));
      std::memcpy(&addresses.emplace_back(), answer.data(), sizeof(Address));
    }
    open_.assign(static_cast<std::size_t>(settings_.ranks()), open);
    can_write_.assign(open_.size(), !settings_.readers);
    return addresses;
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

  virtual Draw draw_access(bool writes) {
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
      SCOPED_TRACE("time " + std::to_string(time) + " first byte " + bytes.substr(0, 1));
      read(reader, seen);
      SCOPED_TRACE("again");
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

  Command command_of(Order order, const Draw& draw) const {
    return {.order = order, .offset = draw.offset, .count = draw.count, .view = draw.view};
  }

  void finish() {
    note("all close");
    commit_at_the_end();
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

inline int64_t number_in(const char* variable, int64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoll(text);
}

// FOREBAY_SEEDS: number of programs. FOREBAY_SEED: this program alone, with its steps.
template <typename JobOfTest>
void play_programs() {
  constexpr unsigned seconds_a_program = 120;
  const int64_t only = number_in("FOREBAY_SEED", -1);
  const int64_t first = only >= 0 ? only : 0;
  const int64_t count = only >= 0 ? 1 : number_in("FOREBAY_SEEDS", 150);
  for (int64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) {
    std::string folder = testing::TempDir() + "/forebay-agents-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    alarm(seconds_a_program);
    JobOfTest job(static_cast<uint64_t>(seed), folder, only >= 0);
    job.run();
    alarm(0);
    std::filesystem::remove_all(folder);
    if (!testing::Test::HasFailure()) continue;
    std::cout << "FOREBAY_SEED=" << seed << '\n';
    for (const std::string& step : job.steps()) std::cout << "  " << step << '\n';
  }
}

}  // namespace forebay::test
