#include "core/quantile_sketch.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/check.hpp"
#include "core/quantiles.hpp"

namespace ridgeline::core {
namespace {

/// Bits of a value that choose its bucket, below the leading one.
constexpr int kBits = 9;
constexpr std::uint64_t kPerOctave = std::uint64_t{1} << kBits;

/// How many low bits of a value are dropped: none below 1024.
int shift_of(std::uint64_t value) {
  return std::max(static_cast<int>(std::bit_width(value)) - 1 - kBits, 0);
}

std::size_t bucket_of(std::uint64_t value) {
  const int shift = shift_of(value);
  return static_cast<std::size_t>(shift) * kPerOctave + (value >> shift);
}

struct Bucket {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

Bucket bucket_at(std::size_t index) {
  const std::size_t shift = index < 2 * kPerOctave ? 0 : index / kPerOctave - 1;
  const std::uint64_t first = (index - shift * kPerOctave) << shift;
  return {.first = static_cast<std::int64_t>(first),
          .last = static_cast<std::int64_t>(first + ((std::uint64_t{1} << shift) - 1))};
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
  const std::size_t last_bucket = bucket_of(static_cast<std::uint64_t>(last));
  if (counts_.size() <= last_bucket) {
    counts_.resize(last_bucket + 1);
  }
  // One round per bucket, not per value.
  for (std::int64_t left = run.count; left > 0;) {
    const std::size_t bucket = bucket_of(static_cast<std::uint64_t>(value));
    const std::int64_t inside =
        bucket == last_bucket ? left : (bucket_at(bucket).last - value) / growth + 1;
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
  std::size_t bucket = 0;
  for (std::int64_t below = counts_[0]; below <= index; below += counts_[bucket]) {
    ++bucket;
  }
  const auto [first, last] = bucket_at(bucket);
  return std::clamp(first + (last - first) / 2, moments_.min(), moments_.max());
}

double QuantileSketch::quantile(double p) const {
  const auto at = quantile_position(count(), p);
  const std::int64_t low = order_statistic(at.index);
  return interpolate(low, at.fraction > 0.0 ? order_statistic(at.index + 1) : low, at.fraction);
}

}  // namespace ridgeline::core
