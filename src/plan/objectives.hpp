#pragma once

#include <optional>

#include "core/result.hpp"
#include "document/document.hpp"
#include "plan/question.hpp"

namespace ridgeline::plan {

/// What says what is to be small: flags, and blocks of a question's file.
struct AimWords {
  const QuestionWords& words;
  std::optional<document::Node> objective;
  std::optional<document::Node> cost;
};

/// Reads the objectives and costs of a question whose GPUs are known. Without one that is stated
/// it is dollars, or GPUs where they have no prices. The costs only where nothing is wrong so far.
void read_aims(const AimWords& said, Question& question, core::Errors& errors);

}  // namespace ridgeline::plan
