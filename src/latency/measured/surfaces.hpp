#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "latency/measured/isotonic.hpp"
#include "latency/measured/kernel_tables.hpp"
#include "latency/measured/measured_kernels.hpp"

namespace ridgeline::latency::measured {

/// What making a surface non-decreasing moved most.
struct SurfaceChange {
  double ratio = 1.0;  ///< New over measured, the farthest from 1.
  std::string where;   ///< "m 8, k 2048, n 6144"
};

/// The error of each interior point when it is left out and its neighbours along one axis stand in.
struct LeaveOneOut {
  std::vector<double> errors;  ///< |prediction / measured - 1|, sorted.

  [[nodiscard]] double quantile(double share) const;
};

/// GEMM latency over (m, k, n): linear between measured shapes, which is exact where time is
/// proportional to FLOPs or to weight bytes, and in proportion beyond them; non-decreasing in each.
class GemmSurface {
 public:
  /// What a time measured at a shape is multiplied by: another number format.
  using Factor = std::function<double(const GemmPoint& point)>;

  /// `fixed_us` is the time of a GEMM of no size.
  GemmSurface(const MeasuredGemm& measured, double fixed_us, const Factor& factor);

  [[nodiscard]] double us(std::int64_t m, std::int64_t k, std::int64_t n) const;
  [[nodiscard]] std::int64_t smallest_m() const { return smallest_m_; }
  [[nodiscard]] std::int64_t largest_m() const { return largest_m_; }
  [[nodiscard]] const SurfaceChange& change() const { return change_; }

 private:
  std::int64_t smallest_m_ = 0;
  std::int64_t largest_m_ = 0;
  MonotoneGrid grid_;
  SurfaceChange change_;
};
/// Along m at each (k, n).
[[nodiscard]] LeaveOneOut leave_one_out(const MeasuredGemm& measured);

/// Decode-attention latency over (sequences, context per sequence), bilinear: at a number of
/// sequences it is a broken line in the sum of contexts, as streaming a KV cache is.
class DecodeSurface {
 public:
  explicit DecodeSurface(const MeasuredDecode& measured);

  /// Contexts per sequence at which the line of a number of sequences may bend: from 0 to beyond
  /// all that is asked for.
  [[nodiscard]] std::span<const double> kv_ticks() const { return grid_.axes()[1]; }
  /// A number of sequences among the measured batch sizes.
  struct Place {
    std::size_t low = 0;
    double share = 0.0;  ///< Share of the next batch size.
  };
  [[nodiscard]] Place place(std::int64_t sequences) const;
  /// Microseconds at a tick.
  [[nodiscard]] double us(const Place& place, std::size_t kv_tick) const;
  [[nodiscard]] std::int64_t largest_batch() const { return largest_batch_; }
  [[nodiscard]] std::int64_t smallest_kv_len() const { return smallest_kv_len_; }
  [[nodiscard]] std::int64_t largest_kv_len() const { return largest_kv_len_; }
  [[nodiscard]] const SurfaceChange& change() const { return change_; }

 private:
  std::int64_t largest_batch_ = 0;
  std::int64_t smallest_kv_len_ = 0;
  std::int64_t largest_kv_len_ = 0;
  MonotoneGrid grid_;
  SurfaceChange change_;
};
/// Along the context at each batch size.
[[nodiscard]] LeaveOneOut leave_one_out(const MeasuredDecode& measured);

/// Latency of causal attention over one prompt's length: linear in (query, key) pairs and a
/// start-up share of each query, between measured lengths and beyond them. Its slope never falls,
/// so that a chunk costs no less the more there is before it.
class PrefillCurve {
 public:
  /// Points in any order, of distinct lengths, at least one.
  explicit PrefillCurve(std::vector<PrefillPoint> points);

  /// Time of a whole prompt; at 0, the part that does not grow.
  [[nodiscard]] double us(double seq_len) const;
  /// Time of `tokens` after `past` others: what they add to the prompt, and no less than they
  /// alone.
  [[nodiscard]] double chunk_us(double past, double tokens) const;
  [[nodiscard]] std::int64_t largest() const { return largest_; }
  [[nodiscard]] std::int64_t smallest() const { return smallest_; }
  [[nodiscard]] const SurfaceChange& change() const { return change_; }

 private:
  std::int64_t smallest_ = 0;
  std::int64_t largest_ = 0;
  std::vector<double> work_;  ///< Ticks, the first 0.
  std::vector<double> us_;
  std::vector<double> slope_;  ///< From each tick on.
  SurfaceChange change_;
};
[[nodiscard]] LeaveOneOut leave_one_out(const std::vector<PrefillPoint>& points);

/// The curve of a head count from tables of several: linear between them, in proportion beyond, at
/// each length. All have the same head dimension.
[[nodiscard]] std::vector<PrefillPoint> at_heads(
    const std::vector<const MeasuredPrefill*>& measured, std::int64_t heads);

}  // namespace ridgeline::latency::measured
