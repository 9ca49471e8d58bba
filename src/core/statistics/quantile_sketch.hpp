#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/statistics/moments.hpp"
#include "core/statistics/quantiles.hpp"

namespace ridgeline::statistics {

/// Quantiles with a relative error of at most 2^-10 (0.098 %) in bounded memory: counts in buckets
/// that are 2^-9 of their value wide, found by shifts alone (values below 1024 have buckets of
/// their own). Guarantee and mergeability are those of DDSketch (C. Masson, J. E. Rim, H. K. Lee,
/// PVLDB 12(12), 2019), the log-linear buckets those of HdrHistogram (G. Tene). Moments are exact,
/// and so are the quantiles 0 and 1.
class QuantileSketch {
 public:
  static constexpr double kRelativeError = 0x1p-10;
  /// 54 * 512 + 512 buckets of 8 bytes for all of int64: 220 KiB.
  static constexpr std::size_t kMostBuckets = 28'160;

  /// Requires values of at least 0, else as Moments::add.
  void add(const ArithmeticRun& run);
  void add(std::int64_t value, std::int64_t times = 1) { add({.first = value, .repeat = times}); }
  void merge(const QuantileSketch& other);

  [[nodiscard]] const Moments& moments() const { return moments_; }
  [[nodiscard]] std::int64_t count() const { return moments_.count(); }
  [[nodiscard]] Fingerprint fingerprint() const { return moments_.fingerprint(); }

  /// Requires count() >= 1. Interpolates as core::quantile does, between values that are each
  /// within the relative error of the true order statistics.
  [[nodiscard]] double quantile(double p) const;
  [[nodiscard]] std::size_t num_buckets() const { return counts_.size(); }

 private:
  [[nodiscard]] std::int64_t order_statistic(std::int64_t index) const;

  std::vector<std::int64_t> counts_;
  Moments moments_;
};

}  // namespace ridgeline::statistics
