#include "core/quantile_search.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/check.hpp"
#include "core/moments.hpp"
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

QuantileSearch::QuantileSearch(const Moments& moments, std::span<const double> probabilities)
    : least_key_(key(moments.min())) {
  RIDGELINE_CHECK(moments.min() >= 0, "a negative value among those to be searched");
  RIDGELINE_CHECK(probabilities.size() <= std::numeric_limits<std::uint8_t>::max() / 2,
                  "more quantiles than a bucket's mark can name");
  for (const double p : probabilities) {
    positions_.push_back(quantile_position(moments.count(), p));
  }
  const auto values = static_cast<std::uint64_t>(moments.count());
  const int bits = std::clamp(width(values / kValuesPerBucket), kFewestBucketBits, kMostBucketBits);
  shift_ = std::max(width(key(moments.max()) - least_key_) - bits, 0);
  counts_.resize(bucket_of(moments.max()) + 1);
}

QuantileSearch::Place QuantileSearch::place_of(std::int64_t index) const {
  Place place{.bucket = 0, .index = index};
  for (; counts_[place.bucket] <= place.index; ++place.bucket) {
    place.index -= counts_[place.bucket];
  }
  return place;
}

void QuantileSearch::choose() {
  wanted_.resize(counts_.size());
  const auto want = [this](std::int64_t index) {
    std::uint8_t& mark = wanted_[place_of(index).bucket];
    if (mark == 0) {
      kept_.emplace_back();
      mark = static_cast<std::uint8_t>(kept_.size());
    }
  };
  for (const QuantilePosition& at : positions_) {
    want(at.index);
    if (at.fraction > 0.0) {
      want(at.index + 1);
    }
  }
}

std::int64_t QuantileSearch::order_statistic(std::int64_t index) {
  const Place place = place_of(index);
  return kept_[wanted_[place.bucket] - 1U].at(place.index);
}

std::vector<double> QuantileSearch::quantiles(std::int64_t offset) {
  std::vector<double> results;
  results.reserve(positions_.size());
  for (const QuantilePosition& at : positions_) {
    const std::int64_t low = order_statistic(at.index);
    const std::int64_t high = at.fraction > 0.0 ? order_statistic(at.index + 1) : low;
    results.push_back(interpolate(low + offset, high + offset, at.fraction));
  }
  return results;
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

std::int64_t QuantileSearch::Tally::at(std::int64_t index) {
  merge();
  auto entry = entries_.begin();
  for (; entry->times <= index; ++entry) {
    index -= entry->times;
  }
  return entry->value;
}

}  // namespace ridgeline::core
