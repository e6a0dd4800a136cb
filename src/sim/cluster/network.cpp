#include "sim/cluster/network.h"

#include <algorithm>

namespace forebay::sim {
namespace {

constexpr int64_t ethernet_header = 18;  // with the checksum; no preamble
constexpr int64_t ip_header = 20, tcp_header = 20, icmp_header = 8;
constexpr int64_t around_segment = ethernet_header + ip_header + tcp_header;
constexpr int64_t around_echo = ethernet_header + ip_header + icmp_header;

TcpProfile tcp_profile_of(const NetworkProfile& profile) {
  TcpProfile tcp;
  tcp.segment = std::max(std::min(profile.mss, profile.mtu - ip_header - tcp_header), int64_t{1});
  tcp.window = profile.window;
  tcp.first_window = profile.first_window > 0 ? profile.first_window : profile.window;
  return tcp;
}

// The first tick of a host's clock at or after a time. The clocks of hosts tick alike, but apart.
Picoseconds next_tick(uint32_t host, Picoseconds time) {
  constexpr Picoseconds tick = millisecond;
  const uint64_t scattered = (host + uint64_t{1}) * 0x9e3779b97f4a7c15 >> 20;
  const auto phase = static_cast<Picoseconds>(scattered % static_cast<uint64_t>(tick));
  return (time - phase + tick - 1) / tick * tick + phase;
}

}  // namespace

Network::Network(Kernel& kernel, const NetworkProfile& profile, uint32_t hosts)
    : kernel_(kernel),
      profile_(profile),
      tcp_(tcp_profile_of(profile)),
      byte_time_(8.0 / profile.bits_per_second * static_cast<double>(second)),
      full_time_(std::max(
          link_time(tcp_.segment + around_segment),
          profile.serial_hosts
              ? profile.host_delay + profile.host_delay / profile.segments_an_acknowledgement
              : 0)),
      window_segments_(std::max(tcp_.window / tcp_.segment, int64_t{1})),
      hosts_(hosts),
      queue_limit_(
          static_cast<std::size_t>(profile.nic_queue_frames + profile.nic_transmit_limit_frames)),
      queue_starts_(queue_limit_ * hosts),
      peers_(hosts) {
  // There: the segments of one acknowledgement on the first link, the last of them on the other
  // link. Back: the acknowledgement on both links.
  const int64_t on_links = std::min(window_segments_, profile.segments_an_acknowledgement) + 1;
  window_cycle_ = on_links * full_time_ + 2 * link_time(around_segment) + 2 * profile.switch_delay +
                  4 * profile.host_delay;
  window_matters_ = window_segments_ * full_time_ < window_cycle_;
}

void Network::send(uint32_t from, uint32_t to, int64_t bytes, Then arrived) {
  bytes = std::max(bytes, int64_t{1});
  ++counts_.messages;
  counts_.message_bytes += bytes;
  if (from == to) return copy(from, bytes, arrived);
  if (!profile_.by_frames) return send_whole(from, to, bytes, arrived);
  const uint32_t number = stream_between(from, to);
  Stream& stream = streams_[number];
  stream.sender.write(bytes);
  const uint32_t message = messages_.take({stream.sender.written(), arrived, none});
  if (stream.first_message == none) {
    stream.first_message = message;
  } else {
    messages_[stream.last_message].next = message;
  }
  stream.last_message = message;
  send_what_may(number);
}

void Network::ping(uint32_t from, uint32_t to, int64_t payload_bytes, Then answered) {
  if (from == to) return kernel_.after(4 * profile_.host_delay, answered);
  const auto bytes = static_cast<uint32_t>(payload_bytes + around_echo);
  transmit(frames_.take({0, pings_.take(answered), from, to, bytes, none, Kind::echo, false}));
}

void Network::copy(uint32_t host, int64_t bytes, Then arrived) {
  Picoseconds& until = hosts_[host].copies_until;
  until = std::max(until, kernel_.now());
  if (profile_.copy_bytes_per_second > 0) until += time_of(bytes, profile_.copy_bytes_per_second);
  kernel_.at(until, arrived);
}

uint32_t Network::stream_between(uint32_t from, uint32_t to) {
  auto& [first, streams] = peers_[from];
  if (streams.empty()) first = to;
  if (to < first) {
    streams.insert(streams.begin(), first - to, none);
    first = to;
  }
  if (to - first >= streams.size()) streams.resize(to - first + 1, none);
  uint32_t& stream = streams[to - first];
  if (stream == none) stream = new_stream(from, to);
  return stream;
}

uint32_t Network::new_stream(uint32_t from, uint32_t to) {
  if (profile_.by_frames) {
    streams_.emplace_back(from, to, tcp_);
    return static_cast<uint32_t>(streams_.size() - 1);
  }
  if (window_matters_) paces_.emplace_back();
  last_messages_.emplace_back();
  return static_cast<uint32_t>(last_messages_.size() - 1);
}

void Network::happen(uint64_t word) {
  const auto number = static_cast<uint32_t>(word >> word_bits);
  switch (word & ((1 << word_bits) - 1)) {
    case at_port:
      return come_to_port(number);
    case port_free:
      return free_port(number);
    case delivered:
      return deliver(number);
    case timer:
      return timer_ends(number);
    case whole_at_port:
      return whole_comes_to_port(number);
  }
}

// Frames reach the card's queue in the order in which they set out, as processing takes all of them
// equally long. So the link is reserved at once, with no event for the queue.
void Network::transmit(uint32_t number) {
  const Frame& frame = frames_[number];
  Host& host = hosts_[frame.from];
  const Picoseconds arrival = processed(host, kernel_.now());
  const Picoseconds start = std::max(arrival, host.sends_until);
  if (queue_limit_ > 0 && queue_is_full(frame.from, arrival, start)) return drop(number);
  const Picoseconds took = link_time(frame.bytes);
  host.sends_until = start + took;
  host.sending += took;
  ++counts_.frames;
  set(host.sends_until + profile_.switch_delay, at_port, number);
}

// The queue is full if the frame that is as many places ahead as the queue has still waits. Takes
// note of the new frame if there is room.
bool Network::queue_is_full(uint32_t from, Picoseconds arrival, Picoseconds start) {
  uint32_t& place = hosts_[from].frames_sent;
  Picoseconds& oldest = queue_starts_[from * queue_limit_ + place];
  if (oldest > arrival) return true;
  oldest = start;
  if (++place == queue_limit_) place = 0;
  return false;
}

// When a host has processed a frame that comes to it at `time`. Where hosts are serial, a frame
// that is known to come has its turn before one that sets out meanwhile.
Picoseconds Network::processed(Host& host, Picoseconds time) {
  if (!profile_.serial_hosts) return time + profile_.host_delay;
  host.processes_until = std::max(host.processes_until, time) + profile_.host_delay;
  return host.processes_until;
}

void Network::come_to_port(uint32_t number) {
  Frame& frame = frames_[number];
  Host& host = hosts_[frame.to];
  if (host.first_waiting == none && host.receives_until <= kernel_.now()) return leave_port(number);
  if (!finds_room(frame.bytes, frame.to)) return drop(number);
  fill_ += frame.bytes;
  highest_fill_ = std::max(highest_fill_, fill_);
  if (host.first_waiting == none) {
    host.first_waiting = number;
    ++ports_waited_for_;
    set(host.receives_until, port_free, frame.to);
  } else {
    frames_[host.last_waiting].next = number;
  }
  host.last_waiting = number;
}

void Network::free_port(uint32_t to) {
  Host& host = hosts_[to];
  if (host.receives_until <= kernel_.now()) {  // no whole message has come first
    const uint32_t number = host.first_waiting;
    Frame& frame = frames_[number];
    host.first_waiting = frame.next;
    frame.next = none;
    fill_ -= frame.bytes;
    leave_port(number);
  }
  if (host.first_waiting == none) {
    --ports_waited_for_;
  } else {
    set(host.receives_until, port_free, to);
  }
}

void Network::leave_port(uint32_t number) {
  const Frame& frame = frames_[number];
  Host& host = hosts_[frame.to];
  const Picoseconds took = link_time(frame.bytes);
  host.receives_until = kernel_.now() + took;
  host.receiving += took;
  set(processed(host, host.receives_until), delivered, number);
}

// The ports that send a frame while none waits are counted only where it matters.
bool Network::finds_room(uint32_t bytes, uint32_t to) {
  const int64_t needed = fill_ + bytes;
  const int64_t known = ports_waited_for_ + (hosts_[to].first_waiting == none ? 1 : 0);
  if (needed <= buffer_size(known)) return true;
  if (needed > buffer_size(static_cast<int64_t>(hosts_.size()))) return false;
  const Picoseconds now = kernel_.now();
  return needed <= buffer_size(std::ranges::count_if(hosts_, [now](const Host& host) {
           return host.receives_until > now || host.first_waiting != none;
         }));
}

int64_t Network::buffer_size(int64_t ports) const {
  const int64_t size = std::max(profile_.buffer_per_port * ports, profile_.least_buffer);
  return profile_.most_buffer > 0 ? std::min(size, profile_.most_buffer) : size;
}

void Network::drop(uint32_t number) {
  const Frame& frame = frames_[number];
  ++counts_.dropped;
  if (frame.kind == Kind::data || frame.kind == Kind::acknowledgement) {
    set_timer(frame.of);
  } else {
    pings_.give_back(frame.of);
  }
  frames_.give_back(number);
}

void Network::deliver(uint32_t number) {
  Frame& frame = frames_[number];
  const uint32_t of = frame.of;
  switch (frame.kind) {
    case Kind::data:
      return deliver_data(number);
    case Kind::acknowledgement:
      streams_[of].sender.acknowledge(tcp_, frame.begin, kernel_.now());
      frames_.give_back(number);
      return send_what_may(of);
    case Kind::echo:
      frame.kind = Kind::answer;
      std::swap(frame.from, frame.to);
      return transmit(number);
    case Kind::answer:
      const Then answered = pings_[of];
      pings_.give_back(of);
      frames_.give_back(number);
      return answered.happen();
  }
}

void Network::send_what_may(uint32_t stream) {
  Stream& of = streams_[stream];
  for (;;) {
    const TcpSegment segment = of.sender.next(tcp_, kernel_.now());
    if (segment.bytes == 0) return;
    if (segment.again) ++counts_.retransmitted;
    const auto bytes = static_cast<uint32_t>(segment.bytes + around_segment);
    transmit(frames_.take({segment.begin, stream, of.from, of.to, bytes, none, Kind::data,
                           segment.asks || profile_.segments_an_acknowledgement == 1}));
  }
}

// The frame becomes the acknowledgement, if there is to be one.
void Network::deliver_data(uint32_t number) {
  Frame& frame = frames_[number];
  const uint32_t stream = frame.of;
  TcpReceiver& receiver = streams_[stream].receiver;
  const int64_t end = frame.begin + frame.bytes - around_segment;
  if (receiver.receive(early_, frame.begin, end, frame.asks)) {
    frame.kind = Kind::acknowledgement;
    frame.begin = receiver.expected();
    frame.bytes = around_segment;
    std::swap(frame.from, frame.to);
    transmit(number);
  } else {
    frames_.give_back(number);
  }
  messages_arrive(stream);
}

// Whoever waits for a message may send others meanwhile, which may move every stream and message.
void Network::messages_arrive(uint32_t stream) {
  for (;;) {
    const uint32_t first = streams_[stream].first_message;
    if (first == none) return;
    const Message message = messages_[first];
    if (message.end > streams_[stream].receiver.expected()) return;
    streams_[stream].first_message = message.next;
    messages_.give_back(first);
    message.arrived.happen();
  }
}

void Network::set_timer(uint32_t stream) {
  Stream& of = streams_[stream];
  if (of.timer_is_set) return;
  of.timer_is_set = true;
  set(next_tick(of.from, of.sender.deadline()), timer, stream);
}

void Network::timer_ends(uint32_t stream) {
  Stream& of = streams_[stream];
  of.timer_is_set = false;
  if (!of.sender.waits()) return;
  if (of.sender.deadline() > kernel_.now()) return set_timer(stream);
  ++counts_.timeouts;
  of.sender.time_out(tcp_, kernel_.now());
  send_what_may(stream);
}

void Network::send_whole(uint32_t from, uint32_t to, int64_t bytes, Then arrived) {
  Host& host = hosts_[from];
  const int64_t segments = (bytes + tcp_.segment - 1) / tcp_.segment;
  const Picoseconds last_time = link_time(bytes - (segments - 1) * tcp_.segment + around_segment);
  const Picoseconds first_time = segments > 1 ? full_time_ : last_time;
  const Picoseconds link_times = (segments - 1) * full_time_ + last_time;
  counts_.frames += static_cast<uint64_t>(segments);
  host.sending += link_times;

  const uint32_t stream = stream_between(from, to);
  LastMessage& last = last_messages_[stream];
  const Picoseconds at_link = kernel_.now() + profile_.host_delay;
  const Picoseconds first_starts = first_frame_starts(host, last, at_link, link_times);
  const Picoseconds start = std::max(at_link, host.sends_until);
  host.sends_until = last.on_link_until = start + link_times;
  const Picoseconds last_starts =
      window_matters_ ? last_frame_starts(paces_[stream], start, bytes) : start;
  const Picoseconds last_at_port =
      std::max(last_starts + last_time, host.sends_until) + profile_.switch_delay;
  last.frame_sent = std::max(last.frame_sent, last_at_port) + last_time;
  set(first_starts + first_time + profile_.switch_delay, whole_at_port,
      whole_.take({to, link_times, last.frame_sent, arrived}));
}

// A stream that was idle sends a window full at once, and what is left of its message takes turns
// with what is left of others. So a message waits for the first windows of those before it, but not
// for all of them.
Picoseconds Network::first_frame_starts(Host& host, const LastMessage& last, Picoseconds at_link,
                                        Picoseconds link_times) const {
  if (last.on_link_until > at_link) return last.on_link_until;
  const Picoseconds starts = std::max(at_link, host.sends_first_until);
  host.sends_first_until = starts + std::min(link_times, window_segments_ * full_time_);
  return starts;
}

// When the sender's link may begin with a message's last frame, where the window matters. The
// stream begins anew if it was idle for a cycle, or is a cycle behind what the window lets go, or
// if the message fills the window by itself and what went before does not hold it up longer.
Picoseconds Network::last_frame_starts(Pace& pace, Picoseconds start, int64_t bytes) const {
  Pace anew = pace;
  anew.began = start;
  anew.bytes = 0;
  const bool was_idle = start >= pace.idle_from;
  const bool is_behind = start >= paced_start(pace, pace.bytes) + window_cycle_;
  const bool fills_window = bytes > window_segments_ * tcp_.segment;
  if (was_idle || is_behind ||
      (fills_window && paced_start(anew, bytes - 1) >= paced_start(pace, pace.bytes + bytes - 1))) {
    pace = anew;
  }
  pace.bytes += bytes;
  const Picoseconds last = std::max(start, paced_start(pace, pace.bytes - 1));
  pace.idle_from = last + window_cycle_;
  return last;
}

// A window full of segments goes in each cycle, one right after the other.
Picoseconds Network::paced_start(const Pace& pace, int64_t byte) const {
  const int64_t segment = byte / tcp_.segment;
  return pace.began + segment / window_segments_ * window_cycle_ +
         segment % window_segments_ * full_time_;
}

void Network::whole_comes_to_port(uint32_t number) {
  const WholeMessage message = whole_[number];
  whole_.give_back(number);
  Host& host = hosts_[message.to];
  host.receives_until = std::max(host.receives_until, kernel_.now()) + message.link_time;
  host.receiving += message.link_time;
  const Picoseconds sent = std::max(host.receives_until, message.last_frame_sent);
  kernel_.at(sent + profile_.host_delay, message.arrived);
}

}  // namespace forebay::sim
