#include <cstddef>
#include <cstdint>
#include <string>

#include "deploy/read.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const char* file : {"launch.sh", "launch.yaml"}) {
    static_cast<void>(ridgeline::deploy::scenario_in(text, file, {.given = {{"TP", "2"}}}));
  }
  return 0;
}
