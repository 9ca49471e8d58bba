#pragma once

#include <string>
#include <vector>

#include "document/document.hpp"
#include "latency/accuracy/bands.hpp"

namespace ridgeline::accuracy {

/// By metric: the band's slice, deployments and records, p50 and p90 (signed, in percent of the
/// measurement), whether its deployments taught the model, and in what the run is unlike these.
[[nodiscard]] document::Node expected_errors_tree(const std::vector<ExpectedError>& errors);

/// In what a prediction is unlike all that was measured: "gpu", "engine", ...
[[nodiscard]] std::vector<std::string> unlike_names(const ExpectedError& error);

}  // namespace ridgeline::accuracy
