#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evidence/validate/evidence.hpp"

namespace ridgeline::evidence::calibrate {

/// One record for each of these numbers of clients, whose requests are all alike; only the time to
/// the first token is measured: 40 ms.
inline std::vector<validate::Evidence> measured_loops(const std::vector<std::int64_t>& clients) {
  std::vector<validate::Evidence> all;
  for (const std::int64_t number : clients) {
    validate::Evidence evidence;
    evidence.id = std::to_string(number);
    evidence.model = "llama-3.1-8b";
    evidence.gpu = "h100";
    evidence.closed_loop = true;
    evidence.input = {.mean = 128.0, .lowest = 128.0, .highest = 128.0};
    evidence.output = {.mean = 4.0, .lowest = 4.0, .highest = 4.0};
    validate::StageLoad stage;
    stage.kind = validate::StageLoad::Kind::kClosed;
    stage.name = "0";
    stage.requests = 4 * number;
    stage.concurrency = number;
    evidence.stages = {stage};
    evidence.measured.at(validate::Figure::kTtft, validate::Level::kMean) = 40.0;
    all.push_back(evidence);
  }
  return all;
}

}  // namespace ridgeline::evidence::calibrate
