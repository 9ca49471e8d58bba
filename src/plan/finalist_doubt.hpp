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
  FactorTable table;
  DoubtInput input;  ///< A row for each, with one replica.
};

/// What may be wrong with one replica of each, by the fluid estimate, and by how much its capacity
/// may be off, by runs: what it is predicted to carry takes the place of its candidate's capacity.
/// The answer gets the requests simulated. Nothing when interrupted.
[[nodiscard]] core::Result<std::vector<CandidateCauses>> find_causes(
    const FinishInputs& inputs,
    const std::vector<Finalist>& finalists,
    Answer& answer,
    const std::atomic<bool>& interrupt);

/// Joins the causes into one table; the answer gets the factors.
[[nodiscard]] FinalistDoubt join_causes(const FinishInputs& inputs,
                                        const std::vector<Finalist>& finalists,
                                        const std::vector<CandidateCauses>& causes,
                                        Answer& answer);

}  // namespace ridgeline::plan
