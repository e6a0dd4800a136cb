#include "agent/file_server.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <tuple>

#include "agent/told_steps.h"
#include "engine/foretold_reads.h"
#include "engine/statistics.h"
#include "runtime/cache/access_extents.h"

namespace forebay::agent {

namespace {

// Of data in one frame of an answer.
constexpr int64_t most_piece_bytes = 256 << 10;

}  // namespace

void FileServer::release_memory() {
  answered_ = {};
  keep_little(asked_);
  keep_little(answer_);
  keep_little(extents_);
  memory_.give_back();
}

bool FileServer::answer(const Frame& asked) {
  bool sent = false;
  memory_.take(asked.bytes);
  if (connection_.receive_bytes(asked, &asked_).ok()) {
    answered_ = {};
    value_ = 0;
    kind_ = Ask::answer;
    held_bytes_ = -1;
    if (file_ != nullptr && file_->options().deterministic) runtime::NumberedSteps::begin();
    Status status = within_memory([&] { return carry_out(asked); });
    std::vector<ToldStep> steps;
    status.keep_first(within_memory([&] { steps = told_steps(runtime::NumberedSteps::end()); }));
    const std::array parts{answered_, std::as_bytes(std::span(steps))};
    Frame answer;
    answer.kind = static_cast<uint32_t>(kind_);
    answer.code = static_cast<uint32_t>(status.code);
    answer.system_error = status.system_error;
    answer.offset = status.ok() ? held_bytes_ : status.offset;
    answer.value = value_;
    answer.bytes = static_cast<int64_t>(parts[0].size() + parts[1].size());
    answer.steps = std::ssize(steps);
    sent = sensible_ && connection_.send(answer, parts).ok();
  }
  release_memory();
  return sent;
}

FileServer::~FileServer() {
  if (file_ != nullptr) (void)file_->close(false);  // a failure shows at the node's own commits
}

Status FileServer::carry_out(const Frame& asked) {
  const auto ask = static_cast<Ask>(asked.kind);
  sensible_ = (ask == Ask::open) == !is_open();
  if (!sensible_) return {};
  if (ask == Ask::open) return open(asked.value == 0);
  if (ask == Ask::close) return close(asked.value != 0);
  if (ask == Ask::owners) return tell_owners(asked.value);
  if (const Status opened = open_in_cache(); !opened.ok()) return opened;
  switch (ask) {
    case Ask::write:
      return write(asked.value);
    case Ask::read:
      return read_and_fetch(asked.value);
    case Ask::read_held:
      return read(asked.value, true);
    case Ask::size:
      return file_->size(&value_);
    case Ask::commit:
      return settle(false);
    case Ask::settle:
      return settle(true);
    case Ask::forget:
      file_->drop_clean();
      return {};
    case Ask::flush:
      return file_->flush_storage();
    case Ask::truncate:
      sensible_ = asked.value >= 0;
      if (sensible_) file_->truncate_cache(asked.value);
      return {};
    case Ask::own_change:
      file_->note_own_change();
      return {};
    default:
      sensible_ = false;
      return {};
  }
}

Status FileServer::open(bool in_cache) {
  terms_ = FileTerms::decoded(asked_);
  sensible_ = is_open();
  if (!sensible_) return {};
  const Owners owners = *Owners::decoded(terms_->owners);
  domains_ = owners.domains;
  self_ = owners.number_of(agent_.key);
  if (domains_.first_touch()) claims_ = agent_.claims.of(terms_->inode, owners.identity());
  own_part_ = std::make_shared<OwnPart>(OwnPart{domains_, self_});
  const Status opened = in_cache ? open_in_cache() : Status();
  if (!opened.ok()) terms_.reset();
  return opened;
}

Status FileServer::open_in_cache() {
  if (file_ != nullptr) return {};
  const auto& [path, mode, inode] = std::tie(terms_->path, terms_->mode, terms_->inode);
  Options options = terms_->options;
  options.scope = Scope::job;
  options.openers = Openers::agent;
  // The node's own ranks have the file open, and commit its bytes merged.
  options.commit_at_close = CommitAtClose::last;
  options.read_ahead_bytes = options.deterministic ? 0 : domains_.ahead(options.read_ahead_bytes);
  if (options.deterministic) runtime::NumberedSteps::begin();
  Status status;
  file_ = runtime::CachedFile::open(path, mode, options, &status);
  // The file may have been removed, renamed or replaced since. Then another one may have its name,
  // and stays as it is.
  if (file_ != nullptr && inode != 0 && file_->identity().inode != inode) {
    (void)file_->close(false);
    file_.reset();
    status = {Code::no_such_file, ESTALE, -1};
  }
  if (file_ == nullptr && inode != 0)
    file_ = runtime::CachedFile::open_again(path, inode, mode, options, &status);
  if (file_ == nullptr) return status;
  (void)file_->note_held(runtime::Held::something);
  file_->fetch_ahead_of(own_part_);
  bool news = false;
  const uint64_t identity = Owners::decoded(terms_->owners)->identity();
  status = file_->join_owners(identity, terms_->owners, &news);
  // What this node's ranks wrote into its cache alone may belong to other owners.
  if (news) status = file_->commit();
  if (news) file_->drop_clean();
  file_->note_shared();
  if (!status.ok()) {
    (void)file_->close(false);
    file_.reset();
  }
  return status;
}

bool FileServer::take_extents(int64_t count) {
  sensible_ = count > 0 && count <= std::ssize(asked_) / static_cast<int64_t>(sizeof(Extent));
  if (!sensible_) return false;
  extents_.resize(static_cast<std::size_t>(count));
  std::memcpy(extents_.data(), asked_.data(), extents_.size() * sizeof(Extent));
  data_bytes_ = 0;
  int64_t end = 0;
  for (const Extent& extent : extents_) {
    sensible_ = extent.offset >= end && extent.length > 0 && extent.length <= most_frame_bytes &&
                extent.offset <= std::numeric_limits<int64_t>::max() - extent.length;
    if (!sensible_) return false;
    end = extent.end();
    data_bytes_ += extent.length;
    sensible_ = data_bytes_ <= most_frame_bytes;
    if (!sensible_) return false;
  }
  return true;
}

Status FileServer::write(int64_t extents) {
  if (!take_extents(extents)) return {};
  const auto listed = static_cast<int64_t>(extents_.size() * sizeof(Extent));
  sensible_ = std::ssize(asked_) - listed == data_bytes_;
  if (!sensible_) return {};
  return runtime::access_extents(*file_, true, false, extents_, asked_.data() + listed, data_bytes_,
                                 &value_);
}

// What the node's ranks will read next comes after what the rank waits for.
Status FileServer::read_and_fetch(int64_t extents) {
  const Status status = read(extents, false);
  if (!status.ok() || !sensible_ || kind_ == Ask::moved) return status;
  const std::size_t listed = extents_.size() * sizeof(Extent);
  const std::size_t foretold = (asked_.size() - listed) / sizeof(Extent);
  sensible_ = foretold <= ForetoldReads::most_extents && asked_.size() % sizeof(Extent) == 0;
  if (foretold == 0 || !sensible_) return {};
  extents_.resize(foretold);
  std::memcpy(extents_.data(), asked_.data() + listed, foretold * sizeof(Extent));
  sensible_ = std::ranges::all_of(extents_, &ForetoldReads::possible);
  if (sensible_) file_->fetch_foretold(extents_);
  return {};
}

Status FileServer::read(int64_t extents, bool held) {
  if (!take_extents(extents)) return {};
  if (!may_serve()) {
    kind_ = Ask::moved;
    return {};
  }
  value_ = 0;
  if (held) held_bytes_ = 0;
  std::vector<Extent> piece;
  int64_t piece_bytes = 0;
  for (const Extent& extent : extents_) {
    for (Extent left = extent; !left.empty();) {
      const int64_t length = std::min(left.length, most_piece_bytes - piece_bytes);
      piece.push_back({left.offset, length});
      piece_bytes += length;
      left = {left.offset + length, left.length - length};
      const bool last = left.empty() && &extent == &extents_.back();
      if (piece_bytes < most_piece_bytes && !last) continue;
      bool ended = false;
      const Status status = read_piece(piece, piece_bytes, held, &ended);
      if (!status.ok() || ended || last) return status;
      if (!send_more()) return {};
      piece.clear();
      piece_bytes = 0;
    }
  }
  return {};
}

// Reads into answer_. *ended: the file ends within the piece.
Status FileServer::read_piece(std::span<const Extent> piece, int64_t bytes, bool held,
                              bool* ended) {
  answer_.resize(static_cast<std::size_t>(bytes));
  int64_t moved = 0;
  const Status status =
      held ? read_held(piece, &moved)
           : runtime::access_extents(*file_, false, false, piece, answer_.data(), bytes, &moved);
  if (!status.ok()) return status;
  answered_ = std::span(answer_).first(static_cast<std::size_t>(moved));
  value_ += moved;
  *ended = moved < bytes;
  return status;
}

Status FileServer::read_held(std::span<const Extent> piece, int64_t* moved) {
  for (const Extent& extent : piece) {
    int64_t got = 0, held = 0;
    const Status status = file_->read_held(extent, answer_.data() + *moved, &got, &held);
    if (!status.ok()) return status;
    *moved += got;
    held_bytes_ += held;
    if (got < extent.length) break;  // the end of file
  }
  return {};
}

// Sends what was read before the rest. False: the rank has gone.
bool FileServer::send_more() {
  Frame frame;
  frame.kind = static_cast<uint32_t>(Ask::more);
  frame.bytes = std::ssize(answered_);
  sensible_ = connection_.send(frame, std::span(&answered_, 1)).ok();
  answered_ = {};
  return sensible_;
}

Status FileServer::settle(bool forget) {
  if (asked_.empty()) {
    const Status status = file_->commit();
    if (forget) file_->drop_clean();
    return status;
  }
  Extent range;
  return take_range(&range) ? file_->settle(range, forget) : Status();
}

bool FileServer::take_range(Extent* range) {
  sensible_ = asked_.size() == sizeof *range;
  if (!sensible_) return false;
  std::memcpy(range, asked_.data(), sizeof *range);
  sensible_ = range->offset >= 0 && range->length > 0 &&
              range->offset <= std::numeric_limits<int64_t>::max() - range->length;
  return sensible_;
}

// A node that claims bytes at the same time writes at the same time: no order is promised.
bool FileServer::may_serve() {
  if (claims_ == nullptr) return true;
  return std::ranges::all_of(extents_, [&](const Extent& extent) {
    for (int64_t at = extent.offset; at < extent.end(); at = domains_.chunk_at(at).end()) {
      const int64_t chunk = domains_.chunk_of(at);
      const uint32_t owner = claims_->owner_of(chunk);
      if (owner != Owners::none && owner != self_) return false;
      read_unowned_ = read_unowned_ || owner == Owners::none;
      own_part_->chunks.insert(chunk);
    }
    return true;
  });
}

Status FileServer::tell_owners(int64_t claimer) {
  Extent range;
  if (!take_range(&range)) return {};
  const int64_t nodes = domains_.owners();
  const int64_t first = domains_.chunk_of(range.offset), last = domains_.chunk_of(range.end() - 1);
  constexpr int64_t most = most_frame_bytes / static_cast<int64_t>(sizeof(uint32_t));
  sensible_ = claims_ != nullptr && self_ != Owners::none && claimer >= 0 && claimer <= nodes &&
              (last - first) / nodes < most;
  if (!sensible_) return {};
  answer_.clear();
  for (int64_t chunk = first + (self_ + nodes - first % nodes) % nodes; chunk <= last;
       chunk += nodes) {
    const uint32_t owner = claimer == 0 ? claims_->owner_of(chunk)
                                        : claims_->claim(chunk, static_cast<uint32_t>(claimer - 1));
    const auto bytes = std::as_bytes(std::span(&owner, 1));
    answer_.insert(answer_.end(), bytes.begin(), bytes.end());
  }
  answered_ = answer_;
  return {};
}

Status FileServer::close(bool discard) {
  // The bytes may have got owners since, and this node's client may keep them as they were.
  if (read_unowned_) file_->see_other_nodes();
  const Status status = file_ == nullptr ? Status() : file_->close(discard);
  const Statistics statistics = file_ == nullptr ? Statistics() : file_->statistics();
  file_.reset();
  terms_.reset();
  const auto bytes = std::as_bytes(std::span(&statistics, 1));
  answer_.assign(bytes.begin(), bytes.end());
  answered_ = answer_;
  return status;
}

}  // namespace forebay::agent
