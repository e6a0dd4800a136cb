#include "agent/kept_handle.h"

#include <span>
#include <vector>

#include "runtime/node/lock.h"

namespace forebay::agent {
namespace {

using What = KeeperQuestion::What;

KeeperQuestion question_of(What what, int64_t value = 0) {
  KeeperQuestion question;
  question.what = static_cast<int64_t>(what);
  question.value = value;
  return question;
}

}  // namespace

KeptHandle::~KeptHandle() {
  int64_t ignored = 0;
  if (used_.load()) (void)ask(question_of(What::leave), &ignored);
}

Status KeptHandle::load(int64_t* position) { return ask(question_of(What::load), position); }

Status KeptHandle::store(int64_t position) {
  int64_t before = 0;
  return ask(question_of(What::store, position), &before);
}

Status KeptHandle::advance(int64_t bytes, int64_t* before) {
  return ask(question_of(What::advance, bytes), before);
}

Status KeptHandle::place(int64_t turn, int64_t bytes, int64_t* before) {
  KeeperQuestion question = question_of(What::place, bytes);
  question.turn = turn;
  return ask(question, before);
}

Status KeptHandle::lock(const Extent& range, bool writes) {
  KeeperQuestion question = question_of(What::lock, writes ? 1 : 0);
  question.range = range;
  runtime::Backoff backoff;
  access_.lock();
  int64_t held = 0;
  Status status = ask(question, &held);
  while (status.ok() && held == 0) {
    backoff.pause();
    status = ask(question, &held);
  }
  if (!status.ok()) access_.unlock();
  return status;
}

void KeptHandle::unlock() {
  int64_t ignored = 0;
  (void)ask(question_of(What::unlock), &ignored);  // it has let go if it is not there any more
  access_.unlock();
}

Status KeptHandle::ask(KeeperQuestion question, int64_t* answer) {
  question.handle = name_;
  question.view = views_.load();
  const std::span<const std::byte> part = std::as_bytes(std::span(&question, 1));
  Frame frame;
  frame.kind = static_cast<uint32_t>(Ask::keeper);
  frame.bytes = std::ssize(part);
  used_.store(true);
  return within_memory([&] {
    const std::unique_lock turn = keeper_->take();
    std::vector<std::byte> nothing;
    Status status = keeper_->connect();
    if (status.ok()) status = keeper_->connection().send(frame, std::span(&part, 1));
    if (status.ok()) status = keeper_->connection().receive(&frame, &nothing);
    if (!status.ok()) {
      keeper_->connection().close();
      return status;
    }
    *answer = frame.value;
    return frame.status();
  });
}

}  // namespace forebay::agent
