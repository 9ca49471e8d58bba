#pragma once

#include "core/result.hpp"
#include "document/document.hpp"
#include "ridgeline/error.hpp"

namespace ridgeline::api {

/// Errors as a host gets them.
[[nodiscard]] Errors public_errors(const core::Errors& errors);
/// {errors: [{code, field, message, file, line, column, hint}, ...]}
[[nodiscard]] document::Node errors_tree(const core::Errors& errors);
/// What the command line ends with: of several errors the gravest, internal before bad input before
/// infeasible.
[[nodiscard]] int exit_code(const core::Errors& errors);

}  // namespace ridgeline::api
