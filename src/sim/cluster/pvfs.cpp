#include "sim/cluster/pvfs.h"

#include <algorithm>
#include <utility>

#include "sim/cluster/pvfs_collective.h"

namespace forebay::sim {
namespace {

// Bytes of messages (the source system's configuration).
constexpr int64_t write_response_bytes = 8, completion_bytes = 8, read_response_bytes = 4;

}  // namespace

// A user's access: it ends with the last of its requests.
class Pvfs::Access final : public Event {
 public:
  explicit Access(Pvfs& pvfs) : pvfs_(pvfs) {}
  void begin(int64_t requests, Then done) {
    left_ = requests;
    done_ = done;
  }
  void happen(uint64_t) override {
    if (--left_ > 0) return;
    const Then done = done_;
    pvfs_.accesses_.give_back(*this);
    done.happen();
  }

 private:
  Pvfs& pvfs_;
  int64_t left_ = 0;
  Then done_;
};

// A request to one server, and the bytes that belong to it.
class Pvfs::Flow final : public Event {
 public:
  explicit Flow(Pvfs& pvfs) : pvfs_(pvfs) {}

  std::vector<Extent>& extents() { return extents_; }  // of the server's object

  void begin(uint32_t client, uint32_t server, uint64_t object, bool writes, Then done) {
    client_ = client;
    server_ = server;
    object_ = object;
    writes_ = writes;
    done_ = done;
    bytes_ = 0;
    for (const Extent& extent : extents_) bytes_ += extent.length;
    next_ = 0;
    in_next_ = 0;
    sent_ = moved_ = 0;
    under_way_ = 0;
    responded_ = false;
    carried_ = writes && bytes_ <= pvfs_.profile_.carried_bytes;
    began_ = pvfs_.kernel_.now();
    const auto count = std::ssize(extents_);
    ++pvfs_.requests_;
    pvfs_.network_.send(client_, pvfs_.host_of(server_),
                        pvfs_.profile_.request_bytes + count * pvfs_.profile_.extent_bytes +
                            (carried_ ? bytes_ : 0),
                        {this, arrived});
  }

  void happen(uint64_t word) override {
    const auto number = static_cast<int64_t>(word >> 8);  // of bytes, or of a buffer
    switch (static_cast<Step>(word & 0xff)) {
      case arrived:
        return pvfs_.work(server_, pvfs_.profile_.request_time, {this, accepted});
      case accepted: {
        FileServerCounts& counts = pvfs_.servers_[server_].counts;
        ++counts.requests;
        (writes_ ? counts.written_bytes : counts.read_bytes) += bytes_;
        if (carried_) return store(bytes_);
        if (writes_) return to_client(write_response_bytes, granted);
        return serve();
      }
      case granted:
        return serve();
      case received:
        return store(number);
      case part_done:
        return part_ends(buffers_[static_cast<std::size_t>(number)]);
      case delivered:
        moved_ += number;
        --under_way_;
        if (moved_ == bytes_) return end();
        return serve();
      case completed:
        return end();
    }
  }

 private:
  enum Step : uint8_t {
    arrived,    // the request, at the server
    accepted,   // the server has begun to serve it
    granted,    // the client may send the bytes
    received,   // a buffer's bytes, at the server
    part_done,  // storage has moved a part of a buffer
    delivered,  // a buffer's bytes, at the client
    completed,  // the client knows that all is written
  };
  struct Buffer {
    int64_t parts = 0;  // that storage moves; 0: the buffer is free
    int64_t bytes = 0;
  };
  Then step(Step step, int64_t number = 0) {
    return {this, static_cast<uint64_t>(number) << 8 | step};
  }
  void to_client(int64_t bytes, Step then, int64_t of_flow = 0) {
    pvfs_.network_.send(pvfs_.host_of(server_), client_, bytes, step(then, of_flow));
  }
  void end() {
    const Then done = done_;
    extents_.clear();
    pvfs_.waits_.add(client_, pvfs_.host_of(server_), Waiting::request,
                     pvfs_.kernel_.now() - began_);
    pvfs_.flows_.give_back(*this);
    done.happen();
  }

  // Sends, or lets storage read, the next buffers, as many as there are.
  void serve() {
    while (sent_ < bytes_ && under_way_ < pvfs_.profile_.flow_buffers) {
      const int64_t bytes = std::min(bytes_ - sent_, pvfs_.profile_.flow_buffer_bytes);
      sent_ += bytes;
      ++under_way_;
      if (writes_)
        pvfs_.network_.send(client_, pvfs_.host_of(server_), bytes, step(received, bytes));
      else
        store(bytes);
    }
  }

  // Moves the next `bytes` bytes of the extents between a buffer and storage.
  void store(int64_t bytes) {
    ServerStorage& storage = *pvfs_.servers_[server_].storage;
    const auto free = std::ranges::find(buffers_, 0, &Buffer::parts);
    const auto number = free - buffers_.begin();
    if (free == buffers_.end()) buffers_.emplace_back();
    const auto buffer = static_cast<std::size_t>(number);
    // One part more, so that the buffer does not end before the last part has begun.
    buffers_[buffer] = {1, bytes};
    for (int64_t left = bytes; left > 0;) {
      const Extent& extent = extents_[next_];
      const Extent part{extent.offset + in_next_, std::min(left, extent.length - in_next_)};
      in_next_ += part.length;
      left -= part.length;
      if (in_next_ == extent.length) {
        ++next_;
        in_next_ = 0;
      }
      ++buffers_[buffer].parts;
      const Then then = step(part_done, number);
      if (writes_)
        storage.write(object_, part, then);
      else
        storage.read(object_, part, then);
    }
    part_ends(buffers_[buffer]);
  }
  void part_ends(Buffer& buffer) {
    if (--buffer.parts > 0) return;
    if (!writes_) {
      const bool first = !std::exchange(responded_, true);
      return to_client(buffer.bytes + (first ? read_response_bytes : 0), delivered, buffer.bytes);
    }
    moved_ += buffer.bytes;
    if (!carried_) --under_way_;
    if (moved_ == bytes_)
      return to_client(carried_ ? write_response_bytes : completion_bytes, completed);
    serve();
  }

  Pvfs& pvfs_;
  std::vector<Extent> extents_;
  uint32_t client_ = 0, server_ = 0;
  uint64_t object_ = 0;
  bool writes_ = false, carried_ = false;
  Picoseconds began_ = 0;
  Then done_;
  int64_t bytes_ = 0;
  std::size_t next_ = 0;  // the extent whose bytes move next
  int64_t in_next_ = 0;   // bytes of it that have begun to move
  int64_t sent_ = 0, moved_ = 0;
  int64_t under_way_ = 0;  // buffers
  bool responded_ = false;
  std::vector<Buffer> buffers_;
};

Pvfs::Pvfs(Kernel& kernel, Network& network, const PvfsProfile& profile, uint32_t first_server,
           std::span<ServerStorage* const> servers)
    : FileSystem(kernel, network, first_server, servers),
      profile_(profile),
      layout_(layout_of(UINT64_MAX)),
      joined_(servers.size()) {}
Pvfs::~Pvfs() = default;

PvfsLayout Pvfs::layout_of(uint64_t file) const {
  const int64_t own = file < profile_.strips.size() ? profile_.strips[file] : 0;
  return {own == 0 ? profile_.strip_bytes : own, servers(), profile_.group_servers,
          profile_.unit_bytes};
}

void Pvfs::place(uint64_t file, int64_t bytes) {
  set_size(file, bytes);
  const PvfsLayout layout = layout_of(file);
  for (uint32_t s = 0; s < servers(); ++s)
    servers_[s].storage->lay_out(file, layout.bytes_on(s, bytes));
}

// The requests to one server follow each other.
void Pvfs::divide(const PvfsLayout& layout, std::span<const Extent> extents) {
  for (const Extent& extent : extents) {
    for (int64_t at = extent.offset; at < extent.end();) {
      const auto [server, part] = layout.place_of({at, extent.end() - at});
      Flow*& flow = joined_[server];
      const bool joins = flow != nullptr && flow->extents().back().end() == part.offset;
      if (!joins && flow != nullptr && std::ssize(flow->extents()) == profile_.extents_a_request)
        flow = nullptr;
      if (flow == nullptr) {
        flow = &flows_.take(*this);
        begun_.push_back({flow, server});
      }
      if (joins)
        flow->extents().back().length += part.length;
      else
        flow->extents().push_back(part);
      at += part.length;
    }
  }
}

void Pvfs::access(uint32_t client, uint64_t file, bool writes, std::span<const Extent> extents,
                  Then done) {
  divide(layout_of(file), extents);
  if (begun_.empty()) return kernel_.after(0, done);
  int64_t end = 0;
  for (const Extent& extent : extents) end = std::max(end, extent.end());
  if (writes && end > size(file)) set_size(file, end);
  Access& access = accesses_.take(*this);
  access.begin(std::ssize(begun_), done);
  for (const auto& [flow, server] : begun_) {
    flow->begin(client, server, file, writes, {&access, 0});
    joined_[server] = nullptr;
  }
  begun_.clear();
}

}  // namespace forebay::sim
