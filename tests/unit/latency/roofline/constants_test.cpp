#include "latency/roofline/constants.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "latency/roofline/switches.hpp"
#include "unit/latency/kernel_fixtures.hpp"

namespace ridgeline::latency::roofline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

core::Result<HardwareConfig> config_of(const std::string& text, const char* gpu = "h100") {
  return document::parse_json(text, "hardware_config.json")
      .and_then([&](const document::Node& node) {
        return hardware_config_from(node, latency::fixtures::gpu(gpu));
      });
}

TEST(HardwareConfig, ReadsTheEntryOfTheGpuByAnyOfItsNames) {
  for (const char* name : {"H100", "h100", "H100-SXM-80GB"}) {
    const auto config =
        config_of(std::string(R"({"A100-SXM": {"TFlopsPeak": 312}, ")") + name +
                  R"(": {"TFlopsPeak": 989.5, "BwPeakTBs": 3.35, "MemoryGiB": 80}})");
    ASSERT_TRUE(config) << name;
    EXPECT_DOUBLE_EQ(config->values.tflops_peak, 989.5);
    EXPECT_DOUBLE_EQ(config->values.per_layer_overhead_us, 0.0);
    EXPECT_THAT(config->keys, ElementsAre("TFlopsPeak", "BwPeakTBs"));
    EXPECT_THAT(config->unknown, ElementsAre("MemoryGiB"));
  }
}

TEST(HardwareConfig, ReadsAMapWithoutGpus) {
  const auto config = config_of(R"({"TFlopsPeak": 312, "BwPeakTBs": 2.039})", "a100-80gb");
  ASSERT_TRUE(config);
  EXPECT_DOUBLE_EQ(config->values.bandwidth_peak_tbs, 2.039);
}

TEST(HardwareConfig, TakesTheDocumentsNamesInAnyCase) {
  const auto config = config_of(
      R"({"tflopspeak": 989.5, "BwPeakTBs": 3.35, "BwEfficiencyFactor": 0.82,
          "PerLayerCPUOverhead": 100, "mixedBatchMode": "additive", "FuseQKV": false,
          "AttentionPrefillCorrectionFactor": 0, "decodeBwEfficiency": 0.9})");
  ASSERT_TRUE(config);
  EXPECT_DOUBLE_EQ(config->values.bandwidth_efficiency, 0.82);
  EXPECT_DOUBLE_EQ(config->values.per_layer_overhead_us, 100.0);
  EXPECT_DOUBLE_EQ(config->values.decode_bandwidth_factor, 0.9);
  EXPECT_TRUE(config->per_phase);
  ASSERT_EQ(config->switches.size(), 3U);
  EXPECT_EQ(config->switches[0].key, "mixed");
  EXPECT_EQ(config->switches[1].key, "fuse_qkv");
  EXPECT_EQ(config->switches[2].value.as_real(), 1.0);
  EXPECT_THAT(config->unknown, ElementsAre());
}

TEST(HardwareConfig, TwoNamesOfOneConstantAreOneTooMany) {
  const auto config = config_of(R"({"perLayerOverhead": 100, "PerLayerCPUOverhead": 80})");
  ASSERT_FALSE(config);
  EXPECT_THAT(config.error().front().field, HasSubstr("PerLayerCPUOverhead"));
  EXPECT_THAT(config.error().front().message, HasSubstr("perLayerOverhead is given twice"));
}

TEST(HardwareConfig, RefusesWhatItCannotUse) {
  const auto other = config_of(R"({"A100-SXM": {"TFlopsPeak": 312}, "L40S": {}})");
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().front().message,
              HasSubstr("no entry for h100, only for A100-SXM, L40S"));
  for (const char* text : {R"([])",
                           R"({})",
                           R"({"H100": 3, "x": {}})",
                           R"({"H100": []})",
                           R"({"H100": {"TFlopsPeak": "much"}})",
                           R"({"H100": {"TFlopsPeak": -1}})",
                           R"({"H100": {"TFlopsPeak": 1e300}})",
                           R"({"H100": {"TFlopsPeak": 1, "TFlopsPeak": 2}})"}) {
    EXPECT_FALSE(config_of(text)) << text;
  }
}

TEST(ConstantSets, HoldEveryPresetsOwn) {
  for (const Preset& preset : presets()) {
    EXPECT_TRUE(find_constant_set(std::string(preset.constants))) << preset.name;
  }
  const auto missing = find_constant_set("h100-finel");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().front().hint, HasSubstr("h100-final"));
}

}  // namespace
}  // namespace ridgeline::latency::roofline
