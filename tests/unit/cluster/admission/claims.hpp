#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cluster/admission/admission.hpp"
#include "core/ids.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/tenants.hpp"
#include "routing/router.hpp"

namespace ridgeline::admission::test {

inline core::SimTime ms(std::int64_t count) {
  return core::SimTime::at(core::Duration::milliseconds(count));
}

inline Claim claim(std::uint32_t id,
                   std::uint32_t tenant = 0,
                   std::int64_t priority = 0,
                   std::int64_t prompt = 100) {
  Claim one;
  one.request = core::RequestId(id);
  one.tenant = domain::TenantId(tenant);
  one.priority = priority;
  one.prompt_tokens = core::Tokens(prompt);
  return one;
}

/// What a policy decides of a claim at an instant and a saturation.
inline Decision decide(Admission& policy,
                       const Claim& one,
                       double saturation = 0.0,
                       core::SimTime now = {}) {
  core::RngStream draws(1, 0, "admission", one.request.value());
  return policy.decide({.claim = one, .instances = {}, .now = now}, saturation, draws);
}
inline bool admits(Admission& policy,
                   const Claim& one,
                   double saturation = 0.0,
                   core::SimTime now = {}) {
  return decide(policy, one, saturation, now).verdict == Decision::Verdict::kAdmit;
}

}  // namespace ridgeline::admission::test
