// Metadata of PVFS, after the steps in section 3.3 of Settlemyer, "A Study of Client-based Caching
// for Parallel I/O" (2009).
#include <algorithm>

#include "sim/cluster/pvfs.h"
#include "sim/cluster/pvfs_collective.h"

namespace forebay::sim {
namespace {

// Bytes of responses (the source system's configuration).
constexpr int64_t changed_bytes = 4;  // something was made, changed or removed
constexpr int64_t found_bytes = 4 + 8;
constexpr int64_t file_attributes_bytes = 12, directory_attributes_bytes = 49;
constexpr int64_t data_attributes_bytes = 16;  // of a file's part on a server
constexpr int64_t entry_bytes = 72;

}  // namespace

// Spreads objects, also those that follow each other, over the servers.
uint32_t Pvfs::metadata_server(uint64_t object) const {
  if (object == Named::root) return 0;
  constexpr uint64_t odd = 0x9e3779b97f4a7c15;  // 2^64 by the golden ratio
  return static_cast<uint32_t>((object * odd >> 32) % servers());
}

// What the client keeps: where an object is, and its attributes without the size.
std::vector<bool>::reference Pvfs::known(uint32_t client, uint64_t object) {
  if (client >= known_.size()) known_.resize(client + 1);
  std::vector<bool>& of_client = known_[client];
  const auto place = static_cast<std::size_t>(object + 1);  // the root is the greatest number
  if (place >= of_client.size()) of_client.resize(std::max(place + 1, 2 * of_client.size()));
  return of_client[place];
}

void Pvfs::forget(uint32_t client) {
  if (client < known_.size()) known_[client].clear();
}

// Steps of an operation ---------------------------------------------------------------------------

void Pvfs::need_attributes(uint32_t client, uint64_t directory) {
  if (known(client, directory)) return;
  call(client, metadata_server(directory),
       operation(profile_.get_attributes, directory_attributes_bytes));
  known(client, directory) = true;
}

// Where the object is, and its attributes; a file's size is not among them.
void Pvfs::find(uint32_t client, const Named& named) {
  if (known(client, named.object)) return;
  call(client, metadata_server(named.directory), operation(profile_.lookup, found_bytes));
  call(client, metadata_server(named.object),
       operation(profile_.get_attributes,
                 named.is_directory ? directory_attributes_bytes : file_attributes_bytes));
  known(client, named.object) = true;
}

// Asks all servers at the same time.
void Pvfs::ask_all(uint32_t client, const Operation& operation) {
  Countdown answers;
  answers.expect(servers());
  for (uint32_t server = 0; server < servers(); ++server)
    ask(client, server, operation, {&answers, 0});
  answers.wait();
}

// Server `root` lets all servers do something, itself included.
void Pvfs::pass_on(uint32_t root, const Operation& operation, bool gathers, uint32_t busier,
                   Picoseconds more) {
  Completion done;
  collectives_.take(*this).begin(root, operation, gathers, busier, more, done.then());
  done.wait();
}

void Pvfs::travel(uint32_t from, uint32_t to, int64_t bytes) {
  Completion there;
  network_.send(from, to, bytes, there.then());
  there.wait();
}

// The client asks a server, which takes the steps, and answers. While its process waits, it stands
// for the server. What the server has to lock is not simulated.
template <typename Steps>
void Pvfs::let_servers(uint32_t client, uint32_t server, int64_t answer_bytes, const Steps& steps) {
  const Picoseconds began = kernel_.now();
  const uint32_t host = host_of(server);
  travel(client, host, profile_.request_bytes);
  steps(host);
  travel(host, client, answer_bytes);
  waits_.add(client, host, Waiting::request, kernel_.now() - began);
}

// Operations --------------------------------------------------------------------------------------

void Pvfs::create(uint32_t client, uint64_t file) { make_file(client, {file}); }

void Pvfs::open(uint32_t client, uint64_t file) {
  Process::current()->sleep(profile_.open);
  known(client, file) = false;
  find(client, {file});
}

void Pvfs::create_file(uint32_t client, const Named& made) {
  Process::current()->sleep(profile_.open);
  make_file(client, made);
}

void Pvfs::make_file(uint32_t client, const Named& made) {
  const uint32_t parent = metadata_server(made.directory), own = metadata_server(made.object);
  const Operation metadata = operation(profile_.create_metadata, changed_bytes);
  const Operation data = operation(profile_.create_data_file, changed_bytes);
  const Operation attributes = operation(profile_.set_attributes, changed_bytes);
  const Operation entry = operation(profile_.create_directory_entry, changed_bytes);
  if (profile_.driven_by_servers) {
    let_servers(client, parent, changed_bytes, [&](uint32_t host) {
      call(host, own, metadata);
      pass_on(parent, data, false);
      call(host, own, attributes);
      call(host, parent, entry);
    });
  } else {
    need_attributes(client, made.directory);
    call(client, own, metadata);
    ask_all(client, data);
    call(client, own, attributes);
    call(client, parent, entry);
  }
  known(client, made.object) = true;
  set_size(made.object, 0);
}

void Pvfs::make_directory(uint32_t client, const Named& made) {
  Process::current()->sleep(profile_.mkdir);
  const uint32_t own = metadata_server(made.object);
  need_attributes(client, made.directory);
  call(client, own, operation(profile_.create_metadata, changed_bytes));
  call(client, own, operation(profile_.create_data_file, changed_bytes));
  call(client, own, operation(profile_.set_attributes, changed_bytes));
  call(client, metadata_server(made.directory),
       operation(profile_.create_directory_entry, changed_bytes));
  known(client, made.object) = true;
}

void Pvfs::set_attributes(uint32_t client, const Named& of) {
  Process::current()->sleep(profile_.utime);
  find(client, of);
  call(client, metadata_server(of.object), operation(profile_.set_attributes, changed_bytes));
}

// The size is the sum of what all servers have.
void Pvfs::get_attributes(uint32_t client, const Named& of) {
  Process::current()->sleep(profile_.stat);
  const uint32_t own = metadata_server(of.object);
  const Operation sizes = operation(profile_.get_attributes, data_attributes_bytes);
  if (of.is_directory || !profile_.driven_by_servers) {
    find(client, of);
    if (!of.is_directory) ask_all(client, sizes);
    return;
  }
  if (!known(client, of.object))
    call(client, metadata_server(of.directory), operation(profile_.lookup, found_bytes));
  let_servers(client, own, file_attributes_bytes + data_attributes_bytes, [&](uint32_t host) {
    call(host, own, operation(profile_.get_attributes, file_attributes_bytes));
    pass_on(own, sizes, true);
  });
  known(client, of.object) = true;
}

void Pvfs::read_directory(uint32_t client, uint64_t directory, int64_t entries) {
  Process::current()->sleep(profile_.readdir);
  do {
    const int64_t part = std::min(entries, profile_.entries_a_readdir);
    call(client, metadata_server(directory),
         operation(profile_.read_directory, changed_bytes + part * entry_bytes));
    entries -= part;
  } while (entries > 0);
}

void Pvfs::remove_file(uint32_t client, const Named& removed) {
  Process::current()->sleep(profile_.unlink);
  const uint32_t parent = metadata_server(removed.directory);
  const uint32_t own = metadata_server(removed.object);
  const Operation entry = operation(profile_.remove_directory_entry, changed_bytes);
  const Operation data = operation(profile_.remove_object, changed_bytes);
  if (profile_.driven_by_servers) {
    let_servers(client, parent, changed_bytes, [&](uint32_t host) {
      call(host, own, operation(profile_.get_attributes, file_attributes_bytes));
      pass_on(parent, data, false, own, profile_.remove_metadata);
      call(host, parent, entry);
    });
  } else {
    find(client, removed);
    call(client, parent, entry);
    call(client, own, operation(profile_.remove_metadata, changed_bytes));
    ask_all(client, data);
  }
  for (const Server& server : servers_) server.storage->remove(removed.object);
  set_size(removed.object, 0);
  known(client, removed.object) = false;
}

void Pvfs::remove_directory(uint32_t client, const Named& removed) {
  Process::current()->sleep(profile_.unlink);
  const uint32_t own = metadata_server(removed.object);
  find(client, removed);
  call(client, metadata_server(removed.directory),
       operation(profile_.remove_directory_entry, changed_bytes));
  call(client, own, operation(profile_.remove_metadata, changed_bytes));
  call(client, own, operation(profile_.remove_object, changed_bytes));
  known(client, removed.object) = false;
}

}  // namespace forebay::sim
