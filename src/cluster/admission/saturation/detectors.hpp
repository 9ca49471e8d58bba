#pragma once

#include <memory>

#include "cluster/admission/saturation/detector.hpp"
#include "cluster/admission/settings.hpp"

namespace ridgeline::admission {

[[nodiscard]] std::unique_ptr<SaturationDetector> make_utilization_detector(const Settings&);
[[nodiscard]] std::unique_ptr<SaturationDetector> make_concurrency_detector(const Settings&);

}  // namespace ridgeline::admission
