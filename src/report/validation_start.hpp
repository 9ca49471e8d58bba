#pragma once

#include <string>

#include "evidence/validate/validate.hpp"
#include "report/palette.hpp"

namespace ridgeline::report {

/// The starts of servers, part by part: measured, predicted, error. Empty where there are none.
[[nodiscard]] std::string starts_text(const evidence::validate::Validation& validation,
                                      const TextStyle& style);
/// The start times as Markdown.
[[nodiscard]] std::string starts_markdown(const evidence::validate::Validation& validation);

}  // namespace ridgeline::report
