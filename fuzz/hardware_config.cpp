// A hardware_config.json and a GPU's YAML of arbitrary bytes: refused in lines of text, or read
// into constants that are numbers.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/check.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "document/document.hpp"
#include "latency/roofline/constants.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace {

namespace core = ridgeline::core;
namespace document = ridgeline::document;
namespace roofline = ridgeline::latency::roofline;

template <class T>
void check_refusal(const core::Result<T>& result) {
  if (result) {
    return;
  }
  RIDGELINE_CHECK(!result.error().empty(), "a refusal without a reason");
  for (const core::Error& error : result.error()) {
    const std::string line = core::to_string(error);
    RIDGELINE_CHECK(line.find('\n') == std::string::npos, "an error of several lines");
    RIDGELINE_CHECK(core::valid_utf8_prefix(line) == line.size(), "an error that is not text");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto kGpu = ridgeline::hardware::find_gpu("h100");
  RIDGELINE_CHECK(kGpu.has_value(), "no GPU to look for");
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto json = document::parse_json(text, "hardware_config.json")) {
    const auto read = roofline::hardware_config_from(*json, *kGpu);
    check_refusal(read);
    if (read) {
      RIDGELINE_CHECK(read->keys.size() + read->unknown.size() > 0, "a config that says nothing");
      for (const roofline::ConstantKey& key : roofline::constant_keys()) {
        const double value = read->values.*(key.member);
        RIDGELINE_CHECK(value >= 0.0 && value <= key.highest, "a constant out of its range");
      }
    }
  }
  if (const auto yaml = document::parse_yaml(text, "gpu.yaml")) {
    check_refusal(ridgeline::hardware::gpu_from_node(*yaml, "gpu"));
  }
  return 0;
}
