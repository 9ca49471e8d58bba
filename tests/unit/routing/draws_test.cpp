// Every policy draws each of its equals as often: over 10,000 seeds, within four and a half
// standard deviations.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/rng.hpp"
#include "core/units.hpp"
#include "domain/prompt.hpp"
#include "domain/request.hpp"
#include "routing/registry.hpp"
#include "routing/router.hpp"
#include "unit/routing/views.hpp"

namespace ridgeline::routing {
namespace {

TEST(Draws, AreUniformAmongEquals) {
  constexpr std::uint64_t kSeeds = 10'000;
  constexpr double kDeviations = 4.5;
  const auto views = test::views_with({1, 1, 1, 1, 1});
  domain::RequestView request;
  request.id = core::RequestId(0);
  request.prompt_tokens = core::Tokens(300);
  const domain::Prompt prompt = {{7, core::Tokens(300)}};
  const RouteInput input{.request = request, .prompt = prompt, .instances = views, .now = {}};
  int drawing = 0;
  for (const RouterEntry& entry : routers()) {
    const auto router = entry.make({});
    if (core::RngStream first(0, 0, "routing", 0); router->pick(input, first).equals < 2) {
      continue;
    }
    ++drawing;
    std::vector<double> counts(views.size());
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      core::RngStream draws(seed, 0, "routing", 0);
      counts[router->pick(input, draws).instance.value()] += 1.0;
    }
    const double share = 1.0 / static_cast<double>(views.size());
    const double expected = static_cast<double>(kSeeds) * share;
    const double deviation = std::sqrt(expected * (1.0 - share));
    for (const double count : counts) {
      EXPECT_NEAR(count, expected, kDeviations * deviation) << entry.name;
    }
  }
  EXPECT_GE(drawing, 10);
}

}  // namespace
}  // namespace ridgeline::routing
