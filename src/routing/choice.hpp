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

/// A place of `count` with the highest value, uniform among equals.
struct Drawn {
  std::size_t place = 0;
  std::uint32_t equals = 1;  ///< Places with that value.
};
/// `value` is a function of a place. Requires a place.
template <class Value>
[[nodiscard]] Drawn draw_place(std::size_t count, const Value& value, core::RngStream& draws) {
  RIDGELINE_CHECK(count > 0, "there is an instance to choose");
  auto best = value(std::size_t{0});
  Drawn drawn;
  for (std::size_t i = 1; i < count; ++i) {
    const auto one = value(i);
    if (one > best) {
      best = one;
      drawn = {.place = i};
    } else if (one == best) {
      ++drawn.equals;
    }
  }
  for (std::uint64_t left = drawn.equals == 1 ? 0 : draws.below(drawn.equals); left > 0; --left) {
    do {
      ++drawn.place;
    } while (!(value(drawn.place) == best));
  }
  return drawn;
}

/// Puts in the score of each instance where the decision asks for it; `score` is a function of a
/// place.
template <class Score>
void report_scores(const RouteInput& input, const Score& score) {
  if (input.scores != nullptr) {
    for (std::size_t i = 0; i < input.instances.size(); ++i) {
      input.scores->push_back(static_cast<double>(score(i)));
    }
  }
}

/// Uniform among the instances with the lowest value of `load`, a function of a view.
template <class Load>
[[nodiscard]] Pick draw_least(const RouteInput& input, const Load& load, core::RngStream& draws) {
  const auto score = [&](std::size_t i) { return -load(input.instances[i]); };
  const Drawn drawn = draw_place(input.instances.size(), score, draws);
  report_scores(input, score);
  return {.instance = input.instances[drawn.place].id, .equals = drawn.equals};
}

}  // namespace ridgeline::routing
