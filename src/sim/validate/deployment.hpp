#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "sim/resolve.hpp"
#include "sim/scenario.hpp"
#include "sim/validate/evidence.hpp"

namespace ridgeline::sim::validate {

/// The server of a record, resolved. `overrides` are what-ifs that win over the record
/// ("latency.name"). What the record does not say and was taken for granted is added to its
/// `assumed`. Fails with the reason why it cannot be predicted.
[[nodiscard]] core::Result<std::unique_ptr<Resolved>> deploy(
    Evidence& evidence, const std::vector<Override>& overrides);

}  // namespace ridgeline::sim::validate
