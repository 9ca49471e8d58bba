#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "lab/conform/conform.hpp"

namespace ridgeline::conform {

/// Whether a document holds decisions of routers, gateways and autoscalers (a list of cases), or
/// the measured campaigns that stand beside them, of which there is nothing to compare.
[[nodiscard]] bool is_decisions(const document::Node& document);

/// Runs each case through our policy of that system. Fails, with every place, where a case lacks a
/// key, has one that the check does not read, or names a system or policy that is not known.
[[nodiscard]] core::Result<std::vector<ConformResult>> conform_decisions(
    const document::Node& document, const std::string& file);

}  // namespace ridgeline::conform
