#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "core/result.hpp"
#include "plan/answer.hpp"
#include "plan/evaluation_store.hpp"
#include "plan/question.hpp"

namespace ridgeline::plan {

/// How far a plan is.
struct PlanProgress {
  std::string stage;      ///< "looking at points", "2000 requests each", "certifying"
  std::int64_t done = 0;  ///< Done in the stage.
  std::int64_t all = 0;
  std::string best = {};  ///< The best so far, if any.
};

struct PlanOptions {
  std::int64_t jobs = 1;                                   ///< Runs at a time.
  std::function<void(const PlanProgress&)> progress = {};  ///< One thread at a time.
  EvaluationStore* store = nullptr;  ///< Where runs are taken from and kept; may be null.
};

/// Answers a question: looks at every point, races those that no bound refuses, certifies the best
/// with their replicas, and says how sure that is. The same answer for any number of jobs. When
/// `interrupt` is set, what there is so far, marked partial. Fails for questions that make no
/// sense, and where a run does; that nothing meets the targets is an answer.
[[nodiscard]] core::Result<Answer> plan(const Question& question,
                                        const PlanOptions& options,
                                        const std::atomic<bool>& interrupt);

}  // namespace ridgeline::plan
