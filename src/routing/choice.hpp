#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "core/check.hpp"
#include "core/math.hpp"
#include "core/rng.hpp"
#include "routing/router.hpp"
#include "routing/scorers/columns.hpp"

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

/// A place of those with that number, uniform among them. Requires one.
[[nodiscard]] inline Drawn draw_equal(std::span<const double> numbers,
                                      double best,
                                      core::RngStream& draws) {
  const auto equals = static_cast<std::uint32_t>(std::ranges::count(numbers, best));
  auto place = std::ranges::find(numbers, best);
  for (std::uint64_t left = equals == 1 ? 0 : draws.below(equals); left > 0; --left) {
    place = std::find(std::next(place), numbers.end(), best);
  }
  return {.place = static_cast<std::size_t>(place - numbers.begin()), .equals = equals};
}

/// Draws among the highest of a row of numbers.
[[nodiscard]] inline Drawn draw_highest(std::span<const double> numbers, core::RngStream& draws) {
  RIDGELINE_CHECK(!numbers.empty(), "there is an instance to choose");
  return draw_equal(numbers, highest_of(numbers), draws);
}
/// Draws among the lowest of a row of numbers.
[[nodiscard]] inline Drawn draw_lowest(std::span<const double> numbers, core::RngStream& draws) {
  RIDGELINE_CHECK(!numbers.empty(), "there is an instance to choose");
  return draw_equal(numbers, lowest_of(numbers), draws);
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

/// The place into whose part of the sum of weights that share of it falls; never `but`, a place or
/// the number of views.
[[nodiscard]] inline std::size_t draw_by_weight(std::span<const InstanceView> views,
                                                std::size_t but,
                                                double share) {
  double left = 0.0;
  for (std::size_t i = 0; i < views.size(); ++i) {
    left += i == but ? 0.0 : views[i].weight;
  }
  left *= share;
  const std::size_t last = but + 1 == views.size() ? views.size() - 2 : views.size() - 1;
  std::size_t place = but == 0 ? 1 : 0;
  while (place < last && left >= views[place].weight) {
    left -= views[place].weight;
    ++place;
    place += place == but ? 1 : 0;
  }
  return place;
}

/// Requests in flight there, with the one to come, to the power of `bias`, by the instance's
/// weight: Envoy's least request, whose active_request_bias is 1 by default, takes the highest
/// inverse of it.
[[nodiscard]] inline double weighed_requests(const InstanceView& view, double bias = 1.0) {
  const auto requests = static_cast<double>(view.own.requests + 1);
  return (bias == 1.0 ? requests : core::pow(requests, bias)) / view.weight;
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
