#include "latency/kernel/settings.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "latency/kernel/constants.hpp"

namespace ridgeline::latency::kernel {
namespace {

ModelSetting setting_of(const std::string& key, double value) {
  return {.key = key, .value = document::Node::real(value, {})};
}

TEST(KernelSettings, ReplacesWhatItNames) {
  const Constants before = builtin_constants();
  const auto after = with_settings(
      before, {setting_of("layer_launch_gap_us", 3.0), setting_of("step_gap_us", 0.0)});
  ASSERT_TRUE(after.has_value());
  EXPECT_DOUBLE_EQ(after->step.layer_launch_gap.value(), 3e-6);
  EXPECT_DOUBLE_EQ(after->step.step_gap.value(), 0.0);
  EXPECT_EQ(after->sampling.truncation, before.sampling.truncation);
}

TEST(KernelSettings, RefusesUnknownNamesAndOddValues) {
  const auto message = [](const ModelSetting& setting) {
    const auto result = with_settings(builtin_constants(), {setting});
    return result ? std::string("none") : core::to_string(result.error().front());
  };
  EXPECT_THAT(message(setting_of("step_gap", 1.0)), testing::HasSubstr("step_gap_us"));
  EXPECT_THAT(message(setting_of("step_gap_us", -1.0)), testing::HasSubstr("out of range"));
  EXPECT_THAT(message(setting_of("step_gap_us", 1e9)), testing::HasSubstr("out of range"));
  EXPECT_THAT(message({.key = "step_gap_us", .value = document::Node::string("much", {})}),
              testing::HasSubstr("out of range"));
}

}  // namespace
}  // namespace ridgeline::latency::kernel
