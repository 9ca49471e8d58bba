#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "evidence/validate/comparison.hpp"
#include "evidence/validate/evidence.hpp"
#include "lab/studies/measured_arms.hpp"
#include "lab/studies/study.hpp"

/// What one arm gains over another on measured runs.
namespace ridgeline::studies {

using Runs = std::vector<const ScoredRun*>;

using Interval = evidence::validate::PointInterval;

/// Mean absolute error of the baseline less that of the treatment, in percentage points: positive
/// where the treatment is nearer to the measurements.
struct Gain {
  std::int64_t runs = 0;
  double baseline = 0.0;   ///< Its mean absolute error, in percent.
  double treatment = 0.0;  ///< The treatment's mean absolute error, in percent.
  double points = 0.0;
  /// By bootstrap: servers drawn with replacement, 1,000 times, from one seed. Nothing of one
  /// server.
  std::optional<Interval> interval;
};

/// Two arms by their places.
struct Pair {
  std::size_t baseline = 0;
  std::size_t treatment = 1;
};

/// Over the runs that have the figure; nothing where none has.
[[nodiscard]] std::optional<Gain> gain_of(const Runs& runs,
                                          const Pair& arms,
                                          evidence::validate::Figure figure);

/// The runs of each group, in the order of their first.
struct Group {
  std::string name;
  Runs runs;
};
[[nodiscard]] std::vector<Group> groups_of(const std::vector<ScoredRun>& runs);

/// A row for each group and arm: runs, mean absolute and mean signed error of a figure.
[[nodiscard]] StudyTable errors_table(const char* name,
                                      const std::vector<Group>& groups,
                                      const std::vector<Arm>& arms,
                                      evidence::validate::Figure figure);

/// A row for each group, and for each of its numbers of clients, tensor parallel sizes, workloads
/// and networks that has runs.
[[nodiscard]] StudyTable gains_table(const char* name,
                                     const std::vector<Group>& groups,
                                     const Pair& arms,
                                     evidence::validate::Figure figure);

/// The mean of the signed errors over runs that have the figure; 0 of none.
[[nodiscard]] double mean_signed(const Runs& runs,
                                 std::size_t arm,
                                 evidence::validate::Figure figure);

}  // namespace ridgeline::studies
