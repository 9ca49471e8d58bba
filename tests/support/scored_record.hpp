#pragma once

#include <string>

#include "evidence/validate/scores.hpp"

namespace ridgeline::test {

/// A run of `deployment` that was measured with 100 ms a token and predicted with an error of so
/// many percent. The constants were not fitted on its family, unless another one is named.
inline evidence::validate::ScoredRecord scored_record(int deployment,
                                                      double error,
                                                      const std::string& family = "t3-own") {
  using evidence::validate::Figure;
  using evidence::validate::Level;
  evidence::validate::ScoredRecord made;
  made.evidence.family = family;
  made.evidence.measured.at(Figure::kTpot, Level::kMean) = 100.0;
  made.prediction.emplace();
  made.prediction->figures.at(Figure::kTpot, Level::kMean) = 100.0 + error;
  made.prediction->likeness = {
      "h100", "dense", "bf16", "open", "vllm", "network-" + std::to_string(deployment)};
  return made;
}

}  // namespace ridgeline::test
