#include <cstddef>
#include <memory>

#include "core/rng.hpp"
#include "routing/parameters.hpp"
#include "routing/policies/policies.hpp"
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
    return {.instance = one.own.requests <= other.own.requests ? one.id : other.id,
            .equals = one.own.requests == other.own.requests ? 2U : 1U,
            .reason = Reason::kLoad};
  }
};

}  // namespace

std::unique_ptr<Router> make_power_of_two(const RouterSetup& /*setup*/) {
  return std::make_unique<PowerOfTwo>();
}

}  // namespace ridgeline::routing
