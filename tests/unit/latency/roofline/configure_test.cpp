// What becomes of a preset's constants (roofline_model.hpp, configure).
#include <filesystem>
#include <fstream>
#include <string>

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
