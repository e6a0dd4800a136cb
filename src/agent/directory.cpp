#include "agent/directory.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace forebay::agent {
namespace {

struct EnrolmentHead {
  FileKey file;
  int64_t writes;
  int64_t one_node;
  int64_t known_bytes;
};

struct EnrolledHead {
  int64_t changing;
  int64_t others;
  int64_t written;
  int64_t ends_copies;
  int64_t to_tell;
  int64_t has_owners;
};

template <typename Value>
void add(std::vector<std::byte>& bytes, std::span<const Value> values) {
  const std::span<const std::byte> added = std::as_bytes(values);
  bytes.insert(bytes.end(), added.begin(), added.end());
}

// Takes the first bytes for *value. False: there are too few.
template <typename Value>
bool take(std::span<const std::byte>& bytes, Value* value) {
  if (bytes.size() < sizeof *value) return false;
  std::memcpy(value, bytes.data(), sizeof *value);
  bytes = bytes.subspan(sizeof *value);
  return true;
}

// A chunk is a multiple of each owner's pages.
int64_t common_chunk(int64_t one, int64_t other) {
  constexpr int64_t most = 1 << 30;
  const int64_t both = std::max(one, other) <= most ? std::lcm(one, other) : INT64_MAX;
  return both <= most ? both : std::max(one, other);
}

}  // namespace

std::vector<std::byte> Enrolment::encoded() const {
  const std::vector<std::byte> record = known ? known->encoded() : std::vector<std::byte>();
  const EnrolmentHead head{file, int64_t{writes}, int64_t{one_node}, std::ssize(record)};
  std::vector<std::byte> bytes;
  add(bytes, std::span(&head, 1));
  add(bytes, std::span<const std::byte>(record));
  add(bytes, std::span<const std::byte>(proposed.encoded()));
  return bytes;
}

std::optional<Enrolment> Enrolment::decoded(std::span<const std::byte> bytes) {
  EnrolmentHead head{};
  if (!take(bytes, &head)) return std::nullopt;
  if (head.known_bytes < 0 || head.known_bytes > std::ssize(bytes)) return std::nullopt;
  const auto record = static_cast<std::size_t>(head.known_bytes);
  std::optional<Owners> known = Owners::decoded(bytes.first(record));
  if (record != 0 && !known) return std::nullopt;
  std::optional<Owners> proposed = Owners::decoded(bytes.subspan(record));
  if (!proposed || (head.one_node != 0 && proposed->agents.size() != 1)) return std::nullopt;
  return Enrolment{head.file, head.writes != 0, head.one_node != 0, std::move(*proposed),
                   std::move(known)};
}

std::vector<std::byte> Enrolled::encoded() const {
  const EnrolledHead head{int64_t{changing},    int64_t{others},     int64_t{written},
                          int64_t{ends_copies}, std::ssize(to_tell), int64_t{owners.has_value()}};
  std::vector<std::byte> bytes;
  add(bytes, std::span(&head, 1));
  add(bytes, std::span<const Address>(to_tell));
  if (owners) add(bytes, std::span<const std::byte>(owners->encoded()));
  return bytes;
}

std::optional<Enrolled> Enrolled::decoded(std::span<const std::byte> bytes) {
  EnrolledHead head{};
  if (!take(bytes, &head)) return std::nullopt;
  const auto most = static_cast<int64_t>(bytes.size() / sizeof(Address));
  if (head.to_tell < 0 || head.to_tell > most) return std::nullopt;
  Enrolled enrolled;
  enrolled.changing = head.changing != 0;
  enrolled.others = head.others != 0;
  enrolled.written = head.written != 0;
  enrolled.ends_copies = head.ends_copies != 0;
  enrolled.to_tell.resize(static_cast<std::size_t>(head.to_tell));
  for (Address& agent : enrolled.to_tell) (void)take(bytes, &agent);
  if (head.has_owners == 0) return enrolled;
  enrolled.owners = Owners::decoded(bytes);
  if (!enrolled.owners) return std::nullopt;
  return enrolled;
}

std::vector<std::byte> NewOwners::encoded() const {
  std::vector<std::byte> bytes;
  add(bytes, std::span(&file, 1));
  add(bytes, std::span<const std::byte>(owners.encoded()));
  return bytes;
}

std::optional<NewOwners> NewOwners::decoded(std::span<const std::byte> bytes) {
  FileKey file;
  if (!take(bytes, &file)) return std::nullopt;
  std::optional<Owners> owners = Owners::decoded(bytes);
  if (!owners) return std::nullopt;
  return NewOwners{file, std::move(*owners)};
}

EnrolledOpen Enrolment::open() const {
  return {file, one_node ? proposed.agents.front().key : Key{}};
}

Directory::Opener& Directory::opener_in(Entry& entry, const Enrolment& enrolment) {
  const Key name = enrolment.open().opener;
  const auto known = std::ranges::find(entry.openers, name, &Opener::name);
  if (known != entry.openers.end()) return *known;
  Opener& opener = entry.openers.emplace_back();
  opener.name = name;
  if (enrolment.one_node) opener.agent = enrolment.proposed.agents.front();
  opener.chunk_bytes = enrolment.proposed.domains.chunk_bytes();
  return opener;
}

// Ranks of several nodes propose these nodes. Otherwise the nodes that have the file open own it.
Owners Directory::owners_for(const Entry& entry, const Enrolment& enrolment) {
  Owners owners = enrolment.proposed;
  if (!enrolment.one_node) return owners;
  int64_t chunk_bytes = owners.domains.chunk_bytes();
  for (const Opener& opener : entry.openers) {
    if (owners.agents.size() == most_owners) break;
    if (opener.name == Key{} || owners.number_of(opener.name) != Owners::none) continue;
    owners.agents.push_back(opener.agent);
    chunk_bytes = common_chunk(chunk_bytes, opener.chunk_bytes);
  }
  const bool first_touch = owners.domains.first_touch();
  owners.domains = FileDomains(owners.domains.origin(), chunk_bytes,
                               static_cast<uint32_t>(owners.agents.size()));
  if (first_touch) owners.domains = owners.domains.by_first_touch();
  return owners;
}

Enrolled Directory::enrol(const Enrolment& enrolment) {
  const std::lock_guard guard(mutex_);
  Entry& entry = files_[enrolment.file];
  Enrolled answer;
  answer.changing = entry.changing;
  if (answer.changing) return answer;
  const Key name = enrolment.open().opener;
  for (const Opener& opener : entry.openers)
    answer.others = answer.others || !enrolment.one_node || opener.name != name;
  entry.written = entry.written || enrolment.writes;
  Opener& mine = opener_in(entry, enrolment);
  ++mine.opens;
  if (!entry.owners && enrolment.known) {
    entry.owners = enrolment.known;
    entry.copies = true;  // who has the file by them is not known
  }
  const bool shares = enrolment.known || (entry.written && (entry.owners || answer.others));
  mine.alone = enrolment.one_node && !shares;
  if (mine.alone) return answer;
  if (!entry.owners) entry.owners = owners_for(entry, enrolment);
  answer.owners = entry.owners;
  answer.written = entry.written;
  entry.copies = entry.copies || !entry.written;
  answer.ends_copies = enrolment.writes && entry.copies;
  for (const Opener& opener : entry.openers) {
    if (entry.written && opener.alone) answer.to_tell.push_back(opener.agent);
  }
  return answer;
}

// Once a file has owners and is written, nobody becomes alone.
void Directory::note_told(const FileKey& file) {
  const std::lock_guard guard(mutex_);
  const auto known = files_.find(file);
  if (known == files_.end() || !known->second.written || !known->second.owners) return;
  for (Opener& opener : known->second.openers) opener.alone = false;
}

// Later owners know from the first that somebody can write.
void Directory::end_copies(const FileKey& file) {
  const std::lock_guard guard(mutex_);
  const auto known = files_.find(file);
  if (known != files_.end() && known->second.written) known->second.copies = false;
}

bool Directory::begin_change(const FileKey& file) {
  const std::lock_guard guard(mutex_);
  const auto known = files_.find(file);
  if (known == files_.end()) return false;
  Entry& entry = known->second;
  const bool alone = entry.openers.size() == 1 && entry.openers.front().opens == 1;
  if (!alone || entry.openers.front().name != Key{} || !entry.owners || entry.changing)
    return false;
  entry.changing = true;
  return true;
}

void Directory::change_owners(const NewOwners& changed) {
  const std::lock_guard guard(mutex_);
  const auto known = files_.find(changed.file);
  if (known == files_.end() || !std::exchange(known->second.changing, false)) return;
  known->second.owners = changed.owners;
}

void Directory::withdraw(const EnrolledOpen& open) {
  const std::lock_guard guard(mutex_);
  const auto known = files_.find(open.file);
  if (known == files_.end()) return;
  std::vector<Opener>& openers = known->second.openers;
  const auto mine = std::ranges::find(openers, open.opener, &Opener::name);
  if (mine != openers.end() && --mine->opens == 0) openers.erase(mine);
  if (openers.empty()) files_.erase(known);
}

std::size_t Directory::files() const {
  const std::lock_guard guard(mutex_);
  return files_.size();
}

}  // namespace forebay::agent
