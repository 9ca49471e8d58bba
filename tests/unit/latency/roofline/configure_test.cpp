// What becomes of a preset's constants (roofline_model.hpp, configure).
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "latency/roofline/roofline_model.hpp"
#include "latency/roofline/switches.hpp"
#include "unit/latency/kernel_fixtures.hpp"

namespace ridgeline::latency::roofline {
namespace {

using testing::HasSubstr;

TEST(Configure, V1NamesTheConstantsThatItLacks) {
  const auto gpu = latency::fixtures::gpu("h100");
  const std::string path = testing::TempDir() + "roofline_two_keys.json";
  std::ofstream(path) << R"({"H100": {"TFlopsPeak": 989.5, "BwPeakTBs": 3.35}})";
  const auto v1 = configure(*find_preset("v1"), gpu, {.hardware_config = path});
  ASSERT_FALSE(v1);
  ASSERT_EQ(v1.error().size(), 1U);
  EXPECT_THAT(v1.error().front().message,
              HasSubstr("v1 needs 13 more constants for h100: BwEffConstant, TOverheadMicros"));
  EXPECT_EQ(v1.error().front().where.file, path);
  // V2 takes what is absent for none, as the original did, and says so.
  const auto v2 =
      configure(*find_preset("v2-final"), gpu, {.bench_data = "d", .hardware_config = path});
  ASSERT_TRUE(v2);
  EXPECT_DOUBLE_EQ(v2->constants.bandwidth_efficiency, 0.0);
  ASSERT_EQ(v2->notes.size(), 1U);
  EXPECT_THAT(v2->notes.front().message, HasSubstr("bwEfficiencyFactor, perLayerOverhead"));
  std::filesystem::remove(path);
}

TEST(Configure, OtherGpusTakeTheirPeaksAndSaySo) {
  const auto h200 = latency::fixtures::gpu("h200");
  const auto configuration = configure(*find_preset("v1"), h200, {});
  ASSERT_TRUE(configuration);
  EXPECT_DOUBLE_EQ(configuration->constants.bandwidth_peak_tbs, 4.8);
  ASSERT_EQ(configuration->notes.size(), 1U);
  EXPECT_EQ(configuration->notes.front().code, "W-constants");
  const auto a100 =
      configure(*find_preset("v2-final"), latency::fixtures::gpu("a100-80gb"), {.bench_data = "d"});
  ASSERT_TRUE(a100);
  EXPECT_DOUBLE_EQ(a100->constants.bandwidth_efficiency, 0.80);
  EXPECT_TRUE(a100->notes.empty());
}

core::Result<Configuration> with_setting(const char* preset, std::vector<ModelSetting> settings) {
  return configure(*find_preset(preset),
                   latency::fixtures::gpu("h100"),
                   {.bench_data = "d", .settings = std::move(settings)});
}

TEST(Configure, ABandwidthOfOnePhaseMeansABandwidthPerPhase) {
  const ModelSetting decode{.key = "DecodeBwEfficiency", .value = document::Node::real(0.9, {})};
  const auto done = with_setting("v2-final", {decode});
  ASSERT_TRUE(done);
  EXPECT_EQ(done->switches.bandwidth, Bandwidth::kPerPhase);
  EXPECT_DOUBLE_EQ(done->constants.decode_bandwidth_factor, 0.9);
  // A prefill's is 0 then: the peak.
  EXPECT_DOUBLE_EQ(done->constants.prefill_bandwidth_factor, 0.0);
  EXPECT_TRUE(done->notes.empty());
  const ModelSetting one{.key = "bandwidth", .value = document::Node::string("one", {})};
  EXPECT_EQ(with_setting("v2-final", {one, decode})->switches.bandwidth, Bandwidth::kOne);
  EXPECT_EQ(with_setting("v2-final", {decode, one})->switches.bandwidth, Bandwidth::kOne);
}

TEST(Configure, SwitchesOfAFileAreV2sAndIdleBesideV1) {
  const auto gpu = latency::fixtures::gpu("h100");
  const std::string path = testing::TempDir() + "roofline_switches.json";
  std::ofstream(path) << R"({"TFlopsPeak": 989.5, "BwPeakTBs": 3.35, "BwEffConstant": 0.72,
                             "TOverheadMicros": 500, "perLayerOverhead": 100, "allReduceLatency": 20,
                             "mixedBatchMode": "smooth-wa", "mfuPrefill": 0.45, "mfuDecode": 0.3})";
  const auto v2 =
      configure(*find_preset("v2-final"), gpu, {.bench_data = "d", .hardware_config = path});
  ASSERT_TRUE(v2);
  EXPECT_EQ(v2->switches.mixed, Mixing::kSmooth);
  const auto v0 = configure(*find_preset("v0"), gpu, {.hardware_config = path});
  ASSERT_TRUE(v0);
  EXPECT_THAT(v0->notes.front().message, HasSubstr("does not read mixed"));
  std::ofstream(path) << R"({"TFlopsPeak": 1, "BwPeakTBs": 1, "mixedBatchMode": "sum"})";
  EXPECT_FALSE(
      configure(*find_preset("v2-final"), gpu, {.bench_data = "d", .hardware_config = path}));
  std::filesystem::remove(path);
}

TEST(Configure, ASetOfConstantsIsChosenByNameAndASettingAfterItWins) {
  const auto gpu = latency::fixtures::gpu("h100");
  const auto done = configure(
      *find_preset("v1"),
      gpu,
      {.settings = {{.key = "constants", .value = document::Node::string("c6e7cf5e-h100", {})},
                    {.key = "mfuDecode", .value = document::Node::real(0.2, {})}}});
  ASSERT_TRUE(done);
  EXPECT_DOUBLE_EQ(done->constants.decode_tp_exponent, 1.78);
  EXPECT_DOUBLE_EQ(done->constants.mfu_decode, 0.2);
  EXPECT_FALSE(
      configure(*find_preset("v1"),
                gpu,
                {.settings = {{.key = "constants", .value = document::Node::integer(3, {})}}}));
}

}  // namespace
}  // namespace ridgeline::latency::roofline
