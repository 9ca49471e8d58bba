// docs/guide/adding.md shows this policy whole: the one to read first.

#include <cstddef>

#include "core/rng.hpp"
#include "routing/choice.hpp"
#include "routing/registry.hpp"
#include "routing/router.hpp"

namespace ridgeline::routing {
namespace {

/// Two different instances are drawn; the first wins where both have as many requests.
class PowerOfTwo final : public Router {
 public:
  [[nodiscard]] Needs needs() const override { return {.own = true}; }
  [[nodiscard]] Pick pick(const RouteInput& input, core::RngStream& draws) override {
    const std::size_t count = input.instances.size();
    if (count == 1) {
      return {.instance = input.instances.front().id};
    }
    const std::size_t first = draws.below(count);
    std::size_t second = draws.below(count - 1);
    second += second >= first ? 1 : 0;
    const InstanceView& one = input.instances[first];
    const InstanceView& other = input.instances[second];
    const double load = weighed_requests(one);
    const double other_load = weighed_requests(other);
    return {.instance = load <= other_load ? one.id : other.id,
            .equals = load == other_load ? 2U : 1U,
            .reason = Reason::kLoad};
  }
};

}  // namespace

extern const RouterEntry kPowerOfTwo{
    .name = "power-of-two",
    .summary = "of two drawn, the one with fewer requests in flight by the gateway's own count",
    .source = "Envoy choice_count 2, SGLang gateway",
    .make = make_policy<PowerOfTwo>,
    .weights = true,
};

}  // namespace ridgeline::routing
