#include "engine/loop/decode_set.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/check.hpp"
#include "engine/loop/step_scheduler.hpp"

namespace ridgeline::engine {

void DecodeSet::add(Sequence& sequence,
                    std::int64_t computed,
                    std::int64_t first,
                    std::int64_t until) {
  Decoding& own = sequence.decoding;
  RIDGELINE_CHECK(!own.is_member && until >= first, "a request joins once, for a while");
  own = {.is_member = true,
         .base = computed - first,
         .joined = first,
         .until = until,
         .settled_formed = first,
         .settled_ended = first};
  ++count_;
  base_sum_ += own.base;
  const auto place = std::lower_bound(
      by_until_.begin(), by_until_.end(), until, [](const Entry& entry, std::int64_t step) {
        return entry.first > step;
      });
  by_until_.insert(place, {until, &sequence});
}

DecodeSet::Progress DecodeSet::settle(Sequence& sequence) {
  Decoding& own = sequence.decoding;
  const Progress progress{
      .formed = next_step_ > own.settled_formed ? next_step_ - own.settled_formed : 0,
      .ended = oldest_step_ > own.settled_ended ? oldest_step_ - own.settled_ended : 0};
  own.settled_formed += progress.formed;
  own.settled_ended += progress.ended;
  sequence.num_delivered_tokens += progress.ended;
  return progress;
}

void DecodeSet::remove(Sequence& sequence) {
  Decoding& own = sequence.decoding;
  RIDGELINE_CHECK(own.is_member && own.settled_formed >= next_step_, "a member leaves, settled");
  own.is_member = false;
  if (oldest_step_ > own.joined) {
    sequence.last_token = last_end_;
  }
  --count_;
  base_sum_ -= own.base;
  auto place = std::lower_bound(
      by_until_.begin(), by_until_.end(), own.until, [](const Entry& entry, std::int64_t step) {
        return entry.first > step;
      });
  place = std::find(place, by_until_.end(), Entry(own.until, &sequence));
  by_until_.erase(place);
  if (next_step_ > std::max(oldest_step_, own.joined)) {
    leavers_.push_back(
        {.sequence = &sequence, .base = own.base, .joined = own.joined, .place = sequence.place});
  }
}

void StepCalendar::add(Sequence& sequence, std::int64_t step) {
  RIDGELINE_CHECK(sequence.decoding.due < 0, "a request has one thing to do");
  sequence.decoding.due = step;
  buckets_[bucket_of(step)].push_back(&sequence);
  filled_ |= std::uint64_t{1} << bucket_of(step);
}

void StepCalendar::remove(Sequence& sequence) {
  const std::size_t place = bucket_of(std::exchange(sequence.decoding.due, -1));
  std::erase(buckets_[place], &sequence);
  if (buckets_[place].empty()) {
    filled_ &= ~(std::uint64_t{1} << place);
  }
}

std::int64_t StepCalendar::next(std::int64_t from, std::int64_t end) const {
  const std::uint64_t ahead = std::rotr(filled_, static_cast<int>(bucket_of(from)));
  return ahead == 0 ? end : std::min(from + std::countr_zero(ahead), end);
}

void StepCalendar::take(std::int64_t step, std::vector<Sequence*>& to) {
  std::vector<Sequence*>& bucket = buckets_[bucket_of(step)];
  if (bucket.empty()) {
    return;
  }
  const auto begin = std::ssize(to);
  std::size_t kept = 0;
  for (Sequence* const sequence : bucket) {
    if (sequence->decoding.due == step) {
      sequence->decoding.due = -1;
      to.push_back(sequence);
    } else {
      bucket[kept++] = sequence;
    }
  }
  bucket.resize(kept);
  if (kept == 0) {
    filled_ &= ~(std::uint64_t{1} << bucket_of(step));
  }
  if (std::ssize(to) - begin > 1) {
    std::sort(to.begin() + begin, to.end(), [](const Sequence* a, const Sequence* b) {
      return a->place < b->place;
    });
  }
}

}  // namespace ridgeline::engine
