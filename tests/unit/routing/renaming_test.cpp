// Renaming instances renames the choice, of every policy that goes by what it knows of them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
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

TEST(Renaming, OfInstancesRenamesTheChoice) {
  constexpr std::size_t kInstances = 6;
  constexpr int kRounds = 200;
  domain::RequestView request;
  request.id = core::RequestId(0);
  request.prompt_tokens = core::Tokens(3000);
  const domain::Prompt prompt = {{7, core::Tokens(3000)}};
  core::RngStream drawn(1, 0, "renaming", 0);
  int compared = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<InstanceView> views = test::views_with(std::vector<std::int64_t>(kInstances));
    for (InstanceView& view : views) {
      view.own = {.requests = static_cast<std::int64_t>(drawn.below(20)),
                  .tokens = static_cast<std::int64_t>(drawn.below(9000)),
                  .prefill_tokens = static_cast<std::int64_t>(drawn.below(9000))};
      view.gauges = {.waiting = static_cast<std::int64_t>(drawn.below(9)),
                     .running = static_cast<std::int64_t>(drawn.below(40)),
                     .kv_usage = drawn.uniform()};
      view.gauges_as_of = core::SimTime::at(core::Duration::seconds(1));
      view.cached_tokens = static_cast<std::int64_t>(drawn.below(2900));
      view.true_requests = view.own.requests;
    }
    std::vector<std::size_t> name(kInstances);
    std::iota(name.begin(), name.end(), std::size_t{0});
    std::ranges::rotate(name, name.begin() + 1 + static_cast<std::ptrdiff_t>(drawn.below(5)));
    std::vector<InstanceView> renamed(kInstances);
    for (std::size_t i = 0; i < kInstances; ++i) {
      renamed[name[i]] = views[i];
      renamed[name[i]].id = core::InstanceId(static_cast<std::uint32_t>(name[i]));
    }
    for (const RouterEntry& entry : routers()) {
      const auto pick_of = [&](const std::vector<InstanceView>& instances) {
        core::RngStream draws(5, 0, "routing", 0);
        return entry.make({})->pick({.request = request,
                                     .prompt = prompt,
                                     .instances = instances,
                                     .now = core::SimTime::at(core::Duration::seconds(2))},
                                    draws);
      };
      const Pick pick = pick_of(views);
      const bool by_name = pick.reason == Reason::kTurn || pick.reason == Reason::kDraw ||
                           pick.reason == Reason::kSession || entry.name == "power-of-two" ||
                           entry.name == "random-two" || entry.name == "production-stack-session" ||
                           entry.name == "production-stack-kvaware";
      const bool takes_first =
          entry.name.starts_with("vllm-dp") || entry.name.starts_with("sglang");  // Among equals.
      if (pick.equals > 1 || by_name || takes_first) {
        continue;
      }
      ++compared;
      EXPECT_EQ(pick_of(renamed).instance.value(), name[pick.instance.value()]) << entry.name;
    }
  }
  EXPECT_GT(compared, 5 * kRounds);
}

}  // namespace
}  // namespace ridgeline::routing
