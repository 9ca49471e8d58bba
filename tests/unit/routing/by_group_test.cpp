#include "routing/by_group.hpp"

#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/rng.hpp"
#include "domain/prompt.hpp"
#include "domain/request.hpp"
#include "routing/router.hpp"
#include "support/routers.hpp"
#include "unit/routing/views.hpp"

namespace ridgeline::routing {
namespace {

std::uint32_t routed(Router& router,
                     std::uint32_t group,
                     const std::vector<InstanceView>& candidates,
                     std::uint32_t id = 0) {
  domain::RequestView request;
  request.id = core::RequestId(id);
  const domain::Prompt prompt;
  const RouteInput input{
      .request = request, .prompt = prompt, .instances = candidates, .now = {}, .group = group};
  core::RngStream draws(0, 0, "routing", id);
  const Pick pick = router.pick(input, draws);
  router.on_dispatch(input, pick.instance);
  return pick.instance.value();
}

/// One turn for all would send every request of a group to the same instance here.
TEST(ByGroup, KeepsATurnForEachGroup) {
  const auto router = make_by_group(2, [] { return maker_of("round-robin")({}); });
  const auto all = test::views_with({0, 0, 0, 0});
  const std::vector<InstanceView> first(all.begin(), all.begin() + 2);
  const std::vector<InstanceView> second(all.begin() + 2, all.end());
  std::vector<std::uint32_t> chosen;
  for (int round = 0; round < 3; ++round) {
    chosen.push_back(routed(*router, 0, first));
    chosen.push_back(routed(*router, 1, second));
  }
  EXPECT_EQ(chosen, (std::vector<std::uint32_t>{0, 2, 1, 3, 0, 2}));
}

/// Notes the ends that reach it.
class Listening final : public Router {
 public:
  explicit Listening(std::vector<std::uint32_t>& ended) : ended_(ended) {}
  [[nodiscard]] Needs needs() const override { return {.own = true}; }
  [[nodiscard]] Pick pick(const RouteInput& input, core::RngStream& /*draws*/) override {
    return {.instance = input.instances.front().id};
  }
  void on_end(core::RequestId request, core::InstanceId /*instance*/) override {
    ended_.push_back(request.value());
  }

 private:
  std::vector<std::uint32_t>& ended_;
};

TEST(ByGroup, TellsTheGroupsPolicyOfEveryAttemptsEnd) {
  std::vector<std::vector<std::uint32_t>> ended(2);
  std::size_t made = 0;
  const auto router = make_by_group(2, [&] { return std::make_unique<Listening>(ended[made++]); });
  const auto views = test::views_with({0});
  routed(*router, 1, views, 7);
  routed(*router, 1, views, 7);
  routed(*router, 0, views, 8);
  router->on_end(core::RequestId(7), core::InstanceId(0));
  router->on_end(core::RequestId(8), core::InstanceId(0));
  router->on_end(core::RequestId(7), core::InstanceId(0));
  EXPECT_EQ(ended[0], (std::vector<std::uint32_t>{8}));
  EXPECT_EQ(ended[1], (std::vector<std::uint32_t>{7, 7}));
}

}  // namespace
}  // namespace ridgeline::routing
