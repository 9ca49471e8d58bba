#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "accuracy/bands.hpp"
#include "core/result.hpp"

namespace ridgeline::plan {

/// Errors of a mean over measured records that share traits, absolute, in percent of the
/// measurement (data/accuracy/plan_bands.yaml). Constants were fitted on most of these records: a
/// plan is surer than the bands that results are shown with (accuracy/bands.hpp) allow.
struct PlanBand {
  std::array<std::vector<std::string>, accuracy::kNumAxes> values;  ///< Of them; empty: any.
  accuracy::Metric metric = accuracy::Metric::kTpot;
  std::int64_t n = 0;
  double median = 0.0;
  double p90 = 0.0;
};

/// Slices of fewer records say too little.
inline constexpr std::int64_t kFewestRecords = 8;
/// A band is so many times as wide for each axis on which the question lies outside of it. A
/// convention, not a measurement.
inline constexpr double kWidening = 2.0;

/// The band that applies to a question.
struct PlanError {
  const PlanBand* band = nullptr;
  std::size_t outside = 0;  ///< Axes on which the question is unlike the records.

  /// kWidening to the power of the axes outside.
  [[nodiscard]] double widening() const;
};

/// Of the bands of kFewestRecords and more that with the fewest axes outside; of several that hold
/// the question the one of the fewest records, else the one of the most. Nothing where the metric
/// has no band.
[[nodiscard]] std::optional<PlanError> plan_error(const std::vector<PlanBand>& bands,
                                                  const accuracy::Question& question,
                                                  accuracy::Metric metric);

/// Reads such a file: a list of bands. `file` names it in errors.
[[nodiscard]] core::Result<std::vector<PlanBand>> read_plan_bands(std::string_view text,
                                                                  const std::string& file);
/// Those compiled in.
[[nodiscard]] const std::vector<PlanBand>& plan_bands();

}  // namespace ridgeline::plan
