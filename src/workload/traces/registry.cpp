#include <array>
#include <span>

#include "workload/traces/format.hpp"

namespace ridgeline::workload {

std::span<const TraceFormat> trace_formats() {
  // The plain CSV takes any header line, so it comes last.
  static const std::array<TraceFormat, 3> kFormats = {kAzureLlmCsv, kRequestJsonl, kRequestCsv};
  return kFormats;
}

}  // namespace ridgeline::workload
