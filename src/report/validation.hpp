#pragma once

#include <string>

#include "report/palette.hpp"
#include "sim/validate/validate.hpp"

/// A validation rendered.
namespace ridgeline::report {

/// For a terminal: errors by group, peers on the same records, what was not scored and why, and the
/// largest outliers by name.
[[nodiscard]] std::string validation_table(const sim::validate::Validation& validation,
                                           const TextStyle& style);
/// Everything, in full precision: `records`, `scores`, `peers`, `counts`.
[[nodiscard]] std::string validation_json(const sim::validate::Validation& validation);
/// One line per record, figure and level: measured, predicted, error.
[[nodiscard]] std::string validation_csv(const sim::validate::Validation& validation);
/// The scorecard for a page: errors by group, other simulators on the same records, and what each
/// element of the model is worth where that was asked for.
[[nodiscard]] std::string validation_markdown(const sim::validate::Validation& validation);
/// A page of its own: predicted against measured per figure, with the outliers named.
[[nodiscard]] std::string validation_html(const sim::validate::Validation& validation);

}  // namespace ridgeline::report
