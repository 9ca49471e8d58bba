#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/check.hpp"
#include "core/rng.hpp"
#include "routing/router.hpp"

namespace ridgeline::routing {

/// The places in `scores` with the highest one, in order. Requires a score.
template <class Score>
[[nodiscard]] std::vector<std::size_t> highest(const std::vector<Score>& scores) {
  std::vector<std::size_t> best;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (!best.empty() && scores[i] > scores[best.front()]) {
      best.clear();
    }
    if (best.empty() || scores[i] == scores[best.front()]) {
      best.push_back(i);
    }
  }
  RIDGELINE_CHECK(!best.empty(), "there is an instance to choose");
  return best;
}

/// Uniform among the instances with the highest score: one score per instance of the input.
template <class Score>
[[nodiscard]] Pick draw_highest(const RouteInput& input,
                                const std::vector<Score>& scores,
                                core::RngStream& draws) {
  const auto best = highest(scores);
  const std::size_t drawn = best.size() == 1 ? 0 : draws.below(best.size());
  return {.instance = input.instances[best[drawn]].id,
          .equals = static_cast<std::uint32_t>(best.size())};
}

/// The same with the lowest value of `load`, a function of a view.
template <class Load>
[[nodiscard]] Pick draw_least(const RouteInput& input, const Load& load, core::RngStream& draws) {
  std::vector<decltype(load(input.instances.front()))> scores;
  scores.reserve(input.instances.size());
  for (const InstanceView& view : input.instances) {
    scores.push_back(-load(view));
  }
  return draw_highest(input, scores, draws);
}

}  // namespace ridgeline::routing
