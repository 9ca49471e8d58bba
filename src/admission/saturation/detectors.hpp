#pragma once

#include <memory>

#include "admission/saturation/detector.hpp"
#include "admission/settings.hpp"

namespace ridgeline::admission {

[[nodiscard]] std::unique_ptr<SaturationDetector> make_utilization_detector(const Settings&);
[[nodiscard]] std::unique_ptr<SaturationDetector> make_concurrency_detector(const Settings&);

}  // namespace ridgeline::admission
