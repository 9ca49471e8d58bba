#pragma once

#include <memory>

#include "cluster/scaling/registry.hpp"
#include "cluster/scaling/scaler.hpp"

/// One factory per policy, each in a file of its name.
namespace ridgeline::scaling {

std::unique_ptr<Scaler> make_hpa(const ScalerSettings& settings);
std::unique_ptr<Scaler> make_keda(const ScalerSettings& settings);
std::unique_ptr<Scaler> make_wva(const ScalerSettings& settings);
std::unique_ptr<Scaler> make_dynamo_planner(const ScalerSettings& settings);
std::unique_ptr<Scaler> make_schedule(const ScalerSettings& settings);

}  // namespace ridgeline::scaling
