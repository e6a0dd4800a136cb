#include "fabric/libfabric.h"

#include <dlfcn.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/keyed_hash.h"
#include "fabric/in_order.h"

namespace forebay::fabric {
namespace {

// The oldest interface that has all that is used here.
constexpr uint32_t interface_version = FI_VERSION(1, 9);
constexpr std::size_t sends_at_once = 128;
constexpr std::size_t receives_at_once = 128;
constexpr std::size_t urgent_sends = 16;  // of these, those that only urgent messages take
// To one peer, which may be dead; and with urgent ones.
constexpr std::size_t sends_of_peer = 32;
constexpr std::size_t urgent_sends_of_peer = 40;
static_assert(urgent_sends_of_peer < InOrder::most_ahead);
// A provider that does not tell when it can send again, or has no descriptor, is asked so often.
constexpr int ask_again_ms = 1;
constexpr int long_ms = 1000;

// The functions of the library that are not inline in its headers.
struct Library {
  decltype(&fi_getinfo) getinfo = nullptr;
  decltype(&fi_freeinfo) freeinfo = nullptr;
  decltype(&fi_dupinfo) dupinfo = nullptr;
  decltype(&fi_fabric) fabric = nullptr;
  decltype(&fi_strerror) strerror = nullptr;

  // It stays loaded to the end of the process.
  bool load(std::string* why) {
    void* const file = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
    if (file == nullptr) {
      const char* const problem = dlerror();
      *why = problem == nullptr ? "libfabric.so.1 cannot be loaded" : problem;
      return false;
    }
    const auto find = [file](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(file, name));
      return function != nullptr;
    };
    const bool found = find(getinfo, "fi_getinfo") && find(freeinfo, "fi_freeinfo") &&
                       find(dupinfo, "fi_dupinfo") && find(fabric, "fi_fabric") &&
                       find(strerror, "fi_strerror");
    if (!found) *why = "libfabric.so.1 lacks functions";
    return found;
  }
};

struct CloseObject {
  template <typename Object>
  void operator()(Object* object) const {
    fi_close(&object->fid);
  }
};
template <typename Object>
using Owned = std::unique_ptr<Object, CloseObject>;

struct FreeInfo {
  decltype(&fi_freeinfo) free;
  void operator()(fi_info* info) const { free(info); }
};
using Info = std::unique_ptr<fi_info, FreeInfo>;

struct Buffer {
  fi_context2 context{};  // first: what the library returns points here
  std::byte* memory = nullptr;
  bool sends = false;
  Peer to = 0;
  std::size_t bytes = 0;
};

// Begins each message.
struct Envelope {
  uint64_t sender = 0;  // a random number, for each receiver; another one after a loss
  uint64_t number = 0;  // of the sender's messages
};

class Libfabric final : public Fabric {
 public:
  // Returns the library's error, or 0.
  int open(const Library& library, fi_info* info);
  ~Libfabric() override;

  const FabricName& name() const override { return name_; }
  std::string description() const override { return description_; }
  std::optional<Peer> peer(const FabricName& name) override;
  std::span<std::byte> room(Peer to, bool urgent) override;
  void send(Peer to, std::size_t bytes) override;
  std::optional<Event> next() override;
  void forget(Peer peer) override;
  bool sends() const override { return free_.size() < sends_at_once; }
  int descriptor() const override { return descriptor_; }
  int patience_ms() override;

 private:
  struct Known {
    fi_addr_t address = FI_ADDR_UNSPEC;
    uint64_t sender = agent::random_key()[0];
    std::size_t sending = 0;
    uint64_t sent = 0;
    std::deque<Buffer*> waiting;  // until the provider takes them
  };

  int open_queue();
  int make_buffers(const fi_info& info);
  void* memory_descriptor() const {
    return registered_ == nullptr ? nullptr : fi_mr_desc(registered_.get());
  }
  int post(Buffer& buffer);
  int begin(Buffer& buffer);
  std::optional<Event> arrived(Buffer& buffer, std::size_t bytes);
  std::optional<Event> failed();
  std::optional<Event> try_waiting();

  std::string description_;
  FabricName name_;
  Owned<fid_fabric> fabric_;
  Owned<fid_domain> domain_;
  Owned<fid_mr> registered_;
  Owned<fid_av> addresses_;
  Owned<fid_cq> queue_;
  Owned<fid_ep> endpoint_;
  int descriptor_ = -1;
  std::vector<std::byte> memory_;
  std::vector<Buffer> buffers_;
  std::vector<Buffer*> free_;
  std::vector<Buffer*> unposted_;  // receives
  Buffer* taken_ = nullptr;        // by room()
  std::map<FabricName, Peer> numbers_;
  std::vector<Known> peers_;
  std::size_t waiting_ = 0;  // of all peers
  InOrder order_;
  std::vector<std::byte> message_;  // that had to wait for an earlier one
};

template <typename Object, typename Make>
int make(Owned<Object>& owned, Make make_object) {
  Object* object = nullptr;
  const int error = make_object(&object);
  if (error == 0) owned.reset(object);
  return error;
}

int Libfabric::open(const Library& library, fi_info* info) {
  description_ = info->fabric_attr->prov_name == nullptr ? "" : info->fabric_attr->prov_name;
  int error = make(
      fabric_, [&](fid_fabric** made) { return library.fabric(info->fabric_attr, made, nullptr); });
  if (error != 0) return error;
  error = make(domain_,
               [&](fid_domain** made) { return fi_domain(fabric_.get(), info, made, nullptr); });
  if (error != 0) return error;
  fi_av_attr address_attributes{};
  address_attributes.type =
      info->domain_attr->av_type == FI_AV_UNSPEC ? FI_AV_MAP : info->domain_attr->av_type;
  error = make(addresses_, [&](fid_av** made) {
    return fi_av_open(domain_.get(), &address_attributes, made, nullptr);
  });
  if (error == 0) error = open_queue();
  if (error != 0) return error;
  error = make(endpoint_,
               [&](fid_ep** made) { return fi_endpoint(domain_.get(), info, made, nullptr); });
  if (error != 0) return error;
  error = fi_ep_bind(endpoint_.get(), &addresses_->fid, 0);
  if (error == 0) error = fi_ep_bind(endpoint_.get(), &queue_->fid, FI_TRANSMIT | FI_RECV);
  if (error == 0) error = fi_enable(endpoint_.get());
  if (error != 0) return error;
  std::array<std::byte, FabricName::most> name;
  std::size_t bytes = name.size();
  error = fi_getname(&endpoint_->fid, name.data(), &bytes);
  if (error != 0) return error;
  if (bytes > name.size()) return -FI_ETOOSMALL;
  name_ = FabricName::of(std::span(name).first(bytes));
  return make_buffers(*info);
}

// Completions of sends and receives, with a descriptor to wait for where the provider has one.
int Libfabric::open_queue() {
  fi_cq_attr attributes{};
  attributes.size = sends_at_once + receives_at_once;
  attributes.format = FI_CQ_FORMAT_MSG;
  attributes.wait_obj = FI_WAIT_FD;
  const auto open_as = [&] {
    return make(queue_, [&](fid_cq** made) {
      return fi_cq_open(domain_.get(), &attributes, made, nullptr);
    });
  };
  if (open_as() == 0 && fi_control(&queue_->fid, FI_GETWAIT, &descriptor_) == 0) return 0;
  descriptor_ = -1;
  queue_.reset();
  attributes.wait_obj = FI_WAIT_NONE;
  return open_as();
}

int Libfabric::make_buffers(const fi_info& info) {
  const std::size_t posted = std::min<std::size_t>(receives_at_once, info.rx_attr->size);
  memory_.resize((sends_at_once + posted) * most_message_bytes);
  if ((info.domain_attr->mr_mode & FI_MR_LOCAL) != 0) {
    const int error = make(registered_, [&](fid_mr** made) {
      return fi_mr_reg(domain_.get(), memory_.data(), memory_.size(), FI_SEND | FI_RECV, 0, 0, 0,
                       made, nullptr);
    });
    if (error != 0) return error;
  }
  buffers_.resize(sends_at_once + posted);
  std::byte* memory = memory_.data();
  for (Buffer& buffer : buffers_) {
    buffer.memory = std::exchange(memory, memory + most_message_bytes);
    buffer.sends = free_.size() < sends_at_once;
    if (buffer.sends) {
      free_.push_back(&buffer);
    } else if (const int error = post(buffer); error != 0) {
      return error;
    }
  }
  return 0;
}

Libfabric::~Libfabric() {
  endpoint_.reset();  // before the memory that it may still use
}

std::optional<Peer> Libfabric::peer(const FabricName& name) {
  const auto known = numbers_.find(name);
  if (known != numbers_.end()) return known->second;
  Known fresh;
  if (fi_av_insert(addresses_.get(), name.value.data(), 1, &fresh.address, 0, nullptr) != 1)
    return std::nullopt;
  const auto number = static_cast<Peer>(peers_.size());
  peers_.push_back(std::move(fresh));
  numbers_.emplace(name, number);
  return number;
}

std::span<std::byte> Libfabric::room(Peer to, bool urgent) {
  if (peers_[to].sending >= (urgent ? urgent_sends_of_peer : sends_of_peer)) return {};
  if (taken_ == nullptr) {
    if (free_.size() <= (urgent ? 0 : urgent_sends)) return {};
    taken_ = free_.back();
    free_.pop_back();
  }
  return std::span(taken_->memory, most_message_bytes).subspan(sizeof(Envelope));
}

void Libfabric::send(Peer to, std::size_t bytes) {
  Buffer& buffer = *std::exchange(taken_, nullptr);
  buffer.to = to;
  buffer.bytes = sizeof(Envelope) + bytes;
  Known& known = peers_[to];
  const Envelope envelope{known.sender, known.sent++};
  std::memcpy(buffer.memory, &envelope, sizeof envelope);
  ++known.sending;
  // What cannot be sent now waits, and what cannot be sent at all is found in try_waiting().
  if (known.waiting.empty() && begin(buffer) == 0) return;
  known.waiting.push_back(&buffer);
  ++waiting_;
}

void Libfabric::forget(Peer peer) {
  Known& known = peers_[peer];
  for (Buffer* const buffer : known.waiting) free_.push_back(buffer);
  known.sending -= known.waiting.size();
  waiting_ -= known.waiting.size();
  known.waiting.clear();
  known.sender = agent::random_key()[0];
  known.sent = 0;
}

int Libfabric::begin(Buffer& buffer) {
  return static_cast<int>(fi_send(endpoint_.get(), buffer.memory, buffer.bytes, memory_descriptor(),
                                  peers_[buffer.to].address, &buffer.context));
}

int Libfabric::post(Buffer& buffer) {
  const auto error =
      static_cast<int>(fi_recv(endpoint_.get(), buffer.memory, most_message_bytes,
                               memory_descriptor(), FI_ADDR_UNSPEC, &buffer.context));
  if (error != -FI_EAGAIN) return error;
  unposted_.push_back(&buffer);
  return 0;
}

std::optional<Fabric::Event> Libfabric::next() {
  if (std::optional<std::vector<std::byte>> message = order_.waiting()) {
    message_ = std::move(*message);
    return Event{Event::Kind::message, message_, 0};
  }
  for (Buffer* const buffer : std::exchange(unposted_, {})) (void)post(*buffer);
  while (true) {
    fi_cq_msg_entry entry{};
    const ssize_t got = fi_cq_read(queue_.get(), &entry, 1);
    if (got == -FI_EAGAIN) return try_waiting();
    if (got != 1 && got != -FI_EAVAIL) return std::nullopt;
    if (got != 1) {
      if (const std::optional<Event> event = failed()) return event;
      continue;
    }
    Buffer& buffer = *static_cast<Buffer*>(entry.op_context);
    if (buffer.sends) {
      --peers_[buffer.to].sending;
      free_.push_back(&buffer);
      continue;
    }
    if (const std::optional<Event> event = arrived(buffer, entry.len)) return event;
  }
}

// Empty: the message waits for an earlier one of its sender.
std::optional<Fabric::Event> Libfabric::arrived(Buffer& buffer, std::size_t bytes) {
  unposted_.push_back(&buffer);  // a later call posts it again
  Envelope envelope;
  if (bytes < sizeof envelope) return std::nullopt;
  std::memcpy(&envelope, buffer.memory, sizeof envelope);
  const auto message = std::span<const std::byte>(buffer.memory, bytes).subspan(sizeof envelope);
  if (!order_.is_next(envelope.sender, envelope.number, message)) return std::nullopt;
  return Event{Event::Kind::message, message, 0};
}

// An operation that ended with an error.
std::optional<Fabric::Event> Libfabric::failed() {
  fi_cq_err_entry entry{};
  if (fi_cq_readerr(queue_.get(), &entry, 0) != 1 || entry.op_context == nullptr)
    return std::nullopt;
  Buffer& buffer = *static_cast<Buffer*>(entry.op_context);
  if (!buffer.sends) {
    unposted_.push_back(&buffer);
    return std::nullopt;
  }
  --peers_[buffer.to].sending;
  free_.push_back(&buffer);
  return Event{Event::Kind::lost, {}, buffer.to};
}

// Sends what the provider would not take before.
std::optional<Fabric::Event> Libfabric::try_waiting() {
  for (Peer to = 0; waiting_ > 0 && to < peers_.size(); ++to) {
    std::deque<Buffer*>& waiting = peers_[to].waiting;
    while (!waiting.empty()) {
      Buffer& buffer = *waiting.front();
      const int error = begin(buffer);
      if (error == -FI_EAGAIN) break;
      waiting.pop_front();
      --waiting_;
      if (error == 0) continue;
      --peers_[to].sending;
      free_.push_back(&buffer);
      return Event{Event::Kind::lost, {}, to};
    }
  }
  return std::nullopt;
}

int Libfabric::patience_ms() {
  if (descriptor_ < 0 || waiting_ > 0 || !unposted_.empty()) return ask_again_ms;
  fid* object = &queue_->fid;
  return fi_trywait(fabric_.get(), &object, 1) == 0 ? long_ms : 0;
}

// A provider between processes of one machine reaches no other node, and one that loses messages or
// cannot carry large ones is of no use.
bool is_useful(const fi_info& info) {
  const std::string_view provider =
      info.fabric_attr->prov_name == nullptr ? "" : info.fabric_attr->prov_name;
  for (const std::string_view local : {"shm", "sm2", "lnx"}) {
    if (provider.starts_with(local)) return false;
  }
  return info.ep_attr->max_msg_size >= most_message_bytes;
}

}  // namespace

std::unique_ptr<Fabric> open_libfabric(std::string* why) {
  Library library;
  if (!library.load(why)) return nullptr;
  const Info hints(library.dupinfo(nullptr), {library.freeinfo});
  if (hints == nullptr) {
    *why = "libfabric has no memory";
    return nullptr;
  }
  hints->caps = FI_MSG;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  // Memory that is only sent and received; an endpoint's own keys (FI_MR_ENDPOINT) are for others'
  // accesses to it.
  hints->domain_attr->mr_mode =
      FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_VIRT_ADDR | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  hints->tx_attr->msg_order = FI_ORDER_SAS;
  hints->rx_attr->msg_order = FI_ORDER_SAS;
  fi_info* found = nullptr;
  int error = library.getinfo(interface_version, nullptr, nullptr, 0, hints.get(), &found);
  const Info infos(found, {library.freeinfo});
  for (fi_info* info = infos.get(); info != nullptr; info = info->next) {
    if (!is_useful(*info)) continue;
    auto opened = std::make_unique<Libfabric>();
    error = opened->open(library, info);
    if (error == 0) return opened;
  }
  *why = "libfabric finds no network";
  if (error != 0) *why += std::string(" (") + library.strerror(-error) + ")";
  return nullptr;
}

}  // namespace forebay::fabric
