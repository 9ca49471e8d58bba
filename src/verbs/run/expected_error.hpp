#pragma once

#include <string>
#include <vector>

#include "document/document.hpp"

namespace ridgeline::verbs {

/// What the tree of expected errors says: "TPOT -33...+52 % (90 %), -12...+20 % (half), as 60
/// unseen deployments (vllm)" and so on, and "never measured; the nearest that was has another
/// gpu"; nothing without a band.
[[nodiscard]] std::vector<std::string> expected_error_words(const document::Node& errors);

}  // namespace ridgeline::verbs
