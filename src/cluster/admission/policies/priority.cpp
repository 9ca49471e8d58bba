#include <memory>

#include "cluster/admission/admission.hpp"
#include "cluster/admission/policies/policies.hpp"
#include "cluster/admission/rules.hpp"
#include "cluster/admission/settings.hpp"
#include "core/rng.hpp"

namespace ridgeline::admission {
namespace {

/// Priorities below zero only while the instances are not saturated.
class Priority final : public Admission {
 public:
  [[nodiscard]] bool needs_saturation() const override { return true; }
  [[nodiscard]] Decision decide(const AdmissionInput& input,
                                double saturation,
                                core::RngStream& /*draws*/) override {
    return admitted_below_saturation(input.claim.priority, saturation)
               ? Decision::admit()
               : Decision::reject(Reason::kSaturated);
  }
};

}  // namespace

std::unique_ptr<Admission> make_priority(const Settings& /*settings*/) {
  return std::make_unique<Priority>();
}

}  // namespace ridgeline::admission
