#include "channel/channel.h"

namespace forebay {

Send::~Send() {
  if (!under_way()) return;
  const Status ignored = channel_->complete(*this);
  static_cast<void>(ignored);  // whoever wanted to know has completed it
}

void Channel::post(Send& send, uint32_t to, const Message& message) {
  start(send, to, message);
  send.channel_ = this;
}

Status Channel::complete(Send& send) {
  send.channel_ = nullptr;
  finish(send);
  send.progress_.reset();
  return send.status_;
}

Status Channel::send(uint32_t to, const Message& message) {
  Send send;
  post(send, to, message);
  return complete(send);
}

}  // namespace forebay
