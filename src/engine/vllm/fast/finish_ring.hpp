#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/check.hpp"

namespace ridgeline::engine::vllm::fast {

/// Who ends with which batch: buckets by batch number with a bitmap over them, so that adding,
/// removing and finding the next end cost a few instructions, however many there are. What lies
/// further ahead than the ring is long waits in a list.
class FinishRing {
 public:
  using Index = std::uint32_t;
  static constexpr Index kNone = std::numeric_limits<Index>::max();

  FinishRing() { heads_.fill(kNone); }

  /// `batch` is not before any batch given to advance().
  void add(Index who, std::int64_t batch) {
    if (links_.size() <= who) [[unlikely]] {
      make_links(who);
    }
    RIDGELINE_CHECK(batch >= horizon_ - kReach, "finish ring: a request ends in a past batch");
    links_[who].batch = batch;
    if (batch < horizon_) [[likely]] {
      link(who);
    } else {
      add_far(who);
    }
  }

  void remove(Index who) {
    RIDGELINE_CHECK(who < links_.size(), "finish ring: a request leaves that was never added");
    const Link& gone = links_[who];
    if (gone.batch >= horizon_) [[unlikely]] {
      remove_far(who);
      return;
    }
    const std::size_t bucket = bucket_of(gone.batch);
    if (gone.next != kNone) {
      links_[gone.next].previous = gone.previous;
    }
    if (gone.previous != kNone) {
      links_[gone.previous].next = gone.next;
    } else {
      RIDGELINE_CHECK(heads_[bucket] == who, "finish ring: a request is not in its batch's list");
      heads_[bucket] = gone.next;
      if (gone.next == kNone) {
        clear_bit(bucket);
      }
    }
  }

  [[nodiscard]] std::int64_t batch_of(Index who) const { return links_[who].batch; }
  /// The first who ends with that batch, if any; the others by next().
  [[nodiscard]] Index first(std::int64_t batch) const {
    return batch < horizon_ ? heads_[bucket_of(batch)] : kNone;
  }
  [[nodiscard]] Index next(Index who) const { return links_[who].next; }

  /// Nobody ends before `batch` any more.
  void advance(std::int64_t batch) {
    RIDGELINE_CHECK(batch >= horizon_ - kReach, "finish ring: batch numbers ascend");
    if (batch + kSize / 2 > horizon_) {
      refill(batch);
    }
  }

  /// A batch from `from` on with which, and before which, nobody ends but perhaps then: the next
  /// end, or as far as the ring sees.
  [[nodiscard]] std::int64_t next_end(std::int64_t from) const {
    RIDGELINE_CHECK(from >= horizon_ - kReach && from < horizon_,
                    "finish ring: the next end is asked from a batch within the ring");
    const std::size_t start = bucket_of(from);
    const std::size_t word = start / kBits;
    if (const std::uint64_t here = bits_[word] >> (start % kBits); here != 0) {
      return from + std::countr_zero(here);
    }
    // Behind the word comes the rest of the ring, which ends before `from`'s own place.
    const auto behind = static_cast<std::int64_t>(kBits - start % kBits);
    constexpr std::uint64_t kOthers = ~std::uint64_t{0} >> 1;
    const std::uint64_t words = std::rotr(words_, static_cast<int>(word + 1)) & kOthers;
    if (words == 0) {
      return std::min(from + behind + kReach, horizon_);
    }
    const auto skipped = static_cast<std::size_t>(std::countr_zero(words));
    const std::uint64_t bits = bits_[(word + 1 + skipped) % kWords];
    return std::min(
        from + behind + static_cast<std::int64_t>(skipped * kBits) + std::countr_zero(bits),
        horizon_);
  }

 private:
  struct Link {
    std::int64_t batch = 0;
    Index next = kNone;
    Index previous = kNone;
  };
  static constexpr std::int64_t kSize = 4096;
  static constexpr std::size_t kBits = 64;
  /// Less than the ring, so that batches just ended have buckets of their own.
  static constexpr std::int64_t kReach = kSize - static_cast<std::int64_t>(kBits);
  static constexpr std::size_t kWords = kSize / kBits;
  static_assert(kWords == kBits, "one word tells which words have bits");

  static std::size_t bucket_of(std::int64_t batch) {
    return static_cast<std::size_t>(batch) % static_cast<std::size_t>(kSize);
  }
  void clear_bit(std::size_t bucket) {
    std::uint64_t& word = bits_[bucket / kBits];
    word &= ~(std::uint64_t{1} << (bucket % kBits));
    words_ &= ~(static_cast<std::uint64_t>(word == 0) << (bucket / kBits));
  }
  void link(Index who) {
    const std::size_t bucket = bucket_of(links_[who].batch);
    const Index head = heads_[bucket];
    links_[who].previous = kNone;
    links_[who].next = head;
    if (head != kNone) {
      links_[head].previous = who;
    }
    heads_[bucket] = who;
    bits_[bucket / kBits] |= std::uint64_t{1} << (bucket % kBits);
    words_ |= std::uint64_t{1} << (bucket / kBits);
  }
  [[gnu::noinline]] void make_links(Index who) { links_.resize(std::size_t{who} + 1); }
  [[gnu::noinline]] void add_far(Index who) { far_.push_back(who); }
  [[gnu::noinline]] void remove_far(Index who) { std::erase(far_, who); }
  [[gnu::noinline]] void refill(std::int64_t batch) {
    horizon_ = batch + kReach;
    std::size_t kept = 0;
    for (const Index who : far_) {
      if (links_[who].batch < horizon_) {
        link(who);
      } else {
        far_[kept++] = who;
      }
    }
    far_.resize(kept);
  }

  std::int64_t horizon_ = kReach;  ///< Batches from here on are far.
  std::array<Index, kSize> heads_{};
  std::array<std::uint64_t, kWords> bits_{};
  std::uint64_t words_ = 0;  ///< Which words of bits_ are not zero.
  std::vector<Link> links_;  ///< By who.
  std::vector<Index> far_;
};

}  // namespace ridgeline::engine::vllm::fast
