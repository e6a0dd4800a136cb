#include "agent/file_server.h"

#include <cstring>
#include <limits>

#include "agent/file_terms.h"
#include "engine/statistics.h"
#include "runtime/cache/access_extents.h"

namespace forebay::agent {

void FileServer::serve() {
  Frame asked;
  while (sensible_ && connection_.receive(&asked, &asked_).ok()) {
    answered_ = {};
    value_ = 0;
    const Status status = within_memory([&] { return carry_out(asked); });
    Frame answer;
    answer.kind = static_cast<uint32_t>(Ask::answer);
    answer.code = static_cast<uint32_t>(status.code);
    answer.system_error = status.system_error;
    answer.offset = status.offset;
    answer.value = value_;
    answer.bytes = static_cast<int64_t>(answered_.size());
    if (!sensible_ || !connection_.send(answer, std::span(&answered_, 1)).ok()) break;
  }
  if (file_ != nullptr) (void)file_->close(false);  // a failure shows at the node's own commits
}

Status FileServer::carry_out(const Frame& asked) {
  const auto ask = static_cast<Ask>(asked.kind);
  sensible_ = (ask == Ask::open) == (file_ == nullptr);
  if (!sensible_) return {};
  switch (ask) {
    case Ask::open:
      return open();
    case Ask::write:
      return write(asked.value);
    case Ask::read:
      return read(asked.value);
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
      file_->truncate_cache(asked.value);
      return {};
    case Ask::own_change:
      file_->note_own_change();
      return {};
    case Ask::close:
      return close(asked.value != 0);
    default:
      sensible_ = false;
      return {};
  }
}

Status FileServer::open() {
  std::optional<FileTerms> terms = FileTerms::decoded(asked_);
  sensible_ = terms.has_value();
  if (!sensible_) return {};
  Options& options = terms->options;
  options.scope = Scope::job;
  // The node's own ranks have the file open, and commit its bytes merged.
  options.commit_at_close = CommitAtClose::last;
  Status status;
  file_ = runtime::CachedFile::open(terms->path, terms->mode, options, &status);
  if (file_ == nullptr) return status;
  bool news = false;
  status = file_->join_owners(Owners::decoded(terms->owners)->identity(), terms->owners, &news);
  // What this node's ranks wrote into its cache alone may belong to other owners.
  if (news) status = file_->commit();
  if (news) file_->drop_clean();
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

Status FileServer::read(int64_t extents) {
  if (!take_extents(extents)) return {};
  answer_.resize(static_cast<std::size_t>(data_bytes_));
  const Status status =
      runtime::access_extents(*file_, false, false, extents_, answer_.data(), data_bytes_, &value_);
  if (status.ok()) answered_ = std::span(answer_).first(static_cast<std::size_t>(value_));
  return status;
}

Status FileServer::settle(bool forget) {
  if (asked_.empty()) {
    const Status status = file_->commit();
    if (forget) file_->drop_clean();
    return status;
  }
  Extent range;
  sensible_ = asked_.size() == sizeof range;
  if (!sensible_) return {};
  std::memcpy(&range, asked_.data(), sizeof range);
  sensible_ = range.offset >= 0 && range.length > 0 &&
              range.offset <= std::numeric_limits<int64_t>::max() - range.length;
  return sensible_ ? file_->settle(range, forget) : Status();
}

Status FileServer::close(bool discard) {
  const Status status = file_->close(discard);
  const Statistics statistics = file_->statistics();
  file_.reset();
  const auto bytes = std::as_bytes(std::span(&statistics, 1));
  answer_.assign(bytes.begin(), bytes.end());
  answered_ = answer_;
  return status;
}

}  // namespace forebay::agent
