#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/ids.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "routing/dp_balancer.hpp"
#include "routing/parameters.hpp"
#include "routing/registry.hpp"
#include "routing/router.hpp"

namespace ridgeline::routing {
namespace {

/// One client of vLLM's balancer in front of instances that stand for its engines. A new reading of
/// an instance replaces its local counts, as a publication of the coordinator does.
class VllmDp final : public Router {
 public:
  VllmDp(DpBalancer::Generation generation, const RouterSetup& setup)
      : generation_(generation), clients_(setup.gateways), client_(setup.gateway) {}

  [[nodiscard]] Needs needs() const override { return {.own = true, .gauges = true}; }

  [[nodiscard]] Pick pick(const RouteInput& input, core::RngStream& /*draws*/) override {
    if (!balancer_) {
      balancer_.emplace(generation_, input.id_room(), clients_, client_);
    }
    balancer_->reserve(input.id_room());
    published_.resize(std::max(published_.size(), input.id_room()));
    for (std::size_t engine = 0; engine < published_.size(); ++engine) {
      balancer_->set_open(engine, false);
    }
    for (const InstanceView& view : input.instances) {
      const std::size_t engine = view.id.value();
      balancer_->set_open(engine, true);
      balancer_->set_in_flight(engine, view.own.requests);
      if (view.gauges_as_of > published_[engine]) {
        balancer_->publish(engine, view.gauges);
        published_[engine] = view.gauges_as_of;
      }
    }
    return {.instance = core::InstanceId(static_cast<core::InstanceId::Rep>(balancer_->pick())),
            .reason = Reason::kLoad};
  }

 private:
  DpBalancer::Generation generation_;
  std::int64_t clients_;
  std::int64_t client_;
  std::optional<DpBalancer> balancer_;
  std::vector<core::SimTime> published_;  ///< By instance.
};

std::unique_ptr<Router> make_vllm_dp(const RouterSetup& setup) {
  return std::make_unique<VllmDp>(DpBalancer::Generation::kKvPressure, setup);
}
std::unique_ptr<Router> make_vllm_dp_rotating(const RouterSetup& setup) {
  return std::make_unique<VllmDp>(DpBalancer::Generation::kRotatingStart, setup);
}
std::unique_ptr<Router> make_vllm_dp_fixed(const RouterSetup& setup) {
  return std::make_unique<VllmDp>(DpBalancer::Generation::kFixedStart, setup);
}

}  // namespace

extern const RouterEntry kVllmDp{
    .name = "vllm-dp",
    .summary = "waiting and running with a penalty on full caches; its own picks count as waiting",
    .source = "vLLM's data-parallel balancer, August 2026",
    .make = make_vllm_dp,
};

extern const RouterEntry kVllmDpRotatingStart{
    .name = "vllm-dp@rotating-start",
    .summary = "4 waiting + running; the scan starts one further after each pick",
    .source = "vLLM from #47420 (July 2026)",
    .make = make_vllm_dp_rotating,
};

extern const RouterEntry kVllmDpFixedStart{
    .name = "vllm-dp@fixed-start",
    .summary = "4 waiting + running, from the first engine on",
    .source = "vLLM to July 2026",
    .make = make_vllm_dp_fixed,
};

}  // namespace ridgeline::routing
