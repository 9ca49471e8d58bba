#include <memory>

#include "core/rng.hpp"
#include "routing/choice.hpp"
#include "routing/parameters.hpp"
#include "routing/policies/policies.hpp"
#include "routing/router.hpp"

namespace ridgeline::routing {
namespace {

class LeastRequest final : public Router {
 public:
  [[nodiscard]] Needs needs() const override { return {.own = true}; }
  [[nodiscard]] Pick pick(const RouteInput& input, core::RngStream& draws) override {
    Pick pick =
        input.is_weighted
            ? draw_least(input, weighed_requests, draws)
            : draw_least(input, [](const InstanceView& view) { return view.own.requests; }, draws);
    pick.reason = Reason::kLoad;
    return pick;
  }
};

}  // namespace

std::unique_ptr<Router> make_least_request(const RouterSetup& /*setup*/) {
  return std::make_unique<LeastRequest>();
}

}  // namespace ridgeline::routing
