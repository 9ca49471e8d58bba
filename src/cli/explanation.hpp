#pragma once

#include <string>

#include "core/document.hpp"
#include "report/palette.hpp"
#include "sim/resolve.hpp"

namespace ridgeline::cli {

/// {schema_version, model, memory, hardware, engine, config, provenance[], warnings}: what a
/// scenario resolves to. Memory in GiB per GPU; weight_bytes and kv_bytes_per_token of the whole
/// network.
[[nodiscard]] core::Node explanation_tree(const sim::Resolved& resolved);
/// The same for a person.
[[nodiscard]] std::string explanation_table(const sim::Resolved& resolved,
                                            const report::TextStyle& style);

}  // namespace ridgeline::cli
