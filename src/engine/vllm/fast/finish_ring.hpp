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

/// The last batch of each request: buckets by batch number with a bitmap over them, so that adding
/// or removing a request and finding the next end cost a few instructions. Requests whose last
/// batch is beyond the ring's length stand in a list (far_).
class FinishRing {
 public:
  using Index = std::uint32_t;
  static constexpr Index kNone = std::numeric_limits<Index>::max();

  FinishRing() { heads_.fill(kNone); }

  /// Adds a request that ends with `batch`, which is not before any batch given to advance().
  void add(Index request, std::int64_t batch) {
    if (links_.size() <= request) [[unlikely]] {
      make_links(request);
    }
    RIDGELINE_CHECK(batch >= horizon_ - kReach, "finish ring: a request ends in a past batch");
    links_[request].batch = batch;
    if (batch < horizon_) [[likely]] {
      link(request);
    } else {
      add_far(request);
    }
  }

  void remove(Index request) {
    const Link& gone = links_[request];
    if (gone.batch >= horizon_) [[unlikely]] {
      remove_far(request);
      return;
    }
    const std::size_t bucket = bucket_of(gone.batch);
    if (gone.next != kNone) {
      links_[gone.next].previous = gone.previous;
    }
    if (gone.previous != kNone) {
      links_[gone.previous].next = gone.next;
    } else {
      RIDGELINE_CHECK(heads_[bucket] == request,
                      "finish ring: a request is not in its batch's list");
      heads_[bucket] = gone.next;
      if (gone.next == kNone) {
        clear_bit(bucket);
      }
    }
  }

  [[nodiscard]] std::int64_t batch_of(Index request) const { return links_[request].batch; }
  /// A request that ends with `batch`, or kNone; the others by next().
  [[nodiscard]] Index first(std::int64_t batch) const {
    return batch < horizon_ ? heads_[bucket_of(batch)] : kNone;
  }
  [[nodiscard]] Index next(Index request) const { return links_[request].next; }

  /// States that no request ends before `batch` any more.
  void advance(std::int64_t batch) {
    RIDGELINE_CHECK(batch >= horizon_ - kReach, "finish ring: batch numbers ascend");
    if (batch + kSize / 2 > horizon_) {
      refill(batch);
    }
  }

  /// Whether next_end() can be asked from this batch on, which is not before those of advance().
  [[nodiscard]] bool reaches(std::int64_t batch) const { return batch < horizon_; }

  /// The first batch from `from` on with which a request may end. No request ends before it. If no
  /// request ends within the ring, it is the ring's last batch.
  [[nodiscard]] std::int64_t next_end(std::int64_t from) const {
    RIDGELINE_CHECK(from >= horizon_ - kReach && from < horizon_,
                    "finish ring: the next end is asked from a batch within the ring");
    const std::size_t start = bucket_of(from);
    const std::size_t word = start / kBits;
    if (const std::uint64_t here = bits_[word] >> (start % kBits); here != 0) {
      return from + std::countr_zero(here);
    }
    // The other words follow in ring order and end before the place of `from`.
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
  /// Less than the ring's length, so that batches that have just ended keep buckets of their own.
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
  void link(Index request) {
    const std::size_t bucket = bucket_of(links_[request].batch);
    const Index head = heads_[bucket];
    links_[request].previous = kNone;
    links_[request].next = head;
    if (head != kNone) {
      links_[head].previous = request;
    }
    heads_[bucket] = request;
    bits_[bucket / kBits] |= std::uint64_t{1} << (bucket % kBits);
    words_ |= std::uint64_t{1} << (bucket / kBits);
  }
  [[gnu::noinline]] void make_links(Index request) { links_.resize(std::size_t{request} + 1); }
  [[gnu::noinline]] void add_far(Index request) { far_.push_back(request); }
  [[gnu::noinline]] void remove_far(Index request) { std::erase(far_, request); }
  [[gnu::noinline]] void refill(std::int64_t batch) {
    horizon_ = batch + kReach;
    std::size_t kept = 0;
    for (const Index request : far_) {
      if (links_[request].batch < horizon_) {
        link(request);
      } else {
        far_[kept++] = request;
      }
    }
    far_.resize(kept);
  }

  std::int64_t horizon_ = kReach;  ///< A request that ends with this batch or later stands in far_.
  std::array<Index, kSize> heads_{};
  std::array<std::uint64_t, kWords> bits_{};
  std::uint64_t words_ = 0;  ///< Bit i is set if bits_[i] is not zero.
  std::vector<Link> links_;  ///< By request.
  std::vector<Index> far_;
};

}  // namespace ridgeline::engine::vllm::fast
