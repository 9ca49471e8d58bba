#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/distributions.hpp"
#include "core/rng.hpp"
#include "core/units.hpp"

namespace ridgeline::workload {

/// A law of a positive quantity: tokens, turns, seconds. What falls outside lowest to highest is
/// moved to the nearer end.
struct Law {
  enum class Kind : std::uint8_t {
    kConstant,         ///< a
    kUniform,          ///< lowest to highest
    kNormal,           ///< mean a, standard deviation b
    kSkewNormal,       ///< location a, scale b, shape c (A. Azzalini, 1985)
    kLognormal,        ///< mean a, standard deviation b, of the quantity itself
    kLogOfNormal,      ///< exp of a normal variable of mean a and standard deviation b
    kExponential,      ///< mean a
    kGamma,            ///< shape a, scale b
    kWeibull,          ///< shape a, scale b
    kParetoLognormal,  ///< with probability c a Pareto variable (shape d, least e), else exp of a
                       ///< normal one (a, b)
    kZipf,             ///< ranks 1 to highest, in proportion to k^-a
    kEmpirical,        ///< values with weights
  };
  Kind kind = Kind::kConstant;
  double a = 0.0;
  double b = 0.0;
  double c = 0.0;
  double d = 0.0;
  double e = 0.0;
  double lowest = 0.0;
  double highest = 1e8;
  std::vector<double> values = {};
  std::vector<double> weights = {};

  [[nodiscard]] static Law constant(double value) { return {.kind = Kind::kConstant, .a = value}; }
  [[nodiscard]] static Law uniform(double low, double high) {
    return {.kind = Kind::kUniform, .lowest = low, .highest = high};
  }
  [[nodiscard]] static Law normal(double mean, double std, double low, double high) {
    return {.kind = Kind::kNormal, .a = mean, .b = std, .lowest = low, .highest = high};
  }
  [[nodiscard]] static Law lognormal(double mean, double std, double low, double high) {
    return {.kind = Kind::kLognormal, .a = mean, .b = std, .lowest = low, .highest = high};
  }
  [[nodiscard]] static Law exponential(double mean) {
    return {.kind = Kind::kExponential, .a = mean};
  }
};

/// Draws from a law.
class LawSampler {
 public:
  explicit LawSampler(const Law& law);

  [[nodiscard]] double draw(core::RngStream& rng) const;
  /// Rounded to whole tokens, at least 1.
  [[nodiscard]] core::Tokens draw_tokens(core::RngStream& rng) const;
  /// The value at the part u of the law, 0 < u < 1: so that two quantities can rise and fall
  /// together. For kParetoLognormal and kZipf, kGamma: a draw from a stream named by u.
  [[nodiscard]] double at(double u) const;

 private:
  [[nodiscard]] double limited(double value) const;

  Law law_;
  core::LogMoments log_moments_;
  std::optional<core::AliasTable> table_;
  std::optional<core::Zipf> zipf_;
  std::vector<double> cumulative_;
};

}  // namespace ridgeline::workload
