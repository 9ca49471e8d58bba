#pragma once

#include <memory>

#include "cluster/admission/admission.hpp"
#include "cluster/admission/settings.hpp"

namespace ridgeline::admission {

[[nodiscard]] std::unique_ptr<Admission> make_always(const Settings&);
[[nodiscard]] std::unique_ptr<Admission> make_latency_slo(const Settings&);
[[nodiscard]] std::unique_ptr<Admission> make_priority(const Settings&);
[[nodiscard]] std::unique_ptr<Admission> make_probabilistic(const Settings&);
[[nodiscard]] std::unique_ptr<Admission> make_token_bucket(const Settings&);

}  // namespace ridgeline::admission
