#include "core/quantile_search.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "core/check.hpp"
#include "core/quantiles.hpp"

namespace ridgeline::core {
namespace {

/// Buckets are as many as an eighth of the values, between these: a quantile then keeps few values,
/// and seven searches at once stay within a core's second cache.
constexpr int kFewestBucketBits = 4;
constexpr int kMostBucketBits = 12;
constexpr std::uint64_t kValuesPerBucket = 8;

int width(std::uint64_t number) {
  return static_cast<int>(
      std::bit_width(number));  // An int from C++23 on, the number's type before.
}

}  // namespace

QuantileSearch::QuantileSearch(std::int64_t count,
                               std::int64_t least,
                               std::int64_t greatest,
                               std::span<const double> probabilities)
    : least_key_(key(least)), count_(count) {
  RIDGELINE_CHECK(least >= 0, "a negative value among those to be searched");
  RIDGELINE_CHECK(least <= greatest, "a least value above the greatest");
  RIDGELINE_CHECK(probabilities.size() <= std::numeric_limits<std::uint8_t>::max() / 2,
                  "more quantiles than a bucket's mark can name");
  for (const double p : probabilities) {
    positions_.push_back(quantile_position(count, p));
  }
  const auto values = static_cast<std::uint64_t>(count);
  const int bits = std::clamp(width(values / kValuesPerBucket), kFewestBucketBits, kMostBucketBits);
  shift_ = std::max(width(key(greatest) - least_key_) - bits, 0);
  counts_.resize(bucket_of(greatest) + 1);
}

/// Where a value is, by its 0-based index among all that were counted in sorted order; the last
/// bucket if there are no more than that.
std::size_t QuantileSearch::bucket_at(std::int64_t index) const {
  std::size_t bucket = 0;
  for (; bucket + 1 < counts_.size() && counts_[bucket] <= index; ++bucket) {
    index -= counts_[bucket];
  }
  return bucket;
}

/// Buckets that are wanted already stay where they are.
void QuantileSearch::want(std::size_t first, std::size_t last) {
  while (first <= last && wanted_[first] != 0) {
    ++first;
  }
  while (first <= last && wanted_[last] != 0) {
    --last;
  }
  if (first > last) {
    return;
  }
  kept_.emplace_back();
  std::fill(wanted_.begin() + static_cast<std::ptrdiff_t>(first),
            wanted_.begin() + static_cast<std::ptrdiff_t>(last) + 1,
            static_cast<std::uint8_t>(kept_.size()));
}

/// From the lowest up, so that what is wanted of one quantile ends where the next one's begins.
void QuantileSearch::choose() {
  constexpr double kDeviations = 3.0;  // that a quantile is allowed from where the sample has it
  wanted_.assign(counts_.size(), 0);
  const std::int64_t sampled = std::accumulate(counts_.begin(), counts_.end(), std::int64_t{0});
  const auto size = static_cast<double>(sampled);
  std::vector<QuantilePosition> ascending = positions_;
  std::sort(ascending.begin(), ascending.end(), [](const auto& a, const auto& b) {
    return a.index < b.index;
  });
  for (const QuantilePosition& at : ascending) {
    const double share = static_cast<double>(at.index) / static_cast<double>(count_);
    const double spread = 2.0 + kDeviations * std::sqrt(size * share * (1.0 - share));
    const double below = std::max(size * share - spread, 0.0);
    want(bucket_at(static_cast<std::int64_t>(below)),
         bucket_at(static_cast<std::int64_t>(size * share + spread)));
  }
  std::fill(counts_.begin(), counts_.end(), 0);
}

bool QuantileSearch::found() const {
  return std::all_of(positions_.begin(), positions_.end(), [this](const QuantilePosition& at) {
    return wanted_[bucket_at(at.index)] != 0 &&
           (at.fraction == 0.0 || wanted_[bucket_at(at.index + 1)] != 0);
  });
}

void QuantileSearch::choose_counted() {
  std::fill(wanted_.begin(), wanted_.end(), 0);
  kept_.clear();
  for (const QuantilePosition& at : positions_) {
    for (const std::int64_t index : {at.index, at.index + 1}) {
      const std::size_t bucket = bucket_at(index);
      want(bucket, bucket);
    }
  }
}

std::int64_t QuantileSearch::order_statistic(std::int64_t index) const {
  const std::size_t bucket = bucket_at(index);
  const auto here = counts_.begin() + static_cast<std::ptrdiff_t>(bucket);
  std::int64_t left = index - std::accumulate(counts_.begin(), here, std::int64_t{0});
  std::vector<Entry> entries;
  for (const Entry& entry : kept_[wanted_[bucket] - 1U].entries()) {
    if (bucket_of(entry.value) == bucket) {
      entries.push_back(entry);
    }
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.value < b.value;
  });
  auto entry = entries.begin();
  for (; entry->times <= left; ++entry) {
    left -= entry->times;
  }
  return entry->value;
}

void QuantileSearch::Tally::merge() {
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return a.value < b.value;
  });
  std::size_t last = 0;
  for (std::size_t i = 1; i < entries_.size(); ++i) {
    if (entries_[i].value == entries_[last].value) {
      entries_[last].times += entries_[i].times;
    } else {
      entries_[++last] = entries_[i];
    }
  }
  entries_.resize(std::min(entries_.size(), last + 1));
  limit_ = std::max(kLeastLimit, 2 * entries_.size());
}

}  // namespace ridgeline::core
