#include "cluster/routing_audit.hpp"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/rng.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "routing/router.hpp"
#include "support/routers.hpp"

namespace ridgeline::cluster {
namespace {

TEST(RoutingAudit, CountsWhatFreshViewsWouldHaveChosen) {
  RoutingAudit audit(
      routing::maker_of("least-request")({}),
      [](const domain::Request& /*request*/, core::InstanceId id, core::SimTime /*now*/) {
        return TrueState{.gauges = {}, .cached = core::Tokens(id.value() == 1 ? 64 : 0)};
      });
  domain::Request request;
  request.prompt_tokens = core::Tokens(100);
  std::vector<routing::InstanceView> stale(2);
  stale[0].id = core::InstanceId(0);
  stale[1].id = core::InstanceId(1);
  stale[1].own.requests = 1;  // It ended, and the gateway does not know.
  const auto decide = [&](std::uint32_t id, std::uint32_t pick) {
    request.id = core::RequestId(id);
    const domain::RequestView known = domain::view(request);
    const routing::RouteInput input{
        .request = known, .prompt = request.prompt, .instances = stale, .now = {}};
    audit.on_decision(
        request, input, {.instance = core::InstanceId(pick)}, core::RngStream(0, 0, "routing", id));
  };
  decide(0, 0);
  const std::int64_t first = audit.regretted();  // Both are idle: a draw.
  decide(1, 0);                                  // One request is at 0, none at 1.
  EXPECT_EQ(audit.regretted(), first + 1);
  EXPECT_EQ(audit.decisions(), 2);
  EXPECT_EQ(audit.hit_lost(), core::Tokens(128));
  audit.subtract(core::InstanceId(0), {.requests = 2, .tokens = 200, .prefill_tokens = 200});
  decide(2, 1);
  EXPECT_EQ(audit.hit_lost(), core::Tokens(128));
}

}  // namespace
}  // namespace ridgeline::cluster
