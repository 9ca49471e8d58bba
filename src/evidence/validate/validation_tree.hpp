#pragma once

#include "document/document.hpp"
#include "evidence/validate/validate.hpp"

namespace ridgeline::evidence::validate {

/// Everything that a validation found, in full precision: `counts`, `scores`, `peers`, `outliers`,
/// `records` and what was asked for beside them.
[[nodiscard]] document::Node validation_tree(const Validation& validation);

}  // namespace ridgeline::evidence::validate
