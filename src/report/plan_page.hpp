#pragma once

#include <string>

#include "document/document.hpp"

namespace ridgeline::report {

/// The page of a plan, from its JSON: what was asked, the answer, the deployments in their order,
/// pictures of what they cost and give, how sure the answer is, what would change it, and what was
/// left out, why. Of a mix: its pools, and what each serves.
[[nodiscard]] std::string plan_page(const document::Node& plan);

}  // namespace ridgeline::report
