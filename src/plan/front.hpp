#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/answer.hpp"
#include "plan/race.hpp"

namespace ridgeline::plan {

/// What each standing came to, put into one answer: that of the first with a pick, which bounds
/// have only where the question accepts them. Behind its ranking the best of each GPU of the
/// others; bounds that are accepted are ranked among what they can be compared with. `found` is by
/// standing; candidates are the answer's.
void rank_standings(std::array<Answer, kStandings.size()>& found, Answer& answer);

/// Takes a candidate that is certified into the ranking, of `top_n` at most; or, where one of the
/// same GPUs is there with the same numbers as far as they are shown, as its twin.
void rank(std::size_t candidate, std::int64_t top_n, Answer& answer);

/// Fills Answer::pareto and PlanCandidate::dominated_by: of those certified, the ones of which no
/// other is better in one objective and worse in none.
void find_pareto(Answer& answer);

/// For each GPU that none of the contenders in `order` has, the contender that takes the fewest of
/// them; alive or not.
[[nodiscard]] std::vector<std::size_t> best_of_other_gpus(
    const std::vector<Contender>& contenders,
    const std::vector<PlanCandidate>& candidates,
    const std::vector<std::size_t>& order);

}  // namespace ridgeline::plan
