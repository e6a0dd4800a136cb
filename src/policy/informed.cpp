#include "policy/informed.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace forebay {
namespace {

// From here on are the next accesses of pages that are not expected, the oldest page's last.
constexpr uint64_t not_expected = uint64_t{1} << 62;
constexpr uint32_t ghosts_a_frame = 8;
constexpr int looks_an_access = 2;
constexpr int looks_a_victim = 8;
constexpr uint64_t least_counted = 16;    // pages before a class says something
constexpr uint64_t most_delays = 64;      // of the least likely pages
constexpr uint64_t newest_interval = 64;  // of so many counts for the mean

}  // namespace

uint32_t InformedPolicy::ghosts_for(uint32_t frames) {
  constexpr uint32_t most = 1 << 28;
  return std::bit_ceil(std::max(ghosts_a_frame * std::min(frames, most), set_size));
}

uint32_t InformedPolicy::coming_for(uint32_t frames) {
  constexpr uint32_t most = 1 << 26;
  return std::bit_ceil(std::max(foreseen_a_frame * std::min(frames, most), coming_set_size));
}

std::size_t InformedPolicy::state_bytes(uint32_t frames) {
  const std::size_t even = frames + frames % 2;
  return sizeof(Head) + frames * sizeof(Frame) + ghosts_for(frames) * sizeof(Ghost) +
         coming_for(frames) * sizeof(Coming) + even * sizeof(uint32_t);
}

InformedPolicy::InformedPolicy(void* state, uint32_t frames)
    : count_(frames),
      head_(static_cast<Head*>(state)),
      frames_(reinterpret_cast<Frame*>(head_ + 1)),
      ghosts_(reinterpret_cast<Ghost*>(frames_ + frames)),
      coming_(reinterpret_cast<Coming*>(ghosts_ + ghosts_for(frames))),
      heap_(reinterpret_cast<uint32_t*>(coming_ + coming_for(frames))),
      ghost_mask_(ghosts_for(frames) / set_size - 1),
      coming_mask_(coming_for(frames) / coming_set_size - 1) {}

void InformedPolicy::reset() {
  *head_ = {};
  std::fill_n(frames_, count_, Frame{0, 0, 0, 0, 0, no_frame, 0});
  std::fill_n(ghosts_, ghosts_for(count_), Ghost{0, 0});
  std::fill_n(coming_, coming_for(count_), Coming{0, 0});
}

void InformedPolicy::hit(FrameIndex frame, PageKey) {
  ++head_->now;
  Frame& of = frames_[frame];
  of.until = 0;
  came_again(of, of.last, of.accesses);
  expect_again(of);
  moved(frame);
  inform(frame);
  look_around();
}

void InformedPolicy::insert(FrameIndex frame, PageKey key) { enter(frame, key); }

void InformedPolicy::replace(FrameIndex victim, PageKey old, FrameIndex frame, PageKey key) {
  leave(victim, old, true);
  enter(frame, key);
}

void InformedPolicy::remove(FrameIndex frame, PageKey key) { leave(frame, key, false); }

void InformedPolicy::enter(FrameIndex frame, PageKey key) {
  Frame& of = frames_[frame];
  const uint64_t hash = hash_of(key);
  of = {0, 0, ++head_->now, 0, hash, head_->size, 1};
  Ghost* const set = set_of(hash);
  for (Ghost* ghost = set; ghost != set + set_size; ++ghost) {
    if (ghost->last_and_accesses == 0 || ghost->hash != hash) continue;
    came_again(of, ghost->last_and_accesses >> 2, ghost->last_and_accesses & 3);
    *ghost = {};
    break;
  }
  expect_again(of);
  heap_[head_->size++] = frame;
  moved(frame);
  inform(frame);
  look_around();
}

void InformedPolicy::leave(FrameIndex frame, PageKey key, bool remembered) {
  Frame& of = frames_[frame];
  const uint32_t place = of.place;
  const uint32_t last = --head_->size;
  if (place != last) {
    swap_places(place, last);
    moved(heap_[place]);
  }
  of.place = no_frame;
  of.until = 0;
  if (!remembered) return;
  const uint64_t hash = hash_of(key);
  Ghost* const set = set_of(hash);
  Ghost& oldest = *std::min_element(set, set + set_size, [](const Ghost& a, const Ghost& b) {
    return a.last_and_accesses < b.last_and_accesses;
  });
  if (oldest.last_and_accesses != 0) count(oldest.last_and_accesses & 3, false);
  oldest = {hash, of.last << 2 | of.accesses};
}

// The page of the frame is accessed now, after `last`.
void InformedPolicy::came_again(Frame& frame, uint64_t last, uint32_t accesses) {
  count(accesses, true);
  frame.last = head_->now;
  frame.interval = head_->now - last;
  frame.accesses = std::min(accesses + 1, most_accesses);
  if (accesses > 1) return;
  uint64_t& mean = head_->first_interval;
  mean = mean == 0 ? frame.interval
                   : (mean * (newest_interval - 1) + frame.interval) / newest_interval;
  mean = std::max<uint64_t>(mean, 1);
}

void InformedPolicy::count(uint32_t accesses, bool came) {
  Class& of = head_->classes[accesses - 1];
  ++(came ? of.came : of.stayed_away);
  if (of.came + of.stayed_away < std::max<uint64_t>(count_, least_counted)) return;
  of.came /= 2;
  of.stayed_away /= 2;
}

// Without a forecast.
void InformedPolicy::expect_again(Frame& frame) const {
  const uint64_t now = head_->now;
  const uint64_t interval = frame.interval == 0 ? head_->first_interval : frame.interval;
  if (interval == 0) {
    frame.next = 2 * not_expected - frame.last;
    return;
  }
  const Class& of = head_->classes[frame.accesses - 1];
  const uint64_t all = of.came + of.stayed_away;
  const uint64_t delays = all < least_counted ? 1 : std::min(all / (of.came + 1), most_delays);
  frame.next =
      std::max(frame.last + interval * std::max<uint64_t>(delays, 1), 2 * now - frame.last);
}

// Looks at some frames, each in its turn, whose pages are late or were not expected.
void InformedPolicy::look_around() {
  for (int looks = 0; looks < looks_an_access; ++looks) {
    if (++head_->hand >= count_) head_->hand = 0;
    Frame& of = frames_[head_->hand];
    if (of.place == no_frame) continue;
    if (of.until != 0) {
      if (of.until >= now()) continue;
      for (Coming& late : coming_of(of.hash)) {
        if (late.tag == tag_of(of.hash) && ahead(late) < 0) late = {};
      }
      inform(head_->hand);
    } else if (of.next <= now() || of.next >= not_expected) {
      expect_again(of);
      moved(head_->hand);
    }
  }
}

// Lets the page in the frame be expected when its next access is foreseen, if one is.
void InformedPolicy::inform(FrameIndex frame) {
  Frame& of = frames_[frame];
  int64_t soonest = INT64_MAX;
  for (const Coming& coming : coming_of(of.hash)) {
    if (coming.tag == tag_of(of.hash)) soonest = std::min(soonest, ahead(coming));
  }
  if (soonest != INT64_MAX) {
    of.next = now() + static_cast<uint64_t>(soonest);
    of.until = of.next + static_cast<uint64_t>(std::max<int64_t>(soonest, 0)) + 1;
  } else if (of.until != 0) {
    of.until = 0;
    expect_again(of);
  } else {
    return;
  }
  moved(frame);
}

void InformedPolicy::foresee(PageKey key, FrameIndex frame, uint64_t when) {
  if (when < now() || when - now() > INT32_MAX) return;
  const uint64_t hash = hash_of(key);
  Coming* place = nullptr;  // free, or over, or the latest of the set
  for (Coming& coming : coming_of(hash)) {
    if (coming.tag == 0 || ahead(coming) < 0) {
      place = &coming;
      break;
    }
    if (place == nullptr || ahead(coming) > ahead(*place)) place = &coming;
  }
  const bool is_free = place->tag == 0 || ahead(*place) < 0;
  if (!is_free && ahead(*place) <= static_cast<int64_t>(when - now())) return;
  *place = {tag_of(hash), static_cast<uint32_t>(when)};
  if (frame != no_frame) inform(frame);
}

void InformedPolicy::forget(PageKey key, FrameIndex frame, uint64_t when) {
  const uint64_t hash = hash_of(key);
  for (Coming& coming : coming_of(hash)) {
    if (coming.tag != tag_of(hash) || coming.when != static_cast<uint32_t>(when)) continue;
    coming = {};
    break;
  }
  if (frame != no_frame) inform(frame);
}

FrameIndex InformedPolicy::victim(PageKey, const Candidates& candidates) {
  // Since an interval became known, these are expected, too.
  for (int looks = 0; looks < looks_a_victim && head_->size > 0 && head_->first_interval > 0 &&
                      frames_[heap_[0]].next >= not_expected;
       ++looks) {
    expect_again(frames_[heap_[0]]);
    moved(heap_[0]);
  }
  // In the order of the array, which is almost that of the next accesses.
  for (uint32_t i = 0; i < head_->size; ++i) {
    if (candidates.evictable(heap_[i])) return heap_[i];
  }
  return no_frame;
}

void InformedPolicy::moved(FrameIndex frame) {
  const auto later = [this](uint32_t a, uint32_t b) {
    return frames_[heap_[a]].next > frames_[heap_[b]].next;
  };
  uint32_t place = frames_[frame].place;
  while (place > 0 && later(place, (place - 1) / 2)) {
    swap_places(place, (place - 1) / 2);
    place = (place - 1) / 2;
  }
  for (;;) {
    uint32_t latest = place;
    for (const uint32_t below : {2 * place + 1, 2 * place + 2}) {
      if (below < head_->size && later(below, latest)) latest = below;
    }
    if (latest == place) return;
    swap_places(place, latest);
    place = latest;
  }
}

void InformedPolicy::swap_places(uint32_t a, uint32_t b) {
  std::swap(heap_[a], heap_[b]);
  frames_[heap_[a]].place = a;
  frames_[heap_[b]].place = b;
}

}  // namespace forebay
