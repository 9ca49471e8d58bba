#include "workload/generate/rate_curve.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/distributions.hpp"
#include "core/math.hpp"
#include "core/rng.hpp"

namespace ridgeline::workload {
namespace {

constexpr double kForever = 1e7;  // seconds: past the range of simulated time
constexpr double kHour = 3600.0;
constexpr int kHoursPerDay = 24;
constexpr int kQuartersPerHour = 4;

double cosine_of_day(double hours) {
  // cos by its series around zero, after moving the angle into -pi .. pi: core has none.
  constexpr double kTwoPi = 6.283185307179586;
  double turns = hours / kHoursPerDay;
  turns -= std::floor(turns + 0.5);
  const double x = kTwoPi * turns;
  double term = 1.0;
  double sum = 1.0;
  constexpr int kTerms = 14;
  for (int i = 1; i <= kTerms; ++i) {
    term *= -x * x / static_cast<double>((2 * i - 1) * (2 * i));
    sum += term;
  }
  return sum;
}

double area_of(const RatePiece& piece) {
  return piece.seconds * (piece.from + piece.to) / 2.0;
}

/// How far into a piece its area has grown to `area`: the root of from t + (to - from) t^2 / 2T.
double time_at(const RatePiece& piece, double area) {
  const double slope = (piece.to - piece.from) / piece.seconds;
  const double root = std::sqrt(std::max(piece.from * piece.from + 2.0 * slope * area, 0.0));
  // The form that does not cancel, whatever the sign of the slope.
  const double time = piece.from + root > 0.0 ? 2.0 * area / (piece.from + root) : 0.0;
  return std::min(time, piece.seconds);
}

}  // namespace

double gamma_of_one_plus(double x) {
  constexpr std::array<double, 9> kTerms = {0.99999999999980993,
                                            676.5203681218851,
                                            -1259.1392167224028,
                                            771.32342877765313,
                                            -176.61502916214059,
                                            12.507343278686905,
                                            -0.13857109526572012,
                                            9.9843695780195716e-6,
                                            1.5056327351493116e-7};
  constexpr double kG = 7.0;
  constexpr double kSqrtTwoPi = 2.5066282746310002;
  double sum = kTerms[0];
  for (std::size_t i = 1; i < kTerms.size(); ++i) {
    sum += kTerms[i] / (x + static_cast<double>(i));
  }
  const double t = x + kG + 0.5;
  return kSqrtTwoPi * core::exp(core::log(t) * (x + 0.5) - t) * sum;
}

double weibull_shape_of(double cv) {
  double low = 0.1;
  double high = 200.0;
  constexpr int kHalvings = 80;
  for (int i = 0; i < kHalvings; ++i) {
    const double shape = (low + high) / 2.0;
    const double mean = gamma_of_one_plus(1.0 / shape);
    const double square = gamma_of_one_plus(2.0 / shape);
    // The wider the law, the smaller the shape.
    (square / (mean * mean) - 1.0 > cv * cv ? low : high) = shape;
  }
  return (low + high) / 2.0;
}

RateCurve RateCurve::constant(double rate) {
  return {.pieces = {{.seconds = kForever, .from = rate, .to = rate}}, .repeats = false};
}

RateCurve RateCurve::diurnal(double mean, double depth, double peak_hour) {
  RateCurve curve;
  curve.repeats = true;
  const auto rate_at = [&](int quarter) {
    const double hour = static_cast<double>(quarter) / kQuartersPerHour;
    return mean * (1.0 + depth * cosine_of_day(hour - peak_hour));
  };
  for (int quarter = 0; quarter < kHoursPerDay * kQuartersPerHour; ++quarter) {
    curve.pieces.push_back({.seconds = kHour / kQuartersPerHour,
                            .from = std::max(rate_at(quarter), 0.0),
                            .to = std::max(rate_at(quarter + 1), 0.0)});
  }
  return curve;
}

CurveArrivals::CurveArrivals(RateCurve curve,
                             std::optional<MarkovRates> markov,
                             GapLaw gaps,
                             std::uint64_t seed,
                             std::uint64_t replication,
                             std::uint64_t entity)
    : curve_(std::move(curve)),
      markov_(std::move(markov)),
      gaps_(gaps),
      rng_(seed, replication, "arrivals", entity),
      states_(seed, replication, "rate states", entity) {
  ended_ = !enter_next_piece();
}

double CurveArrivals::unit_gap(const GapLaw& gaps) {
  switch (gaps.kind) {
    case GapLaw::Kind::kPoisson:
      return core::exponential(rng_, 1.0);
    case GapLaw::Kind::kConstant:
      return 1.0;
    case GapLaw::Kind::kGamma:
      return core::gamma(rng_, gaps.shape, 1.0 / gaps.shape);
    case GapLaw::Kind::kWeibull:
      return core::weibull(rng_, gaps.shape, 1.0 / gamma_of_one_plus(1.0 / gaps.shape));
    case GapLaw::Kind::kLognormal:
      return core::lognormal(rng_, core::log_moments_of(1.0, gaps.shape));
  }
  return 1.0;
}

bool CurveArrivals::enter_next_piece() {
  piece_start_ += piece_.seconds;
  done_ = 0.0;
  if (piece_start_ >= kForever) {
    return false;
  }
  if (markov_) {
    if (piece_.seconds > 0.0) {
      // From a state the others are equally likely.
      const std::size_t states = markov_->rates.size();
      state_ = states > 1 ? (state_ + 1 + states_.below(states - 1)) % states : 0;
    }
    const double rate = markov_->rates[state_];
    piece_ = {.seconds = std::max(core::exponential(states_, markov_->mean_seconds[state_]), 1e-9),
              .from = rate,
              .to = rate};
    return true;
  }
  if (index_ == curve_.pieces.size()) {
    if (!curve_.repeats) {
      return false;
    }
    index_ = 0;
  }
  piece_ = curve_.pieces[index_++];
  return true;
}

std::optional<double> CurveArrivals::next() {
  if (ended_) {
    return std::nullopt;
  }
  double gap = unit_gap(piece_.gaps.value_or(gaps_));
  while (gap > area_of(piece_) - done_) {
    gap -= area_of(piece_) - done_;
    if (!enter_next_piece()) {
      ended_ = true;
      return std::nullopt;
    }
  }
  done_ += gap;
  return piece_start_ + time_at(piece_, done_);
}

}  // namespace ridgeline::workload
