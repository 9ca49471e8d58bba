#pragma once

#include <string>

#include "core/result.hpp"
#include "latency/measured/check.hpp"

namespace ridgeline::latency::measured {

/// check_tables of AIConfigurator's operator tables: they have no MFU to explain, so what is left
/// is how well rows are predicted by their neighbours.
[[nodiscard]] core::Result<TableCheck> check_operator_tables(const std::string& directory);

}  // namespace ridgeline::latency::measured
