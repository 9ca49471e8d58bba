#pragma once

#include <string>

#include "evidence/validate/validate.hpp"
#include "report/palette.hpp"

/// A validation rendered.
namespace ridgeline::report {

/// For a terminal: errors by group, peers on the same records, what was not scored and why, and the
/// largest outliers by name.
[[nodiscard]] std::string validation_table(const evidence::validate::Validation& validation,
                                           const TextStyle& style);
/// Everything, in full precision: `records`, `scores`, `peers`, `counts`.
[[nodiscard]] std::string validation_json(const evidence::validate::Validation& validation);
/// One line per record, figure and level: measured, predicted, error.
[[nodiscard]] std::string validation_csv(const evidence::validate::Validation& validation);
/// The scorecard for a page: errors by group, other simulators on the same records, and what each
/// element of the model is worth where that was asked for.
[[nodiscard]] std::string validation_markdown(const evidence::validate::Validation& validation);
/// A page of its own: predicted against measured per figure, with the outliers named.
[[nodiscard]] std::string validation_html(const evidence::validate::Validation& validation);

}  // namespace ridgeline::report
