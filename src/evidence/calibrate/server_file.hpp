#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "evidence/calibrate/calibrate.hpp"
#include "evidence/validate/evidence.hpp"
#include "scenario/scenario.hpp"

/// What `calibrate -o` writes: the server of the records as a scenario, with its fitted times.
namespace ridgeline::evidence::calibrate {

/// The server of some records, by their place in the evidence: what they or `overrides` state of
/// network, GPU, engine and step-time model.
[[nodiscard]] Server common_server(const std::vector<validate::Evidence>& evidence,
                                   const std::vector<std::size_t>& records,
                                   const std::vector<scenario::Override>& overrides);

/// The server with its fitted times as a scenario: in YAML with intervals, errors and bands as
/// comments, or in JSON.
[[nodiscard]] std::string server_yaml(const Calibration& calibration);
[[nodiscard]] std::string server_json(const Calibration& calibration);

}  // namespace ridgeline::evidence::calibrate
