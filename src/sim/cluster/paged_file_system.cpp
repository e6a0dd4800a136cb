#include "sim/cluster/paged_file_system.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "sim/cluster/paged_messages.h"

namespace forebay::sim {

using namespace paged_messages;

namespace {

Extent rest_of(Extent place, Extent part) { return {part.end(), place.end() - part.end()}; }

}  // namespace

// An access of a program: its pieces, one after the other.
class PagedFileSystem::Access final : public Event {
 public:
  explicit Access(PagedFileSystem& system) : system_(system) {}

  void begin(uint32_t client, uint64_t file, bool writes, std::span<const Extent> extents,
             Then done) {
    client_ = client;
    file_ = file;
    writes_ = writes;
    extents_.assign(extents.begin(), extents.end());
    done_ = done;
    next_ = 0;
    step();
  }

  // Goes on, once what it waited for may have happened.
  void step() {
    if (object_ == nullptr && !take_piece()) return end();
    const Extent pages = system_.pages_of(piece_.place);
    if (system_.profile_.locks && lock_ == 0) {
      ClientLock* const lock = system_.lock_for(*object_, pages, writes_);
      if (lock == nullptr) {
        object_->waiting.push_back(this);
        return system_.ask_lock(*object_, pages, writes_);
      }
      ++lock->users;
      lock_ = lock->number;
    }
    const bool moved = writes_ ? system_.write_pages(*this, *object_, pages, piece_)
                               : system_.read_pages(*this, *object_, pages, piece_);
    if (!moved) return;
    const PagedProfile& profile = system_.profile_;
    system_.kernel_.after(
        profile.call + time_of(piece_.place.length, profile.copy_bytes_per_second), {this, 0});
  }

  // The piece has been copied.
  void happen(uint64_t) override {
    Object& object = *std::exchange(object_, nullptr);
    if (lock_ != 0) system_.release_lock(object, std::exchange(lock_, 0));
    step();
  }

  bool fetched = false;  // the pages of the piece have been asked for

 private:
  bool take_piece() {
    while (next_ < extents_.size() && extents_[next_].empty()) ++next_;
    if (next_ == extents_.size()) return false;
    Extent& left = extents_[next_];
    piece_ = system_.piece_at(file_, left);
    left = {left.offset + piece_.place.length, left.length - piece_.place.length};
    object_ = &system_.object_of(client_, file_, piece_.server);
    fetched = false;
    return true;
  }
  void end() {
    const Then done = done_;
    system_.accesses_.give_back(*this);
    done.happen();
  }

  PagedFileSystem& system_;
  uint32_t client_ = 0;
  uint64_t file_ = 0;
  bool writes_ = false;
  std::vector<Extent> extents_;  // what is left of them
  std::size_t next_ = 0;
  Piece piece_;
  Object* object_ = nullptr;  // of the piece; null: no piece is under way
  Number lock_ = 0;
  Then done_;
};

// A request of a client to a server for bytes of an object.
class PagedFileSystem::Rpc final : public Event {
 public:
  explicit Rpc(PagedFileSystem& system) : system_(system) {}

  Object* object = nullptr;
  bool writes = false;
  std::vector<Extent> pages;  // all that it moves
  int64_t dirty_bytes = 0;    // of these pages, if it writes

  void begin() {
    // What is beyond the end of the object is in no message.
    const int64_t end = system_.bytes_on(object->file, object->server, system_.size(object->file));
    extents_.clear();
    bytes_ = 0;
    for (const Extent& extent : pages) {
      const int64_t length = std::min(extent.end(), end) - extent.offset;
      if (length <= 0) continue;
      extents_.push_back({extent.offset, length});
      bytes_ += length;
    }
    carried_ = writes && bytes_ <= system_.profile_.carried_bytes;
    began_ = system_.kernel_.now();
    ++system_.requests_;
    to_server(request_bytes + extent_bytes * std::ssize(extents_) + (carried_ ? bytes_ : 0),
              arrived);
  }

  void happen(uint64_t word) override {
    switch (static_cast<Step>(word)) {
      case arrived:
        return system_.work(object->server, system_.profile_.request_time, {this, accepted});
      case accepted: {
        FileServerCounts& counts = system_.servers_[object->server].counts;
        ++counts.requests;
        (writes ? counts.written_bytes : counts.read_bytes) += bytes_;
        return writes && !carried_ ? to_client(grant_bytes, granted) : move();
      }
      case granted:
        return to_server(bytes_, received);
      case received:
        return move();
      case part_done:
        if (--parts_ == 0) to_client(response_bytes + (writes ? 0 : bytes_), ended);
        return;
      case ended:
        system_.waits_.add(object->client, system_.host_of(object->server), Waiting::request,
                           system_.kernel_.now() - began_);
        return system_.rpc_ends(*this);
    }
  }

 private:
  enum Step : uint8_t {
    arrived,    // the request, at the server
    accepted,   // the server has begun to serve it
    granted,    // the client may send the bytes
    received,   // the bytes, at the server
    part_done,  // storage has moved an extent
    ended,      // the answer, at the client
  };
  void to_server(int64_t bytes, Step then) {
    system_.network_.send(object->client, system_.host_of(object->server), bytes, {this, then});
  }
  void to_client(int64_t bytes, Step then) {
    system_.network_.send(system_.host_of(object->server), object->client, bytes, {this, then});
  }
  void move() {
    ServerStorage& storage = *system_.servers_[object->server].storage;
    parts_ = 1;  // one more, so that it does not end before the last part has begun
    for (const Extent& extent : extents_) {
      ++parts_;
      if (writes)
        storage.write(object->file, extent, {this, part_done});
      else
        storage.read(object->file, extent, {this, part_done});
    }
    happen(part_done);
  }

  PagedFileSystem& system_;
  std::vector<Extent> extents_;
  int64_t bytes_ = 0;
  int64_t parts_ = 0;  // that storage moves
  bool carried_ = false;
  Picoseconds began_ = 0;
};

// A message about a lock.
class PagedFileSystem::LockMessage final : public Event {
 public:
  enum Kind : uint8_t { ask, grant, call_back, give_back };

  explicit LockMessage(PagedFileSystem& system) : system_(system) {}

  void send(Kind kind, uint32_t server, uint64_t file, const ExtentLocks::Lock& lock) {
    kind_ = kind;
    server_ = server;
    file_ = file;
    lock_ = lock;
    const uint32_t host = system_.host_of(server);
    const int64_t bytes = kind == ask || kind == grant ? lock_bytes : callback_bytes;
    if (kind == ask || kind == give_back)
      system_.network_.send(lock.client, host, bytes, {this, at_server});
    else
      system_.network_.send(host, lock.client, bytes, {this, at_client});
  }

  void happen(uint64_t word) override {
    if (word == at_server)
      return system_.work(server_, system_.profile_.lock_time, {this, taken_up});
    system_.messages_.give_back(*this);
    if (word == at_client) return tell_client();
    ExtentLocks& locks = system_.lock_servers_[server_][file_];
    ExtentLocks::Outcome outcome;
    if (kind_ == ask) {
      locks.ask(lock_, outcome);
    } else {
      system_.note_return(lock_);
      locks.give_back(lock_.number, outcome);
    }
    system_.tell_clients(server_, file_, outcome);
  }

 private:
  enum : uint64_t { at_server, taken_up, at_client };

  void tell_client() {
    Object& object = system_.object_of(lock_.client, file_, server_);
    ClientLock& lock = *std::ranges::find(object.locks, lock_.number, &ClientLock::number);
    if (kind_ == call_back) {
      lock.called_back = true;
      return system_.return_locks(object);
    }
    // Who asked for it uses it, even if it has been called back meanwhile.
    const Number number = lock.number;
    const bool called_back = std::exchange(lock.called_back, false);
    lock.granted = true;
    lock.extent = lock_.extent;
    system_.wake(object);
    if (!called_back) return;
    std::ranges::find(object.locks, number, &ClientLock::number)->called_back = true;
    system_.return_locks(object);
  }

  PagedFileSystem& system_;
  Kind kind_ = ask;
  uint32_t server_ = 0;
  uint64_t file_ = 0;
  ExtentLocks::Lock lock_;
};

PagedFileSystem::PagedFileSystem(Kernel& kernel, Network& network, const PagedProfile& profile,
                                 uint32_t first_server, std::span<ServerStorage* const> servers)
    : FileSystem(kernel, network, first_server, servers),
      profile_(profile),
      clients_(first_server),
      lock_servers_(servers.size()) {
  servers_.push_back({nullptr, 0, {}});  // of metadata
}
PagedFileSystem::~PagedFileSystem() = default;

// Where bytes are ---------------------------------------------------------------------------------

int64_t PagedFileSystem::stripes_a_row() const {
  return std::min<int64_t>(profile_.stripe_count, servers());
}

uint32_t PagedFileSystem::server_of(uint64_t file, int64_t stripe) const {
  const auto turn = static_cast<uint64_t>(stripe % stripes_a_row());
  return static_cast<uint32_t>((file + turn) % servers());
}

PagedFileSystem::Piece PagedFileSystem::piece_at(uint64_t file, Extent extent) const {
  const int64_t bytes = profile_.stripe_bytes, stripe = extent.offset / bytes;
  const int64_t length = std::min(extent.end(), (stripe + 1) * bytes) - extent.offset;
  const int64_t offset = stripe / stripes_a_row() * bytes + extent.offset % bytes;
  return {server_of(file, stripe), {offset, length}, extent.offset};
}

int64_t PagedFileSystem::bytes_on(uint64_t file, uint32_t server, int64_t file_bytes) const {
  const int64_t stripe = profile_.stripe_bytes, row = stripe * stripes_a_row();
  const int64_t turn = (server + servers() - static_cast<int64_t>(file % servers())) % servers();
  if (turn >= stripes_a_row()) return 0;
  return file_bytes / row * stripe +
         std::clamp<int64_t>(file_bytes % row - turn * stripe, 0, stripe);
}

int64_t PagedFileSystem::end_of(const Object& object) const {
  const auto known = ends_.find(object_key(object.file, object.server));
  return known == ends_.end() ? 0 : known->second;
}

Extent PagedFileSystem::pages_of(Extent place) const {
  const int64_t page = profile_.page_bytes, begin = place.offset / page * page;
  return {begin, (place.end() + page - 1) / page * page - begin};
}

PagedFileSystem::Object& PagedFileSystem::object_of(uint32_t client, uint64_t file,
                                                    uint32_t server) {
  Object& object = clients_[client].objects[object_key(file, server)];
  object.client = client;
  object.file = file;
  object.server = server;
  return object;
}

void PagedFileSystem::place(uint64_t file, int64_t bytes) {
  set_size(file, bytes);
  for (uint32_t s = 0; s < servers(); ++s) {
    const int64_t there = bytes_on(file, s, bytes);
    ends_[object_key(file, s)] = there;
    if (there > 0) servers_[s].storage->lay_out(file, there);
  }
}

int64_t PagedFileSystem::cached_bytes(uint32_t client) const { return clients_[client].cached; }

int64_t PagedFileSystem::dirty_bytes(uint32_t client) const {
  int64_t bytes = 0;
  for (const auto& [server, line] : clients_[client].lines) bytes += line.dirty;
  return bytes;
}

// Pages of a client -------------------------------------------------------------------------------

void PagedFileSystem::access(uint32_t client, uint64_t file, bool writes,
                             std::span<const Extent> extents, Then done) {
  if (std::ranges::all_of(extents, [](const Extent& extent) { return extent.empty(); }))
    return kernel_.after(0, done);
  accesses_.take(*this).begin(client, file, writes, extents, done);
}

// Puts the piece into pages, which become dirty. False: the access waits.
bool PagedFileSystem::write_pages(Access& access, Object& object, Extent pages,
                                  const Piece& piece) {
  const int64_t end = end_of(object);
  if (!std::exchange(access.fetched, true)) {
    // Of the pages at the edges the object's other bytes are wanted.
    const int64_t page = profile_.page_bytes;
    if (piece.place.offset > pages.offset && pages.offset < end)
      fetch(object, {pages.offset, page});
    if (piece.place.end() < pages.end() && piece.place.end() < end)
      fetch(object, {pages.end() - page, page});
  }
  if (!object.fetching.next(pages).empty()) {
    object.waiting.push_back(&access);
    return false;
  }
  Line& line = line_of(object);
  const int64_t more = pages.length - object.dirty.bytes_within(pages);
  if (line.dirty > 0 && line.dirty + more > profile_.dirty_bytes) {
    line.want_room.push_back(&access);
    send_what_may(object.client, object.server);
    return false;
  }
  line.dirty += object.dirty.insert(pages);
  keep(object, pages);
  ends_[object_key(object.file, object.server)] = std::max(end, piece.place.end());
  const int64_t file_end = piece.file_offset + piece.place.length;
  set_size(object.file, std::max(size(object.file), file_end));
  if (!std::exchange(object.to_write, true)) line.to_write.push_back(&object);
  send_what_may(object.client, object.server);
  return true;
}

// False: the access waits until the pages are there.
bool PagedFileSystem::read_pages(Access& access, Object& object, Extent pages, const Piece& piece) {
  if (!std::exchange(access.fetched, true)) {
    fetch(object, pages);
    const Extent ahead = pages_ahead(object, pages, piece.place);
    object.next_read = piece.place.end();
    fetch(object, ahead);
  }
  if (object.fetching.next(pages).empty()) return true;
  object.waiting.push_back(&access);
  return false;
}

// The pages behind `pages` that a read of `place` lets the client fetch.
Extent PagedFileSystem::pages_ahead(Object& object, Extent pages, Extent place) const {
  const bool in_order = place.offset == object.next_read && place.offset > 0;
  if (!in_order) {
    object.ahead = object.ahead_end = 0;
    if (place.offset != 0) return {pages.end(), 0};
  }
  // The next window is asked for when half of the last one has been read.
  if (object.ahead_end - pages.end() > object.ahead / 2) return {pages.end(), 0};
  object.ahead =
      std::min(std::max(2 * object.ahead, profile_.rpc_bytes), profile_.read_ahead_bytes);
  int64_t end = pages.end() + object.ahead;
  end = std::min(end, pages_of({0, end_of(object)}).end());
  for (const ClientLock& lock : object.locks) {
    if (lock.granted && inside(pages, lock.extent)) end = std::min(end, lock.extent.end());
  }
  const int64_t begin = std::max(pages.end(), object.ahead_end);
  object.ahead_end = std::max(object.ahead_end, end);
  return {begin, std::max<int64_t>(end - begin, 0)};
}

// The client keeps the pages, and forgets the oldest clean ones if it has too many.
void PagedFileSystem::keep(Object& object, Extent pages) {
  Client& client = clients_[object.client];
  const int64_t added = object.cached.insert(pages);
  if (added == 0) return;
  client.cached += added;
  client.kept.push_back({&object, pages});
  for (std::size_t tries = client.kept.size() - 1;
       client.cached > profile_.cache_bytes && tries > 0; --tries) {
    const Kept oldest = client.kept.front();
    client.kept.pop_front();
    if (under_way(*oldest.object, oldest.extent))
      client.kept.push_back(oldest);
    else
      client.cached -= oldest.object->cached.erase(oldest.extent);
  }
}

// Whether a server lacks bytes of these pages.
bool PagedFileSystem::under_way(const Object& object, Extent pages) const {
  if (!object.dirty.next(pages).empty()) return true;
  return std::ranges::any_of(object.writing, [pages](const Rpc* rpc) {
    return std::ranges::any_of(rpc->pages,
                               [pages](const Extent& part) { return meet(part, pages); });
  });
}

// Asks the server for those of the pages that are neither there nor on their way.
void PagedFileSystem::fetch(Object& object, Extent pages) {
  Line& line = line_of(object);
  bool any = false;
  for (Extent gap; !(gap = object.cached.next_gap(pages)).empty(); pages = rest_of(pages, gap)) {
    for (Extent left = gap, part; !(part = object.fetching.next_gap(left)).empty();
         left = rest_of(left, part)) {
      part.length = std::min(part.length, profile_.rpc_bytes);
      object.fetching.insert(part);
      Rpc& rpc = rpcs_.take(*this);
      rpc.object = &object;
      rpc.writes = false;
      rpc.pages.assign(1, part);
      line.to_read.push_back(&rpc);
      any = true;
    }
  }
  if (any) send_what_may(object.client, object.server);
}

// Lets all go on that wait for the object.
void PagedFileSystem::wake(Object& object) {
  for (Access* const access : std::exchange(object.waiting, {})) access->step();
}

// Requests for bytes ------------------------------------------------------------------------------

// The lock that lets dirty pages of the object leave, because it is called back and nobody uses it.
const PagedFileSystem::ClientLock* PagedFileSystem::leaving_lock(const Object& object) {
  const auto found = std::ranges::find_if(object.locks, [&object](const ClientLock& lock) {
    return lock.granted && lock.called_back && lock.users == 0 &&
           !object.dirty.next(lock.extent).empty();
  });
  return found == object.locks.end() ? nullptr : &*found;
}

// The pages of the object's next request, or none yet.
bool PagedFileSystem::take_dirty(Object& object, const Line& line, Rpc& rpc) const {
  Extent from{0, std::numeric_limits<int64_t>::max()};
  if (const ClientLock* const lock = leaving_lock(object)) {
    from = lock->extent;
  } else if (!object.all_leaves && line.want_room.empty() &&
             object.dirty.bytes() < profile_.rpc_bytes) {
    return false;
  }
  rpc.pages.clear();
  rpc.dirty_bytes = 0;
  while (std::ssize(rpc.pages) < profile_.extents_an_rpc && rpc.dirty_bytes < profile_.rpc_bytes) {
    Extent part = object.dirty.next(from);
    if (part.empty()) break;
    part.length = std::min(part.length, profile_.rpc_bytes - rpc.dirty_bytes);
    rpc.pages.push_back(part);
    rpc.dirty_bytes += part.length;
    from = rest_of(from, part);
  }
  for (const Extent& part : rpc.pages) object.dirty.erase(part);
  return !rpc.pages.empty();
}

// Begins as many requests as may be under way. Reads come first, since somebody waits for them.
void PagedFileSystem::send_what_may(uint32_t client, uint32_t server) {
  Line& line = clients_[client].lines[server];
  while (line.in_flight < profile_.rpcs_in_flight) {
    Rpc* rpc = nullptr;
    if (!line.to_read.empty()) {
      rpc = line.to_read.front();
      line.to_read.pop_front();
    } else if ((rpc = next_write(line)) == nullptr) {
      return;
    }
    ++line.in_flight;
    rpc->begin();
  }
}

// The next request that writes; null: none may begin.
PagedFileSystem::Rpc* PagedFileSystem::next_write(Line& line) {
  for (std::size_t tries = line.to_write.size(); tries > 0; --tries) {
    Object& object = *line.to_write.front();
    line.to_write.pop_front();
    Rpc& rpc = rpcs_.take(*this);
    const bool taken = take_dirty(object, line, rpc);
    object.to_write = !object.dirty.empty();
    if (object.to_write) line.to_write.push_back(&object);
    if (!taken) {
      rpcs_.give_back(rpc);
      continue;
    }
    rpc.object = &object;
    rpc.writes = true;
    object.writing.push_back(&rpc);
    return &rpc;
  }
  return nullptr;
}

void PagedFileSystem::rpc_ends(Rpc& rpc) {
  Object& object = *rpc.object;
  Line& line = line_of(object);
  --line.in_flight;
  if (rpc.writes) {
    line.dirty -= rpc.dirty_bytes;
    std::erase(object.writing, &rpc);
    object.uncommitted = true;
    note_change(object);
    return_locks(object);
    if (object.dirty.empty() && object.writing.empty()) {
      object.all_leaves = false;
      object.idle.wake_all();
    }
    while (!line.want_room.empty() && line.dirty < profile_.dirty_bytes) {
      Access* const access = line.want_room.front();
      line.want_room.pop_front();
      const std::size_t others = line.want_room.size();
      access->step();
      if (line.want_room.size() > others) break;
    }
  } else {
    for (const Extent& extent : rpc.pages) {
      object.fetching.erase(extent);
      if (may_keep(object, extent)) keep(object, extent);
    }
    wake(object);
  }
  rpcs_.give_back(rpc);
  send_what_may(object.client, object.server);
}

// The file is another one for all clients but this.
void PagedFileSystem::note_change(Object& object) {
  if (object.file >= versions_.size()) versions_.resize(object.file + 1);
  if (object.seen == versions_[object.file]++) object.seen = versions_[object.file];
}

// Whether pages that come may be kept: a lock of theirs may have been returned meanwhile.
bool PagedFileSystem::may_keep(const Object& object, Extent pages) const {
  return !profile_.locks || std::ranges::any_of(object.locks, [pages](const ClientLock& lock) {
    return lock.granted && inside(pages, lock.extent);
  });
}

// Locks -------------------------------------------------------------------------------------------

PagedFileSystem::ClientLock* PagedFileSystem::lock_for(Object& object, Extent pages, bool writes) {
  const auto found = std::ranges::find_if(object.locks, [&](const ClientLock& lock) {
    return lock.granted && !lock.called_back && (lock.writes || !writes) &&
           inside(pages, lock.extent);
  });
  return found == object.locks.end() ? nullptr : &*found;
}

// Asks for a lock, unless one that will do has been asked for.
void PagedFileSystem::ask_lock(Object& object, Extent pages, bool writes) {
  const bool asked = std::ranges::any_of(object.locks, [&](const ClientLock& lock) {
    return !lock.granted && (lock.writes || !writes) && inside(pages, lock.extent);
  });
  if (asked) return;
  ++lock_counts_.asked;
  const Number number = next_lock_++;
  object.locks.push_back({number, writes, pages});
  messages_.take(*this).send(LockMessage::ask, object.server, object.file,
                             {number, object.client, writes, pages});
}

void PagedFileSystem::release_lock(Object& object, Number number) {
  --std::ranges::find(object.locks, number, &ClientLock::number)->users;
  return_locks(object);
}

// Returns the locks that are called back and that nobody uses, once the server has their pages.
void PagedFileSystem::return_locks(Object& object) {
  bool any_leaves = false;
  for (std::size_t l = 0; l < object.locks.size();) {
    const ClientLock lock = object.locks[l];
    if (!lock.granted || !lock.called_back || lock.users > 0) {
      ++l;
    } else if (under_way(object, lock.extent)) {
      any_leaves = true;
      ++l;
    } else {
      clients_[object.client].cached -= object.cached.erase(lock.extent);
      object.locks.erase(object.locks.begin() + static_cast<std::ptrdiff_t>(l));
      messages_.take(*this).send(LockMessage::give_back, object.server, object.file,
                                 {lock.number, object.client, lock.writes, lock.extent});
    }
  }
  if (any_leaves) send_what_may(object.client, object.server);
}

void PagedFileSystem::tell_clients(uint32_t server, uint64_t file,
                                   const ExtentLocks::Outcome& outcome) {
  for (const ExtentLocks::Lock& lock : outcome.granted)
    messages_.take(*this).send(LockMessage::grant, server, file, lock);
  for (const auto& [lock, for_client] : outcome.called_back) {
    ++lock_counts_.called_back;
    called_back_[lock.number] = {for_client, kernel_.now()};
    messages_.take(*this).send(LockMessage::call_back, server, file, lock);
  }
}

// The lock has come back to its server.
void PagedFileSystem::note_return(const ExtentLocks::Lock& lock) {
  const auto call = called_back_.find(lock.number);
  waits_.add(call->second.for_client, lock.client, Waiting::lock,
             kernel_.now() - call->second.since);
  called_back_.erase(call);
}

}  // namespace forebay::sim
