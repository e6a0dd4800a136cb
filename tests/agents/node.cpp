// A node in a process of its own: two ranks at most, their cache, and the node's agent.

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <vector>

#include "agent/agent.h"
#include "agent/enrolled_file.h"
#include "agent/file_terms.h"
#include "agent/job_file.h"
#include "agents/wire.h"
#include "runtime/cache/cached_file.h"
#include "storage/posix.h"

namespace forebay::test {

bool send_value(int socket, const void* value, std::size_t bytes) {
  const char* at = static_cast<const char*>(value);
  while (bytes > 0) {
    const ssize_t sent = ::send(socket, at, bytes, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    at += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool receive_value(int socket, void* value, std::size_t bytes) {
  char* at = static_cast<char*>(value);
  while (bytes > 0) {
    const ssize_t got = recv(socket, at, bytes, 0);
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

namespace {

using agent::Address;
using agent::Enrolled;
using agent::EnrolledFile;
using agent::Enrolment;
using agent::FileKey;
using agent::FileTerms;
using agent::JobFile;
using agent::Owners;
using runtime::CachedFile;
using runtime::OpenMode;

class SlowWrites final : public SystemCalls {
 public:
  ssize_t pwritev(int descriptor, const iovec* segments, int count, int64_t offset) override {
    poll(nullptr, 0, 1);
    const ssize_t written = SystemCalls::pwritev(descriptor, segments, count, offset);
    poll(nullptr, 0, 1);
    return written;
  }
};

class CloseToOpen final : public SystemCalls {
 public:
  bool close_to_open(int) override { return true; }
};

struct Rank {
  std::unique_ptr<CachedFile> here;
  std::unique_ptr<JobFile> file;  // null: no other node has a part in it
  // Of ranks that open the file alone or in groups.
  std::unique_ptr<EnrolledFile> enrolled;
  Opening opening;
  Address keeper;  // of the directory
  FileTerms terms;
  bool may_get_owners = false;
  bool has_met_owners = false;
};

class Node {
 public:
  explicit Node(std::string folder) : folder_(std::move(folder)) {}
  bool start() { return agent_.start(); }

  Status carry_out(const Command& command, const std::string& text, Reply* reply,
                   std::string* answer) {
    Rank& rank = ranks_[command.rank];
    switch (command.order) {
      case Order::greet:
        greet(answer);
        return {};
      case Order::open:
        return open(rank, text);
      case Order::open_alone: {
        const Status opened = open_here(rank, text, true, answer);
        return opened.ok() ? enrol_alone(rank, 1) : opened;
      }
      case Order::open_here:
        return open_here(rank, text, command.count != 0, answer);
      case Order::enrol_alone:
        return enrol_alone(rank, command.count);
      case Order::enrol:
        return enrol(rank, text, &reply->value, answer);
      case Order::join:
        return join(rank, text, command.count, &reply->value);
      case Order::meet:
        return meet(rank, command.count);
      case Order::end_open:
        return end_open(rank, (command.count & Said::is_written) != 0,
                        (command.count & Said::ends_copies) != 0);
      case Order::withdraw:
        rank.enrolled.reset();
        return {};
      case Order::close_leaves:
        return close(rank, command.count != 0);
      default:
        break;
    }
    if (const Status met = meet_owners(rank); !met.ok()) return met;
    if (rank.file == nullptr) return carry_out_here(rank, command, text, reply, answer);
    switch (command.order) {
      case Order::write:
        return write(rank, command, text);
      case Order::read:
        return read(rank, command, &reply->value, answer);
      case Order::size:
        return rank.file->size(&reply->value);
      case Order::commit:
        return rank.file->commit_everywhere(command.count != 0);
      case Order::flush:
        return rank.file->flush_everywhere();
      case Order::truncate:
        rank.file->truncate_everywhere(command.offset);
        return {};
      case Order::forget:
        rank.file->forget_everywhere();
        return {};
      case Order::bypass:
        change_bypass(rank, command.count);
        return {};
      case Order::change_prepare: {
        FileDomains domains;
        std::memcpy(&domains, text.data(), sizeof domains);
        return rank.file->prepare_change(domains);
      }
      case Order::change_commit:
        return rank.file->commit_for_change();
      case Order::change:
        rank.file->change();
        return {};
      case Order::close_commits:
        return rank.file->commit_everywhere(false);
      default:
        return {Code::unsupported, 0, -1};
    }
  }

 private:
  // As long as this node has the file alone.
  Status carry_out_here(Rank& rank, const Command& command, const std::string& text, Reply* reply,
                        std::string* answer) const {
    switch (command.order) {
      case Order::write: {
        // The owners may have come meanwhile, and have to know of the bytes.
        const Status written = write(rank, command, text);
        const Status met = meet_owners(rank);
        return written.ok() ? met : written;
      }
      case Order::read:
        return read(rank, command, &reply->value, answer);
      case Order::size:
        return rank.here->size(&reply->value);
      case Order::commit: {
        const Status committed = rank.here->commit();
        if (command.count != 0) rank.here->drop_clean();
        return committed;
      }
      case Order::flush:
        return rank.here->flush_storage();
      case Order::truncate:
        rank.here->truncate_cache(command.offset);
        return {};
      case Order::forget:
        rank.here->drop_clean();
        return {};
      case Order::bypass:
        change_bypass(rank, command.count);
        return {};
      case Order::close_commits:
        return rank.here->commit_own();
      default:
        return {Code::unsupported, 0, -1};
    }
  }

  Address address() const {
    Address address = agent::own_address();
    address.port = agent_.port();
    address.key = agent_.key();
    return address;
  }

  void greet(std::string* answer) const {
    const Address own = address();
    answer->assign(reinterpret_cast<const char*>(&own), sizeof own);
  }

  Options options_of(const Opening& opening) const {
    Options options;
    options.scope = Scope::job;
    options.page_size_bytes = opening.page_bytes;
    options.cache_size_bytes = opening.cache_bytes;
    options.bypass_bytes = opening.bypass_bytes;
    options.read_ahead_bytes = opening.read_ahead_bytes;
    options.write_behind = opening.write_behind != 0;
    options.step_aside = StepAside::never;
    options.committer = false;
    options.arena_dir = folder_;
    options.job = "agents";
    return options;
  }

  // As mpiio/file/job_owners.cpp: what a rank does alone when its file gets owners.
  Status open(Rank& rank, const std::string& text) {
    Opening opening;
    std::memcpy(&opening, text.data(), sizeof opening);
    const auto* const record = reinterpret_cast<const std::byte*>(text.data()) + sizeof opening;
    const std::span<const std::byte> bytes(record, static_cast<std::size_t>(opening.owners));
    const std::optional<Owners> owners = Owners::decoded(bytes);
    FileTerms terms = terms_of(opening, text);
    if (!owners) return {Code::unsupported, 0, -1};
    Status status;
    StorageOpener opener;
    if (opening.slow != 0 || opening.close_to_open != 0) {
      opener = [path = terms.path, slow = opening.slow != 0](bool readable, bool writable) {
        static SlowWrites slow_writes;
        static CloseToOpen close_to_open;
        SystemCalls& calls = slow ? static_cast<SystemCalls&>(slow_writes) : close_to_open;
        return open_posix_with(calls, path, readable, writable);
      };
    }
    rank.here = CachedFile::open(terms.path, terms.mode, terms.options, &status, opener);
    if (rank.here == nullptr) return status;
    bool news = false;
    status = rank.here->join_owners(owners->identity(), bytes, &news);
    if (!status.ok()) return status;
    rank.file = std::make_unique<JobFile>(*rank.here, *owners, owners->number_of(agent_.key()),
                                          std::move(terms));
    return rank.here->commit();
  }

  FileTerms terms_of(const Opening& opening, const std::string& text) const {
    FileTerms terms;
    terms.path = text.substr(sizeof opening + static_cast<std::size_t>(opening.owners));
    terms.mode = opening.read_only != 0 ? OpenMode::read_only : OpenMode::read_write;
    terms.options = options_of(opening);
    return terms;
  }

  // As mpiio/file/job_owners.cpp, and so are the parts of an open that follow.
  Status open_here(Rank& rank, const std::string& text, bool one_node, std::string* answer) const {
    std::memcpy(&rank.opening, text.data(), sizeof rank.opening);
    std::memcpy(&rank.keeper, text.data() + sizeof rank.opening, sizeof rank.keeper);
    rank.terms = terms_of(rank.opening, text);
    rank.may_get_owners = one_node;
    Status status;
    rank.here = CachedFile::open(rank.terms.path, rank.terms.mode, rank.terms.options, &status);
    if (rank.here == nullptr) return status;
    rank.terms.inode = rank.here->identity().inode;
    if (rank.here->owners() != 0) *answer = text_of(rank.here->owners_record());
    return status;
  }

  static std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  static std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
  }

  // A rank opens the file without ranks of other nodes.
  Status enrol_alone(Rank& rank, int64_t ranks) const {
    Enrolled told;
    Status status;
    FileDomains domains(0, rank.opening.chunk_bytes, 1);
    if (rank.opening.first_touch != 0) domains = domains.by_first_touch();
    do {
      rank.enrolled.reset();
      std::optional<Owners> known;
      if (rank.here->owners() != 0) known = Owners::decoded(rank.here->owners_record());
      status = enrol(rank, true, Owners{domains, {address()}}, std::move(known), &told);
    } while (status.ok() && !told.owners && rank.here->owners() != 0);
    if (!status.ok() || !told.owners) return status;
    bool news = false;
    status = rank.here->join_owners(told.owners->identity(), rank.terms.owners, &news);
    if (!status.ok()) return status;
    if (told.written) rank.here->note_writer();
    rank.has_met_owners = !news && ranks == 1 && !told.ends_copies;
    if (told.ends_copies) status = take_owners(rank);
    return status.ok() && told.ends_copies ? rank.enrolled->end_copies() : status;
  }

  Status enrol(Rank& rank, bool one_node, const Owners& proposed, std::optional<Owners> known,
               Enrolled* told) const {
    const FileKey file{1, rank.terms.inode, 0};
    const Enrolment enrolment{file, rank.opening.read_only == 0, one_node, proposed,
                              std::move(known)};
    const auto directory = agent::Lines::of_process().to(rank.keeper);
    const Status status = EnrolledFile::enrol(directory, enrolment, told, &rank.enrolled);
    if (!status.ok() || !told->owners) return status;
    rank.terms.owners = told->owners->encoded();
    return rank.enrolled->tell(told->to_tell, rank.terms);
  }

  // The first of ranks of several nodes.
  Status enrol(Rank& rank, const std::string& text, int64_t* said, std::string* answer) const {
    const std::optional<Owners> proposed = Owners::decoded(bytes_of(text));
    if (!proposed) return {Code::unsupported, 0, -1};
    Enrolled told;
    const Status status = enrol(rank, false, *proposed, std::nullopt, &told);
    if (told.others) *said |= Said::has_others;
    if (told.written) *said |= Said::is_written;
    if (told.ends_copies) *said |= Said::ends_copies;
    *answer = text_of(rank.terms.owners);
    return status;
  }

  // The owners are in `text`.
  Status join(Rank& rank, const std::string& text, int64_t ranks_here, int64_t* said) const {
    const std::optional<Owners> owners = Owners::decoded(bytes_of(text));
    if (!owners) return {Code::unsupported, 0, -1};
    bool news = false;
    const Status status = rank.here->join_owners(owners->identity(), bytes_of(text), &news);
    if (!status.ok()) return status;
    rank.file =
        std::make_unique<JobFile>(*rank.here, *owners, owners->number_of(agent_.key()), rank.terms);
    if (news) *said |= Said::has_news;
    if (rank.here->writable()) *said |= Said::is_written;
    if (rank.here->handles() > ranks_here) *said |= Said::has_others;
    return news ? rank.here->commit() : status;
  }

  static Status meet(const Rank& rank, int64_t how) {
    rank.here->drop_clean();
    if (how == 0) (void)rank.here->note_held(runtime::Held::nothing);
    return how == 1 ? rank.file->meet_owners() : Status();
  }

  // All ranks have met the owners, or need not.
  static Status end_open(const Rank& rank, bool written, bool ends_copies) {
    if (written) rank.here->note_writer();
    rank.file->read_from_owners(false);
    return ends_copies ? rank.enrolled->end_copies() : Status();
  }

  // Before an access of ranks of one node, and after a write: whether another
  // open has given the file owners.
  Status meet_owners(Rank& rank) const {
    if (!rank.may_get_owners || rank.file != nullptr || rank.here->owners() == 0) return {};
    return take_owners(rank);
  }

  Status take_owners(Rank& rank) const {
    const std::optional<Owners> owners = Owners::decoded(rank.here->owners_record());
    if (!owners) return {Code::unsupported, 0, -1};
    rank.file =
        std::make_unique<JobFile>(*rank.here, *owners, owners->number_of(agent_.key()), rank.terms);
    const Status status = rank.has_met_owners ? Status() : rank.file->meet_owners();
    if (status.ok()) rank.file->read_from_owners(false);
    return status;
  }

  template <typename File>
  static Status access(File& file, const Command& command, bool writes, std::byte* memory,
                       int64_t* moved) {
    if (command.view.run == 0) {
      if (writes) return file.write(command.offset, memory, command.count);
      return file.read(command.offset, memory, command.count, moved);
    }
    const Tiling view{Layout::block(command.view.run), command.offset, command.view.stride};
    return file.access(Access{writes, false, &view, 0, command.count}, memory, moved);
  }

  static Status access(Rank& rank, const Command& command, bool writes, std::byte* memory,
                       int64_t* moved) {
    return rank.file != nullptr ? access(*rank.file, command, writes, memory, moved)
                                : access(*rank.here, command, writes, memory, moved);
  }

  static Status write(Rank& rank, const Command& command, const std::string& text) {
    int64_t moved = 0;
    std::string memory = text;
    return access(rank, command, true, reinterpret_cast<std::byte*>(memory.data()), &moved);
  }

  static Status read(Rank& rank, const Command& command, int64_t* moved, std::string* answer) {
    answer->assign(static_cast<std::size_t>(command.count), '?');
    const Status status =
        access(rank, command, false, reinterpret_cast<std::byte*>(answer->data()), moved);
    return status;
  }

  static void change_bypass(Rank& rank, int64_t bytes) {
    Options options = rank.here->options();
    options.bypass_bytes = bytes;
    rank.here->change_options(options);
  }

  static Status close(Rank& rank, bool stays_in_directory) {
    const Status left = rank.file == nullptr ? Status() : rank.file->leave(false);
    const Status closed = rank.here->close(false);
    std::unique_ptr<EnrolledFile> enrolled = std::move(rank.enrolled);
    rank = {};
    if (stays_in_directory) rank.enrolled = std::move(enrolled);
    return left.ok() ? closed : left;
  }

  const std::string folder_;
  agent::Agent agent_;
  Rank ranks_[2];
};

}  // namespace

namespace {

// False: the node could not start.
bool serve(int socket, const std::string& folder) {
  Node node(folder);
  if (!node.start()) return false;
  Command command;
  std::string text;
  while (receive_with_text(socket, &command, &text)) {
    Reply reply;
    std::string answer;
    const Status status = node.carry_out(command, text, &reply, &answer);
    reply.code = status.code;
    reply.system_error = status.system_error;
    if (!send_with_text(socket, reply, answer)) break;
  }
  return true;
}

}  // namespace

int play_node(int socket, const std::string& folder) {
  const bool started = serve(socket, folder);
  // Only now, since the agent closes files of ranks that are gone until its own end.
  runtime::leave_node();
  return started ? 0 : 2;
}

}  // namespace forebay::test
