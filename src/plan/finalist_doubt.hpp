#pragma once

#include <atomic>
#include <vector>

#include "core/result.hpp"
#include "plan/answer.hpp"
#include "plan/doubt.hpp"
#include "plan/factors.hpp"
#include "plan/finish.hpp"

namespace ridgeline::plan {

/// How sure the capacities of finalists are.
struct FinalistDoubt {
  std::vector<CandidateCauses> causes;
  FactorTable table;
  DoubtInput input;  ///< A row for each, with one replica.
};

/// What may be wrong with one replica of each. What it simulates is added to the answer's requests.
[[nodiscard]] core::Result<std::vector<CandidateCauses>> find_causes(
    const FinishInputs& inputs,
    std::vector<Finalist>& finalists,
    Answer& answer,
    const std::atomic<bool>& interrupt);

/// Of these causes; the answer gets the factors.
[[nodiscard]] FinalistDoubt join_causes(const FinishInputs& inputs,
                                        const std::vector<Finalist>& finalists,
                                        std::vector<CandidateCauses> causes,
                                        Answer& answer);

}  // namespace ridgeline::plan
