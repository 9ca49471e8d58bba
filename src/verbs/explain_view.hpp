#pragma once

#include <string>

#include "document/document.hpp"
#include "report/palette.hpp"
#include "scenario/resolve.hpp"

namespace ridgeline::verbs {

/// {schema_version, deployment, model, memory, hardware, engine, pools[], config, scenario_digest,
/// provenance[], warnings}: what a scenario resolves to. Memory in GiB per GPU; weight_bytes and
/// kv_bytes_per_token of the whole network.
[[nodiscard]] document::Node explanation_tree(const scenario::Resolved& resolved);
/// The explanation for a person.
[[nodiscard]] std::string explanation_table(const scenario::Resolved& resolved,
                                            const report::TextStyle& style);

}  // namespace ridgeline::verbs
