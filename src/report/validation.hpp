#pragma once

#include <string>

#include "evidence/validate/scores.hpp"
#include "evidence/validate/validate.hpp"
#include "report/palette.hpp"

/// A validation rendered.
namespace ridgeline::report {

/// "207 records: 194 scored, 13 saturated, ...": what became of them.
[[nodiscard]] std::string standings_text(const evidence::validate::Validation& validation);
/// Whether a row is of the axes that a person looks at first, whose rows a page has: all, family,
/// model, gpu and, where the front end decides some record, bound. The others are in the JSON.
[[nodiscard]] bool is_headline(const evidence::validate::ScoreRow& row,
                               const evidence::validate::Validation& validation);
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
