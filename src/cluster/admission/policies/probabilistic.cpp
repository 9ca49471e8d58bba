#include <memory>

#include "cluster/admission/admission.hpp"
#include "cluster/admission/policies/policies.hpp"
#include "cluster/admission/rules.hpp"
#include "cluster/admission/settings.hpp"
#include "core/rng.hpp"

namespace ridgeline::admission {
namespace {

/// Priorities below zero the less often, the more saturated the instances are.
class Probabilistic final : public Admission {
 public:
  [[nodiscard]] bool needs_saturation() const override { return true; }
  [[nodiscard]] Decision decide(const AdmissionInput& input,
                                double saturation,
                                core::RngStream& draws) override {
    return ProbabilisticAdmitter().admits(input.claim.priority, saturation, draws.uniform())
               ? Decision::admit()
               : Decision::reject(Reason::kShed);
  }
};

}  // namespace

std::unique_ptr<Admission> make_probabilistic(const Settings& /*settings*/) {
  return std::make_unique<Probabilistic>();
}

}  // namespace ridgeline::admission
