#include <cstddef>
#include <cstdint>

#include "trace_reading.hpp"
#include "workload/traces/format.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ridgeline::workload::fuzz_trace(ridgeline::workload::kObserved, data, size);
  return 0;
}
