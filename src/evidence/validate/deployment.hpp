#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "evidence/validate/evidence.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::evidence::validate {

/// The server of a record, resolved. `overrides` are what-ifs that win over the record
/// ("latency.name"). What the record does not say and was taken for granted is added to its
/// `assumed`. Fails with the reason why it cannot be predicted.
[[nodiscard]] core::Result<scenario::Resolved> deploy(
    Evidence& evidence, const std::vector<scenario::Override>& overrides);

/// What a client's result says of its network where `overrides` name another; nothing where they
/// agree, or where either name is not known.
[[nodiscard]] std::optional<std::string> doubt_of_network(
    const Evidence& evidence, const std::vector<scenario::Override>& overrides);

}  // namespace ridgeline::evidence::validate
