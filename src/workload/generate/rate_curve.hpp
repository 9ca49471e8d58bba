#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/rng.hpp"
#include "core/time.hpp"

namespace ridgeline::workload {

/// The law of the gaps between arrivals at a constant rate of one.
struct GapLaw {
  enum class Kind : std::uint8_t { kPoisson, kConstant, kGamma, kWeibull, kLognormal };
  Kind kind = Kind::kPoisson;
  /// kGamma, kWeibull: the shape; kLognormal: the coefficient of variation.
  double shape = 1.0;
};

/// Gamma(1 + x) for 0 <= x <= 100 by Lanczos' approximation (g = 7, nine terms; P. Godfrey, 2001),
/// good to 1e-14.
[[nodiscard]] double gamma_of_one_plus(double x);

/// The shape of a Weibull law with this coefficient of variation (0.01 to 100), by bisection.
[[nodiscard]] double weibull_shape_of(double cv);

/// A stretch of time in which the rate goes linearly from one value to another.
struct RatePiece {
  double seconds = 0.0;
  double from = 0.0;  ///< Groups per second.
  double to = 0.0;
  std::optional<GapLaw> gaps = {};  ///< Instead of the curve's own.
};

/// A rate over time. After the last piece it begins anew where it repeats, and is zero where it
/// does not.
struct RateCurve {
  std::vector<RatePiece> pieces;
  bool repeats = false;

  /// One piece: a constant rate without end.
  [[nodiscard]] static RateCurve constant(double rate);
  /// 24 hours of mean * (1 + depth * cos(2 pi (hour - peak) / 24)), in pieces of 15 minutes that
  /// touch the curve at their ends. 0 <= depth <= 1. Repeats.
  [[nodiscard]] static RateCurve diurnal(double mean, double depth, double peak_hour);
};

/// A rate that jumps between states at random: a Markov-modulated process.
struct MarkovRates {
  std::vector<double> rates;         ///< Groups per second.
  std::vector<double> mean_seconds;  ///< How long a state lasts, exponentially.
};

/// Arrival times of a renewal process of unit rate that runs on the time that a curve's rate adds
/// up to (D. J. Daley, D. Vere-Jones, "An introduction to the theory of point processes", 7.4): of
/// rate curve(t) at every t, and Poisson where the gaps are exponential.
class CurveArrivals {
 public:
  CurveArrivals(RateCurve curve,
                std::optional<MarkovRates> markov,
                GapLaw gaps,
                std::uint64_t seed,
                std::uint64_t replication,
                std::uint64_t entity);

  /// The next arrival in seconds; nothing when the curve has ended.
  std::optional<double> next();

 private:
  [[nodiscard]] double unit_gap(const GapLaw& gaps);
  bool enter_next_piece();

  RateCurve curve_;
  std::optional<MarkovRates> markov_;
  GapLaw gaps_;
  core::RngStream rng_;
  core::RngStream states_;
  RatePiece piece_;
  std::size_t index_ = 0;
  std::size_t state_ = 0;
  double piece_start_ = 0.0;
  double done_ = 0.0;  ///< Part of the piece's area that is used.
  bool ended_ = false;
};

}  // namespace ridgeline::workload
