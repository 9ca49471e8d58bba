#include <cstddef>
#include <cstdint>

#include "trace_reading.hpp"
#include "workload/traces/formats/client_configs.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ridgeline::workload::fuzz_trace(ridgeline::workload::kAiperfConfig, data, size);
  return 0;
}
