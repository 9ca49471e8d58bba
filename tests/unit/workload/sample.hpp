#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace ridgeline::workload {

/// Tests with fixed seeds compare a sample with its law at five standard errors: a wrong law is far
/// outside, and a right one is outside for one seed in 1.7 million.
inline constexpr double kStandardErrors = 5.0;

struct Moments {
  double mean = 0.0;
  double variance = 0.0;
};

inline Moments moments_of(const std::vector<double>& sample) {
  Moments moments;
  const auto n = static_cast<double>(sample.size());
  for (const double x : sample) {
    moments.mean += x / n;
  }
  for (const double x : sample) {
    moments.variance += (x - moments.mean) * (x - moments.mean) / (n - 1.0);
  }
  return moments;
}

/// The standard error of a frequency around its probability.
inline double frequency_error(double probability, double draws) {
  return std::sqrt(probability * (1.0 - probability) / draws);
}

}  // namespace ridgeline::workload
