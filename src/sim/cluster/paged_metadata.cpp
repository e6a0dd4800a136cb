// Calls for metadata, to the one server that has it; opens and closes, and what a close waits for.
#include <algorithm>
#include <limits>
#include <utility>

#include "sim/cluster/paged_file_system.h"
#include "sim/cluster/paged_messages.h"

namespace forebay::sim {

using namespace paged_messages;

void PagedFileSystem::call_metadata(uint32_t client, Picoseconds time, int64_t more_bytes) {
  call(client, servers(), {metadata_request_bytes, time, metadata_response_bytes + more_bytes});
}

void PagedFileSystem::create(uint32_t client, uint64_t file) {
  call_metadata(client, profile_.create);
  set_size(file, 0);
}

void PagedFileSystem::make_directory(uint32_t client, const Named&) {
  call_metadata(client, profile_.create);
}

void PagedFileSystem::create_file(uint32_t client, const Named& made) {
  create(client, made.object);
}

void PagedFileSystem::set_attributes(uint32_t client, const Named&) {
  call_metadata(client, profile_.set_attributes);
}

// Where there are locks, the servers of the file's stripes tell its size.
void PagedFileSystem::get_attributes(uint32_t client, const Named& of) {
  call_metadata(client, profile_.get_attributes);
  if (of.is_directory || !profile_.locks) return;
  Countdown sizes;
  sizes.expect(stripes_a_row());
  for (int64_t stripe = 0; stripe < stripes_a_row(); ++stripe)
    ask(client, server_of(of.object, stripe), {lock_bytes, profile_.lock_time, lock_bytes},
        {&sizes, 0});
  sizes.wait();
}

void PagedFileSystem::read_directory(uint32_t client, uint64_t, int64_t entries) {
  do {
    const int64_t part = std::min(entries, profile_.entries_a_readdir);
    call_metadata(client, profile_.read_directory, part * listed_entry_bytes);
    entries -= part;
  } while (entries > 0);
}

void PagedFileSystem::remove_file(uint32_t client, const Named& removed) {
  call_metadata(client, profile_.remove);
  for (uint32_t s = 0; s < servers(); ++s) servers_[s].storage->remove(removed.object);
  set_size(removed.object, 0);
}

void PagedFileSystem::remove_directory(uint32_t client, const Named&) {
  call_metadata(client, profile_.remove);
}

void PagedFileSystem::open(uint32_t client, uint64_t file) {
  call_metadata(client, profile_.open);
  if (profile_.locks || file >= versions_.size()) return;
  for (int64_t stripe = 0; stripe < stripes_a_row(); ++stripe) {
    Object& object = object_of(client, file, server_of(file, stripe));
    if (std::exchange(object.seen, versions_[file]) == versions_[file]) continue;
    const Extent all{0, std::numeric_limits<int64_t>::max()};
    if (object.dirty.empty() && object.writing.empty())
      clients_[client].cached -= object.cached.erase(all);
  }
}

// A client asks a server to bring an object to its device.
class PagedFileSystem::Commit final : public Event {
 public:
  Commit(PagedFileSystem& system, const Object& object) : system_(system), object_(object) {}
  // Called by a process, which waits.
  void make() {
    const Picoseconds began = system_.kernel_.now();
    const uint32_t host = system_.host_of(object_.server);
    system_.network_.send(object_.client, host, request_bytes, {this, arrived});
    answered_.wait();
    system_.waits_.add(object_.client, host, Waiting::request, system_.kernel_.now() - began);
  }
  void happen(uint64_t word) override {
    const uint32_t server = object_.server;
    if (word == arrived)
      return system_.work(server, system_.profile_.request_time, {this, accepted});
    if (word == accepted)
      return system_.servers_[server].storage->flush(object_.file, {this, stored});
    system_.network_.send(system_.host_of(server), object_.client, response_bytes,
                          answered_.then());
  }

 private:
  enum : uint64_t { arrived, accepted, stored };
  PagedFileSystem& system_;
  const Object& object_;
  Completion answered_;
};

void PagedFileSystem::close(uint32_t client, uint64_t file) {
  for (int64_t stripe = 0; profile_.commits_at_close && stripe < stripes_a_row(); ++stripe) {
    Object& object = object_of(client, file, server_of(file, stripe));
    while (!object.dirty.empty() || !object.writing.empty()) {
      object.all_leaves = true;
      send_what_may(client, object.server);
      object.idle.wait();
    }
    if (std::exchange(object.uncommitted, false)) Commit(*this, object).make();
  }
  call_metadata(client, profile_.close);
}

}  // namespace forebay::sim
