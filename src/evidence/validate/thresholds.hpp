#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/validate.hpp"

namespace ridgeline::evidence::validate {

/// "e2e=5", "p95:e2e=15", "mean:ttft.p99=20": which statistic of the absolute errors of which
/// number may be how much, in percent.
struct Threshold {
  std::string text = {};
  std::string over = "median";
  Figure figure = Figure::kE2e;
  Level level = Level::kMean;
  double limit = 0.0;
};

/// The error of a threshold that is not understood.
[[nodiscard]] core::Error bad_threshold(const std::string& text, const std::string& message);
/// What stands behind the equals sign: a percentage of 0 or more.
[[nodiscard]] core::Result<double> read_limit(const std::string& threshold);
/// Thresholds between commas.
[[nodiscard]] core::Result<std::vector<Threshold>> read_thresholds(const std::string& text);

/// That something is over a threshold, or not known.
[[nodiscard]] core::Error over_threshold(const std::string& text,
                                         const std::string& name,
                                         const std::string& found,
                                         double limit);
/// What is over its limit; a number that nothing was scored on is.
[[nodiscard]] core::Errors missed(const std::vector<Threshold>& thresholds,
                                  const Validation& validation);

/// A file of which not a single record is understood is the wrong file.
[[nodiscard]] std::optional<core::Error> nothing_readable(const std::vector<Evidence>& records);
/// A table without the row of all is no good news: the first record's reason stands for it.
[[nodiscard]] std::optional<core::Error> nothing_scored(const Validation& validation);

}  // namespace ridgeline::evidence::validate
