#pragma once

#include "core/result.hpp"
#include "document/document.hpp"
#include "ridgeline/error.hpp"

namespace ridgeline::api {

/// Errors as a host gets them.
[[nodiscard]] Errors public_errors(const core::Errors& errors);
/// {errors: [{code, field, message, file, line, column, hint}, ...]}
[[nodiscard]] document::Node errors_tree(const core::Errors& errors);

}  // namespace ridgeline::api
