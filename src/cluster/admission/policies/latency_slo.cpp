#include <cstddef>
#include <memory>

#include "cluster/admission/admission.hpp"
#include "cluster/admission/policies/policies.hpp"
#include "cluster/admission/settings.hpp"
#include "core/rng.hpp"
#include "routing/router.hpp"

namespace ridgeline::admission {
namespace {

/// llm-d-router ebab687: below this share of its KV blocks an instance is cold.
constexpr double kCold = 0.02;

/// Priorities below zero with targets only where some instance is predicted to meet them, has
/// nothing to do, or is cold.
class LatencySlo final : public Admission {
 public:
  [[nodiscard]] bool needs_headroom() const override { return true; }
  [[nodiscard]] Decision decide(const AdmissionInput& input,
                                double /*saturation*/,
                                core::RngStream& /*draws*/) override {
    bool admits = input.claim.priority >= 0 || input.headroom.empty();
    for (std::size_t i = 0; i < input.headroom.size(); ++i) {
      const routing::InstanceView& view = input.instances[i];
      admits = admits || input.headroom[i].is_met() || view.own.requests == 0 ||
               view.gauges.kv_usage < kCold;
    }
    return admits ? Decision::admit() : Decision::reject(Reason::kPredictedLate);
  }
};

}  // namespace

std::unique_ptr<Admission> make_latency_slo(const Settings& /*settings*/) {
  return std::make_unique<LatencySlo>();
}

}  // namespace ridgeline::admission
