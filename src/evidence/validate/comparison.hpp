#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "document/document.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/validate.hpp"

/// Several step-time models on the same measured runs.
namespace ridgeline::evidence::validate {

struct ModelScores {
  std::string model;
  Validation validation;
};

/// Bounds of a 95 % interval, in points.
struct PointInterval {
  double low = 0.0;
  double high = 0.0;
};

/// A server's runs: their gains added, and their number.
struct ServerGain {
  double sum = 0.0;
  std::int64_t runs = 0;
};
/// The mean gain's interval by bootstrap: servers drawn with replacement, 1,000 times, from one
/// seed. Nothing of one server.
[[nodiscard]] std::optional<PointInterval> bootstrap(const std::vector<ServerGain>& servers);

/// One model in a row of the comparison.
struct ModelErrors {
  double mean_abs = 0.0;     ///< In percent of the measurement.
  double mean_signed = 0.0;  ///< In percent too.
  std::int64_t nearest = 0;  ///< Records of which it is nearer than all others.
  /// Mean absolute error of the first model less its own, in points: positive where it is nearer.
  double gain = 0.0;
  std::optional<PointInterval> interval = {};
};

/// A figure's mean over records that every model predicts.
struct ComparedRow {
  std::string axis;
  std::string value;
  Figure figure = Figure::kE2e;
  std::int64_t records = 0;
  std::int64_t servers = 0;  ///< Drawn in the interval; of one server its records are.
  std::vector<ModelErrors> models;
  /// The place of the model with the least mean error whose gain over every other has an interval
  /// above 0; nothing where none has.
  std::optional<std::size_t> clear_winner = {};
};

/// Rows of all records, then by each axis, of each figure that has a mean: groups as the first
/// model has them. Each entry of `axes` is one axis, or several crossed.
[[nodiscard]] std::vector<ComparedRow> compare_models(
    const std::vector<ModelScores>& models, const std::vector<std::vector<std::string>>& axes);

[[nodiscard]] document::Node comparison_tree(const std::vector<ModelScores>& models,
                                             const std::vector<ComparedRow>& rows);

}  // namespace ridgeline::evidence::validate
