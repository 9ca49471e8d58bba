#include "core/rng.hpp"
#include "routing/choice.hpp"
#include "routing/registry.hpp"
#include "routing/router.hpp"

namespace ridgeline::routing {
namespace {

class JsqOracle final : public Router {
 public:
  [[nodiscard]] Needs needs() const override { return {.truth = true}; }
  [[nodiscard]] Pick pick(const RouteInput& input, core::RngStream& draws) override {
    Pick pick =
        draw_least(input, [](const InstanceView& view) { return view.true_requests; }, draws);
    pick.reason = Reason::kLoad;
    return pick;
  }
};

}  // namespace

extern const RouterEntry kJsqOracle{
    .name = "jsq-oracle",
    .summary =
        "fewest requests at this instant, which no gateway knows: the bound for queue-length "
        "policies",
    .source = "join the shortest queue",
    .make = make_policy<JsqOracle>,
};

}  // namespace ridgeline::routing
