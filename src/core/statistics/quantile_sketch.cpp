#include "core/statistics/quantile_sketch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/check.hpp"
#include "core/statistics/moments.hpp"
#include "core/statistics/quantile_buckets.hpp"
#include "core/statistics/quantiles.hpp"

namespace ridgeline::statistics {
namespace {

/// 2^-9 of a value wide: the middle is at most 2^-10 away.
using Buckets = LogBuckets<9>;

std::size_t bucket_of(std::int64_t value) {
  return Buckets::of(static_cast<std::uint64_t>(value));
}
std::int64_t first_of(std::size_t bucket) {
  return static_cast<std::int64_t>(Buckets::first(bucket));
}
std::int64_t last_of(std::size_t bucket) {
  return static_cast<std::int64_t>(Buckets::last(bucket));
}

}  // namespace

void QuantileSketch::add(const ArithmeticRun& run) {
  moments_.add(run);
  if (run.count == 0 || run.repeat == 0) {
    return;
  }
  std::int64_t value = run.first;
  std::int64_t growth = run.growth;
  if (growth < 0) {
    value += growth * (run.count - 1);
    growth = -growth;
  }
  RIDGELINE_CHECK(value >= 0, "a negative value in a quantile sketch");
  const std::int64_t last = value + growth * (run.count - 1);
  const std::size_t last_bucket = bucket_of(last);
  if (counts_.size() <= last_bucket) {
    counts_.resize(last_bucket + 1);
  }
  // One round per bucket, not per value.
  for (std::int64_t left = run.count; left > 0;) {
    const std::size_t bucket = bucket_of(value);
    const std::int64_t inside =
        bucket == last_bucket ? left : (last_of(bucket) - value) / growth + 1;
    counts_[bucket] += inside * run.repeat;
    left -= inside;
    if (left > 0) {
      value += growth * inside;
    }
  }
}

void QuantileSketch::merge(const QuantileSketch& other) {
  moments_.merge(other.moments_);
  if (counts_.size() < other.counts_.size()) {
    counts_.resize(other.counts_.size());
  }
  for (std::size_t i = 0; i < other.counts_.size(); ++i) {
    counts_[i] += other.counts_[i];
  }
}

std::int64_t QuantileSketch::order_statistic(std::int64_t index) const {
  if (index == 0) {
    return moments_.min();
  }
  if (index == count() - 1) {
    return moments_.max();
  }
  // From the nearer end: of the buckets below the least value there are thousands, and a curve asks
  // for hundreds of places in the upper tail.
  std::size_t bucket = 0;
  if (index < count() / 2) {
    bucket = bucket_of(moments_.min());
    for (std::int64_t below = counts_[bucket]; below <= index; below += counts_[bucket]) {
      ++bucket;
    }
  } else {
    bucket = bucket_of(moments_.max());
    for (std::int64_t from = count() - counts_[bucket]; from > index; from -= counts_[bucket]) {
      --bucket;
    }
  }
  const std::int64_t middle = first_of(bucket) + (last_of(bucket) - first_of(bucket)) / 2;
  return std::clamp(middle, moments_.min(), moments_.max());
}

double QuantileSketch::quantile(double p) const {
  const auto at = quantile_position(count(), p);
  const std::int64_t low = order_statistic(at.index);
  return interpolate(low, at.fraction > 0.0 ? order_statistic(at.index + 1) : low, at.fraction);
}

}  // namespace ridgeline::statistics
