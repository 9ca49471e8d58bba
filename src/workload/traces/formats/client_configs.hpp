#pragma once

#include "workload/traces/format.hpp"

namespace ridgeline::workload {

/// guidellm's scenario: a profile, synthetic data, constraints, and benchmarks that change them.
extern const TraceFormat kGuidellmScenario;
/// AIPerf's configuration: phases and synthetic datasets.
extern const TraceFormat kAiperfConfig;

}  // namespace ridgeline::workload
