#pragma once

#include <optional>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "domain/tenants.hpp"

namespace ridgeline::scenario {

/// The tenants that `cluster.tenants` lists: none where it is not stated or `auto`. Of a list that
/// is not one of tenants, the problems.
[[nodiscard]] core::Result<std::vector<domain::Tenant>> read_tenants(
    const std::optional<document::Node>& tenants);
/// Whether requests of tenants that are not listed are welcome.
[[nodiscard]] bool tenants_are_open(const std::optional<document::Node>& tenants);

}  // namespace ridgeline::scenario
