#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/rng.hpp"
#include "routing/parameters.hpp"
#include "routing/policies/policies.hpp"
#include "routing/router.hpp"

namespace ridgeline::routing {
namespace {

/// The place into whose part of the sum of weights that share of it falls.
std::size_t weighed(std::span<const InstanceView> views, double share) {
  double left = 0.0;
  for (const InstanceView& view : views) {
    left += view.weight;
  }
  left *= share;
  std::size_t place = 0;
  for (; place + 1 < views.size() && left >= views[place].weight; ++place) {
    left -= views[place].weight;
  }
  return place;
}

class Random final : public Router {
 public:
  [[nodiscard]] Needs needs() const override { return {}; }
  [[nodiscard]] Pick pick(const RouteInput& input, core::RngStream& draws) override {
    const std::size_t count = input.instances.size();
    const std::size_t place = input.is_weighted ? weighed(input.instances, draws.uniform())
                                                : static_cast<std::size_t>(draws.below(count));
    return {.instance = input.instances[place].id,
            .equals = static_cast<std::uint32_t>(count),
            .reason = Reason::kDraw};
  }
};

}  // namespace

std::unique_ptr<Router> make_random(const RouterSetup& /*setup*/) {
  return std::make_unique<Random>();
}

}  // namespace ridgeline::routing
