#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "core/result.hpp"
#include "plan/answer.hpp"
#include "plan/evaluation_store.hpp"
#include "plan/points.hpp"
#include "plan/question.hpp"
#include "plan/space.hpp"

namespace ridgeline::plan {

struct MaximizeInputs {
  const Question& question;
  const Space& space;
  const Points& points;
  std::uint64_t seed = 0;
  std::int64_t jobs = 1;
  EvaluationStore* store = nullptr;
  /// One thread at a time.
  std::function<void(const std::string& stage, std::int64_t done, std::int64_t all)> progress = {};
};

/// Answers a question with `most_of`: of every deployment as many replicas as the limits allow, and
/// the most load that they carry within the targets. Ranked by output tokens per second at the load
/// that meets them with the confidence asked for; deployments without such a load come last, by
/// their estimates. The figures shown are of windows at that load, all replicas behind the gateway.
/// False when interrupted.
[[nodiscard]] core::Result<bool> maximize(const MaximizeInputs& inputs,
                                          Answer& answer,
                                          const std::atomic<bool>& interrupt);

}  // namespace ridgeline::plan
