#include <cstdint>
#include <memory>

#include "core/rng.hpp"
#include "routing/parameters.hpp"
#include "routing/policies/policies.hpp"
#include "routing/router.hpp"

namespace ridgeline::routing {
namespace {

class Random final : public Router {
 public:
  [[nodiscard]] Needs needs() const override { return {}; }
  [[nodiscard]] Pick pick(const RouteInput& input, core::RngStream& draws) override {
    const std::size_t count = input.instances.size();
    return {.instance = input.instances[draws.below(count)].id,
            .equals = static_cast<std::uint32_t>(count),
            .reason = Reason::kDraw};
  }
};

}  // namespace

std::unique_ptr<Router> make_random(const RouterSetup& /*setup*/) {
  return std::make_unique<Random>();
}

}  // namespace ridgeline::routing
