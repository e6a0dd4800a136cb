// The network of a simulated cluster: hosts with one network card each, full duplex links, and one
// switch that stores a frame and then forwards it. After section 3.2.2 of Settlemyer, "A Study of
// Client-based Caching for Parallel I/O" (2009), whose Ethernet drops frames that come together
// (in-cast). Two levels of detail: every frame of a TCP stream, or messages as a whole.
//
// A frame's way: IP processing at the sender, its card's queue, its link, the switch, the queue of
// the output port, the receiver's link, IP processing at the receiver. A frame needs two events,
// and a third one where it waits for the output port.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/cluster/kernel.h"
#include "sim/cluster/tcp_stream.h"

namespace forebay::sim {

// The defaults: Gigabit Ethernet.
struct NetworkProfile {
  double bits_per_second = 1e9;  // of each link, in each direction
  // IP processing of a frame, at the sender and again at the receiver.
  Picoseconds host_delay = 23'400 * nanosecond;
  // A host processes one frame at a time, whether it sends or receives it. False: processing delays
  // each frame by itself.
  bool serial_hosts = false;
  Picoseconds switch_delay = 500 * nanosecond;  // of a frame, once it has come as a whole
  int64_t mtu = 1500;                           // most bytes of an IP packet
  int64_t mss = 1460;                           // most bytes of a stream in a packet
  int64_t window = 65'536;                      // most bytes of a stream on the way
  // A receiver acknowledges every second segment (delayed acknowledgements), or with 1 each.
  int64_t segments_an_acknowledgement = 2;
  // The switch has one buffer for all frames that wait for an output port: `buffer_per_port` bytes
  // for each port in use, but at least and at most so many bytes. A port is in use while a frame
  // waits for it or is being sent by it. The frame that a port is sending takes no room.
  int64_t buffer_per_port = 65'536;
  int64_t least_buffer = 0;
  int64_t most_buffer = 0;  // 0: no limit
  // A card takes so many frames off its queue ahead of the link. The host loses a frame that finds
  // the queue full as well: the sum of the two counts. 0 for both: no limit.
  int64_t nic_queue_frames = 0;
  int64_t nic_transmit_limit_frames = 0;
  bool by_frames = true;               // false: message level, for speed
  double copy_bytes_per_second = 4e9;  // messages of a host to itself; 0: they take no time
  // Congestion window of a new stream, in bytes. 0: `window`, as if the stream had been in use for
  // long. Message level takes no notice.
  int64_t first_window = 0;
};

// A host has one stream to each other host, and it is there from the start. A stream is described
// in tcp_stream.h. Further simplifications at frame level:
// - A stream carries data one way; acknowledgements are frames of their own.
// - A stream's timer is set only once a frame of it was lost. So there are no timeouts without a
//   loss, and no events of timers outlive a run without losses.
// - Timers end with a tick of the sending host's clock, every millisecond and at another phase on
//   each host. Otherwise all senders of an in-cast would time out at the same picosecond for ever.
//
// Message level: a message reserves the sender's link when it is sent, and the receiver's when its
// first frame comes to the output port; each link carries messages one after the other, not in
// turns. So all have arrived at about the same time as at frame level, but single ones may arrive
// much earlier than there. There are no losses and no acknowledgements on the links. The window
// limits a stream as at frame level while no other stream is in its way.
class Network final : public Event {
 public:
  // `kernel` outlives the network.
  Network(Kernel& kernel, const NetworkProfile& profile, uint32_t hosts);
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  // Sends a message of `bytes` bytes (at least 1) over the stream of the two hosts. `arrived`
  // happens when its last byte has arrived. Messages of one host to another arrive in order.
  void send(uint32_t from, uint32_t to, int64_t bytes, Then arrived);
  // Sends an ICMP echo with so many payload bytes (56 is usual) in one frame. `answered` happens
  // when the answer has come back; never, if one of the two frames was dropped.
  void ping(uint32_t from, uint32_t to, int64_t payload_bytes, Then answered);

  struct Counts {
    uint64_t frames = 0;         // that a card has put on a link
    uint64_t dropped = 0;        // by a card or by the switch
    uint64_t retransmitted = 0;  // segments
    uint64_t timeouts = 0;
    uint64_t messages = 0;      // given to send()
    int64_t message_bytes = 0;  // given to send()
  };
  const Counts& counts() const { return counts_; }
  // How long a host's link has been busy, including what it is reserved for.
  Picoseconds sending_time(uint32_t host) const { return hosts_[host].sending; }
  Picoseconds receiving_time(uint32_t host) const { return hosts_[host].receiving; }
  // The same until now, about: a link may be reserved from later on.
  Picoseconds sent_for(uint32_t host) const {
    return used_of(hosts_[host].sending, hosts_[host].sends_until);
  }
  Picoseconds received_for(uint32_t host) const {
    return used_of(hosts_[host].receiving, hosts_[host].receives_until);
  }
  int64_t highest_fill() const { return highest_fill_; }  // of the switch's buffer, in bytes

 private:
  static constexpr unsigned word_bits = 3;
  enum Word : uint64_t { at_port, port_free, delivered, timer, whole_at_port };
  enum class Kind : uint8_t { data, acknowledgement, echo, answer };
  static constexpr uint32_t none = UINT32_MAX;

  Picoseconds used_of(Picoseconds all, Picoseconds until) const {
    return all - std::clamp<Picoseconds>(until - kernel_.now(), 0, all);
  }

  struct Host {
    Picoseconds sends_until = 0;     // the link to the switch
    Picoseconds receives_until = 0;  // the link from the switch
    // Message level: the link, if each message ended with its first window.
    Picoseconds sends_first_until = 0;
    Picoseconds copies_until = 0;
    Picoseconds processes_until = 0;
    Picoseconds sending = 0, receiving = 0;
    // Frames that wait for the output port to this host.
    uint32_t first_waiting = none, last_waiting = none;
    uint32_t frames_sent = 0;  // wraps at the size of its part of queue_starts_
  };
  struct Frame {
    int64_t begin;  // data: of the segment; acknowledgement: what the receiver expects
    uint32_t of;    // number of the stream or of the ping
    uint32_t from, to;
    uint32_t bytes;  // on a link
    uint32_t next;   // the frame behind it in its queue
    Kind kind;
    bool asks;
  };
  struct Message {
    int64_t end;  // of its bytes in the stream
    Then arrived;
    uint32_t next;
  };
  struct Stream {
    Stream(uint32_t from_host, uint32_t to_host, const TcpProfile& tcp)
        : sender(tcp), from(from_host), to(to_host) {}
    TcpSender sender;
    TcpReceiver receiver;
    uint32_t from, to;
    uint32_t first_message = none, last_message = none;  // that have not arrived
    bool timer_is_set = false;
  };
  // Message level: a stream's last message. Until then it is on the sender's link; then its last
  // frame is sent by the port, at the earliest.
  struct LastMessage {
    Picoseconds on_link_until = 0, frame_sent = 0;
  };
  // Message level, where the window matters: what a stream has sent since it was last idle.
  struct Pace {
    Picoseconds began = 0;
    Picoseconds idle_from = 0;
    int64_t bytes = 0;
  };
  // A host's streams to the hosts from `first` on; none: it has not sent to that one.
  struct Peers {
    uint32_t first = 0;
    std::vector<uint32_t> streams;
  };
  struct WholeMessage {
    uint32_t to;
    Picoseconds link_time;
    Picoseconds last_frame_sent;
    Then arrived;
  };

  void happen(uint64_t word) override;
  void set(Picoseconds time, Word what, uint32_t number) {
    kernel_.at(time, {this, static_cast<uint64_t>(number) << word_bits | what});
  }
  Picoseconds link_time(int64_t bytes) const {
    return static_cast<Picoseconds>(static_cast<double>(bytes) * byte_time_ + 0.5);
  }
  uint32_t stream_between(uint32_t from, uint32_t to);
  uint32_t new_stream(uint32_t from, uint32_t to);
  void copy(uint32_t host, int64_t bytes, Then arrived);

  // Frames on their way.
  Picoseconds processed(Host& host, Picoseconds time);
  void transmit(uint32_t number);
  bool queue_is_full(uint32_t from, Picoseconds arrival, Picoseconds start);
  void come_to_port(uint32_t number);
  void free_port(uint32_t to);
  void leave_port(uint32_t number);
  bool finds_room(uint32_t bytes, uint32_t to);
  int64_t buffer_size(int64_t ports) const;
  void drop(uint32_t number);
  void deliver(uint32_t number);

  // Streams at frame level.
  void send_what_may(uint32_t stream);
  void deliver_data(uint32_t number);
  void messages_arrive(uint32_t stream);
  void set_timer(uint32_t stream);
  void timer_ends(uint32_t stream);

  // Message level.
  void send_whole(uint32_t from, uint32_t to, int64_t bytes, Then arrived);
  Picoseconds first_frame_starts(Host& host, const LastMessage& last, Picoseconds at_link,
                                 Picoseconds link_times) const;
  Picoseconds last_frame_starts(Pace& pace, Picoseconds start, int64_t bytes) const;
  Picoseconds paced_start(const Pace& pace, int64_t byte) const;
  void whole_comes_to_port(uint32_t number);

  Kernel& kernel_;
  NetworkProfile profile_;
  TcpProfile tcp_;
  double byte_time_;  // picoseconds of a byte on a link
  // Of the frame of a full segment on a link, or with its share of acknowledgements in a host that
  // processes one frame at a time, whichever takes longer.
  Picoseconds full_time_;
  int64_t window_segments_;  // that fit into the window
  // From a segment's start to the start of the one that its acknowledgement lets go.
  Picoseconds window_cycle_;
  bool window_matters_;  // a stream stops before the first acknowledgement comes

  std::vector<Host> hosts_;
  std::size_t queue_limit_;  // frames that wait for a link; 0: no limit
  // For each host, when its last queue_limit_ frames began to leave, as a ring.
  std::vector<Picoseconds> queue_starts_;
  int64_t fill_ = 0;  // bytes in the switch's buffer
  int64_t highest_fill_ = 0;
  int64_t ports_waited_for_ = 0;

  std::vector<Peers> peers_;     // by sending host
  std::vector<Stream> streams_;  // frame level
  // Message level, for each stream.
  std::vector<LastMessage> last_messages_;
  std::vector<Pace> paces_;  // empty if the window never matters
  Pool<Frame> frames_;
  Pool<Message> messages_;
  Pool<EarlyRange> early_;
  Pool<Then> pings_;
  Pool<WholeMessage> whole_;
  Counts counts_;
};

}  // namespace forebay::sim
