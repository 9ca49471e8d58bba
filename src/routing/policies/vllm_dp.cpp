#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "core/rng.hpp"
#include "core/time.hpp"
#include "routing/dp_balancer.hpp"
#include "routing/parameters.hpp"
#include "routing/policies/policies.hpp"
#include "routing/router.hpp"

namespace ridgeline::routing {
namespace {

/// One client of vLLM's balancer in front of instances that stand for its engines. A new reading of
/// an instance replaces its local counts, as a publication of the coordinator does.
class VllmDp final : public Router {
 public:
  explicit VllmDp(DpBalancer::Generation generation) : generation_(generation) {}

  [[nodiscard]] Needs needs() const override { return {.own = true, .gauges = true}; }

  [[nodiscard]] Pick pick(const RouteInput& input, core::RngStream& /*draws*/) override {
    const std::size_t engines = input.instances.size();
    if (!balancer_) {
      balancer_.emplace(generation_, engines);
    }
    published_.resize(engines);
    for (std::size_t i = 0; i < engines; ++i) {
      const InstanceView& view = input.instances[i];
      balancer_->set_in_flight(i, view.own.requests);
      if (view.gauges_as_of > published_[i]) {
        balancer_->publish(i, view.gauges);
        published_[i] = view.gauges_as_of;
      }
    }
    return {.instance = input.instances[balancer_->pick()].id};
  }

 private:
  DpBalancer::Generation generation_;
  std::optional<DpBalancer> balancer_;
  std::vector<core::SimTime> published_;  ///< By instance.
};

}  // namespace

std::unique_ptr<Router> make_vllm_dp(const RouterSetup& /*setup*/) {
  return std::make_unique<VllmDp>(DpBalancer::Generation::kKvPressure);
}
std::unique_ptr<Router> make_vllm_dp_rotating(const RouterSetup& /*setup*/) {
  return std::make_unique<VllmDp>(DpBalancer::Generation::kRotatingStart);
}
std::unique_ptr<Router> make_vllm_dp_fixed(const RouterSetup& /*setup*/) {
  return std::make_unique<VllmDp>(DpBalancer::Generation::kFixedStart);
}

}  // namespace ridgeline::routing
