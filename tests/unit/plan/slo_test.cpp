#include "plan/slo.hpp"

#include <gtest/gtest.h>

#include "document/document.hpp"

namespace ridgeline::plan {
namespace {

Slo read(const char* yaml, core::Errors& errors) {
  const auto node = document::parse_yaml(yaml, "plan.yaml");
  EXPECT_TRUE(node.has_value());
  return read_slo(*node, errors);
}

TEST(ReadSlo, EachStatisticIsATargetOfItsOwn) {
  core::Errors errors;
  const Slo slo = read("{ttft: {p99: 500ms, mean: 200ms}, e2e: 8s, window: 1h}", errors);
  ASSERT_TRUE(errors.empty());
  ASSERT_EQ(slo.targets.size(), 3U);
  EXPECT_EQ(slo.targets[0].text(), "p99 TTFT <= 500 ms");
  EXPECT_TRUE(slo.targets[1].is_mean());
  EXPECT_EQ(slo.targets[2].text(), "p99 E2E <= 8000 ms");
  EXPECT_EQ(slo.window->to_seconds(), 3600.0);
}

TEST(ReadSlo, AttainmentJoinsItsLimits) {
  core::Errors errors;
  const Slo slo = read("{attainment: 0.95, ttft: 500ms, tpot: 50ms}", errors);
  ASSERT_TRUE(errors.empty());
  ASSERT_EQ(slo.targets.size(), 1U);
  EXPECT_EQ(slo.targets[0].text(), "95 % within TTFT 500 ms, TPOT 50 ms");
  EXPECT_NEAR(slo.targets[0].allowed_share, 0.05, 1e-12);
}

TEST(ReadSlo, EveryProblemIsNoted) {
  core::Errors errors;
  read("{ttft: 500, tpot: {p98: 3ms}, itl: 30ms, windw: 1h}", errors);
  EXPECT_EQ(errors.size(), 4U);
}

TEST(ReadSlo, EveryPresetIsWhole) {
  for (const std::string& name : slo_presets()) {
    core::Errors errors;
    const Slo slo = read(name.c_str(), errors);
    EXPECT_TRUE(errors.empty()) << name;
    EXPECT_FALSE(slo.targets.empty()) << name;
  }
  core::Errors errors;
  read("mlperf/lama2-70b", errors);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_NE(errors[0].hint.find("llama2-70b"), std::string::npos);
}

}  // namespace
}  // namespace ridgeline::plan
