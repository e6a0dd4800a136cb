// Transfers between hosts in the network of the cluster simulator and in SimGrid, on one platform:
// how long they take there, and the processor time of simulating them. simgrid_network.py beside it
// compiles and runs it. Forebay itself neither uses nor links SimGrid.
//
//   simgrid_network REPETITIONS NAME=VALUE... < CASES
//
// Each NAME is a value of a machine's section `network`. A line of CASES is
// "ROUNDS FROM:TO:BYTES...": its transfers begin together, ROUNDS times, each time after the last
// has ended. For each case a line is printed: seconds of a round in SimGrid, by messages and by
// frames; frames dropped; and the processor time of a transfer in microseconds, in the same order,
// as the median of REPETITIONS in turn.
//
// SimGrid's fluid model CM02 without correction factors: a transfer takes the latency of its way,
// and then shares each link fairly with others, but never gets more than a window a round trip.
#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <map>
#include <simgrid/s4u/Actor.hpp>
#include <simgrid/s4u/Comm.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/Host.hpp>
#include <simgrid/s4u/Link.hpp>
#include <simgrid/s4u/NetZone.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/cluster/kernel.h"
#include "sim/cluster/network.h"

namespace {

namespace s4u = simgrid::s4u;
using forebay::sim::Kernel;
using forebay::sim::Network;
using forebay::sim::NetworkProfile;
using forebay::sim::Picoseconds;

struct Transfer {
  uint32_t from, to;
  int64_t bytes;
};

struct Case {
  int rounds = 0;
  std::vector<Transfer> transfers;
  uint32_t hosts = 0;
};

struct Outcome {
  double round_s = 0;      // virtual, until the last transfer has arrived
  double transfer_us = 0;  // of processor time
  uint64_t dropped = 0;
};

// Knows when the last transfer has arrived.
struct Arrival final : forebay::sim::Event {
  explicit Arrival(const Kernel& kernel) : kernel(kernel) {}
  void happen(uint64_t) override { last = kernel.now(); }
  const Kernel& kernel;
  Picoseconds last = 0;
};

// No rounds: the line is no case.
Case case_of(const std::string& line) {
  std::istringstream words(line);
  Case one;
  words >> one.rounds;
  for (std::string word; words >> word;) {
    Transfer to{};
    char more = 0;
    if (std::sscanf(word.c_str(), "%" SCNu32 ":%" SCNu32 ":%" SCNd64 "%c", &to.from, &to.to,
                    &to.bytes, &more) != 3)
      return {0, {}, 0};
    one.transfers.push_back(to);
    one.hosts = std::max({one.hosts, to.from + 1, to.to + 1});
  }
  return one.transfers.empty() ? Case{0, {}, 0} : one;
}

NetworkProfile profile_of(const std::map<std::string, double>& values) {
  const auto time = [&](const char* name) {
    return static_cast<Picoseconds>(values.at(name) * forebay::sim::second + 0.5);
  };
  const auto whole = [&](const char* name) { return static_cast<int64_t>(values.at(name)); };
  NetworkProfile profile;
  profile.bits_per_second = values.at("bits_per_second");
  profile.host_delay = time("host_delay_s");
  profile.serial_hosts = whole("serial_hosts") != 0;
  profile.switch_delay = time("switch_delay_s");
  profile.mtu = whole("mtu");
  profile.mss = whole("mss");
  profile.window = whole("window");
  profile.segments_an_acknowledgement = whole("segments_an_acknowledgement");
  profile.buffer_per_port = whole("switch_buffer_per_port");
  profile.least_buffer = whole("least_switch_buffer");
  profile.most_buffer = whole("most_switch_buffer");
  profile.nic_queue_frames = whole("nic_queue_frames");
  profile.nic_transmit_limit_frames = whole("nic_transmit_limit_frames");
  return profile;
}

// `round` makes the transfers once, and returns how long they took.
template <typename Round>
Outcome measured(const Case& one, const Round& round) {
  double took_s = 0;
  const std::clock_t began = std::clock();
  for (int number = 0; number < one.rounds; ++number) took_s += round();
  const double used_us = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC * 1e6;
  return {took_s / one.rounds, used_us / one.rounds / static_cast<double>(one.transfers.size())};
}

Outcome in_forebay(const Case& one, const NetworkProfile& profile) {
  Kernel kernel;
  Network network(kernel, profile, one.hosts);
  Arrival arrival(kernel);
  Outcome outcome = measured(one, [&] {
    const Picoseconds began = kernel.now();
    for (const Transfer& to : one.transfers) network.send(to.from, to.to, to.bytes, {&arrival, 0});
    kernel.run();
    return static_cast<double>(arrival.last - began) / forebay::sim::second;
  });
  outcome.dropped = network.counts().dropped;
  return outcome;
}

// Called by an actor.
Outcome in_simgrid(const Case& one, const std::vector<s4u::Host*>& hosts) {
  return measured(one, [&] {
    const double began = s4u::Engine::get_clock();
    std::vector<s4u::CommPtr> under_way;
    for (const Transfer& to : one.transfers) {
      const auto bytes = static_cast<uint64_t>(to.bytes);
      under_way.push_back(s4u::Comm::sendto_async(hosts[to.from], hosts[to.to], bytes));
    }
    s4u::Comm::wait_all(under_way);
    return s4u::Engine::get_clock() - began;
  });
}

// Each host has a link to a switch without limits; half of the switch's delay is on each link.
std::vector<s4u::Host*> platform(const NetworkProfile& profile, uint32_t hosts) {
  s4u::NetZone* const zone = s4u::create_star_zone("cluster");
  const auto latency =
      static_cast<double>(profile.host_delay) + static_cast<double>(profile.switch_delay) / 2;
  std::vector<s4u::Host*> made;
  for (uint32_t number = 0; number < hosts; ++number) {
    const std::string name = std::to_string(number);
    s4u::Host* const host = zone->create_host("host" + name, 1e9);
    s4u::SplitDuplexLink* const link =
        zone->create_split_duplex_link("link" + name, profile.bits_per_second / 8);
    link->set_latency(latency / forebay::sim::second)->seal();
    zone->add_route(host->seal()->get_netpoint(), nullptr, nullptr, nullptr,
                    {{link, s4u::LinkInRoute::Direction::UP}}, true);
    made.push_back(host);
  }
  zone->seal();
  return made;
}

double median_us(std::vector<Outcome>& outcomes) {
  const auto middle = outcomes.begin() + std::ssize(outcomes) / 2;
  std::ranges::nth_element(outcomes, middle, {}, &Outcome::transfer_us);
  return middle->transfer_us;
}

void compare(const Case& one, const NetworkProfile& profile, int repetitions,
             const std::vector<s4u::Host*>& hosts) {
  NetworkProfile by_messages = profile;
  by_messages.by_frames = false;
  std::vector<Outcome> simgrid, messages, frames;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    simgrid.push_back(in_simgrid(one, hosts));
    messages.push_back(in_forebay(one, by_messages));
    frames.push_back(in_forebay(one, profile));
  }
  std::printf("%.12g %.12g %.12g %llu", simgrid[0].round_s, messages[0].round_s, frames[0].round_s,
              static_cast<unsigned long long>(frames[0].dropped));
  std::printf(" %.6g %.6g %.6g\n", median_us(simgrid), median_us(messages), median_us(frames));
}

void configure(const NetworkProfile& profile) {
  s4u::Engine::set_config("network/model:CM02");
  s4u::Engine::set_config("network/TCP-gamma:" + std::to_string(profile.window));
  s4u::Engine::set_config("network/weight-S:0");
  s4u::Engine::set_config("network/latency-factor:1");
  s4u::Engine::set_config("network/bandwidth-factor:1");
  s4u::Engine::set_config("network/crosstraffic:no");  // acknowledgements take no bandwidth
  s4u::Engine::set_config("surf/precision:1e-12");
}

int refused(const char* why, const std::string& what = "") {
  std::fprintf(stderr, "simgrid_network: %s%s\n", why, what.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  s4u::Engine engine(&argc, argv);  // takes its own arguments away
  const int repetitions = argc > 1 ? std::atoi(argv[1]) : 0;
  if (repetitions < 1) return refused("REPETITIONS NAME=VALUE... < CASES");
  std::map<std::string, double> values;
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    const std::size_t sign = std::min(word.find('='), word.size() - 1);
    values[word.substr(0, sign)] = std::atof(word.substr(sign + 1).c_str());
  }
  NetworkProfile profile;
  try {
    profile = profile_of(values);
  } catch (const std::out_of_range&) {
    return refused("a value of the network is missing");
  }
  std::vector<Case> cases;
  uint32_t most = 1;
  for (std::string line; std::getline(std::cin, line);) {
    cases.push_back(case_of(line));
    if (cases.back().rounds < 1) return refused("not ROUNDS FROM:TO:BYTES...: ", line);
    most = std::max(most, cases.back().hosts);
  }
  configure(profile);
  const std::vector<s4u::Host*> hosts = platform(profile, most);
  s4u::Actor::create("all", hosts[0], [&] {
    for (const Case& one : cases) compare(one, profile, repetitions, hosts);
  });
  engine.run();
  return 0;
}
