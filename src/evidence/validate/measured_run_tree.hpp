#pragma once

#include "document/document.hpp"
#include "evidence/validate/evidence.hpp"

namespace ridgeline::evidence::validate {

/// A measured record in the shape of a result: `summary` with the times and the rates that it has,
/// under the names of a run's.
[[nodiscard]] document::Node measured_run_tree(const evidence::validate::Evidence& evidence);

}  // namespace ridgeline::evidence::validate
