#include <memory>

#include "cluster/admission/admission.hpp"
#include "cluster/admission/policies/policies.hpp"
#include "cluster/admission/settings.hpp"
#include "core/rng.hpp"

namespace ridgeline::admission {
namespace {

/// Every request.
class Always final : public Admission {
 public:
  [[nodiscard]] Decision decide(const AdmissionInput& /*input*/,
                                double /*saturation*/,
                                core::RngStream& /*draws*/) override {
    return Decision::admit();
  }
};

}  // namespace

std::unique_ptr<Admission> make_always(const Settings& /*settings*/) {
  return std::make_unique<Always>();
}

}  // namespace ridgeline::admission
