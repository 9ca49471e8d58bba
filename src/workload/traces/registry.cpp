#include <array>
#include <span>

#include "workload/traces/format.hpp"
#include "workload/traces/formats/client_configs.hpp"

namespace ridgeline::workload {

std::span<const TraceFormat* const> trace_formats() {
  // The plain CSV and JSON lines take any header line and any object, so they come last.
  static constexpr auto kFormats = std::to_array<const TraceFormat*>({
      &kAzureLlmCsv,
      &kAzureLmmCsv,
      &kBurstGpt,
      &kVidurCsv,
      &kSplitwiseCsv,
      &kTraceV2,
      &kServeGen,
      &kMooncakeAgentic,
      &kMooncakeSessions,
      &kBailian,
      &kMooncake,
      &kApexJsonl,
      &kLlmServingSim,
      &kAppliedCompute,
      &kOtelSpans,
      &kObserved,
      &kGuidellm,
      &kAiperf,
      &kSglangBench,
      &kVllmBench,
      &kInferencePerfLifecycle,
      &kShareGpt,
      &kWorkloadSpec,
      &kBlisWorkload,
      &kInferencePerfConfig,
      &kGuidellmScenario,
      &kAiperfConfig,
      &kRequestJsonl,
      &kRequestCsv,
  });
  return kFormats;
}

}  // namespace ridgeline::workload
