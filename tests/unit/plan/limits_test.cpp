#include "plan/limits.hpp"

#include <gtest/gtest.h>

#include "document/document.hpp"

namespace ridgeline::plan {
namespace {

Limits read(const char* yaml, core::Errors& errors) {
  const auto node = document::parse_yaml(yaml, "plan.yaml");
  EXPECT_TRUE(node.has_value());
  return read_limits(*node, errors);
}

TEST(Limits, AreRead) {
  core::Errors errors;
  const Limits limits =
      read("{max_gpus: 16, stock: {h100: 8}, spare_replicas: 1, max_utilisation: 0.8}", errors);
  EXPECT_TRUE(errors.empty());
  EXPECT_EQ(limits.max_gpus, 16);
  ASSERT_EQ(limits.stock.size(), 1U);
  EXPECT_EQ(limits.stock[0].first, "h100");
  EXPECT_EQ(limits.stock[0].second, 8);
  EXPECT_EQ(limits.spare_replicas, 1);
  EXPECT_EQ(limits.max_utilisation, 0.8);
}

TEST(Limits, SayAllProblemsAtOnce) {
  core::Errors errors;
  read("{max_gpus: 0, stock: {h1000: 8, h100: -1}, spare_replica: 1, max_utilisation: 2}", errors);
  EXPECT_EQ(errors.size(), 5U);
}

TEST(Limits, RefuseAGpuThatStandsTwice) {
  core::Errors errors;
  read("{stock: {h100: 8, H100: 16}}", errors);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(core::to_string(errors.front()),
            "plan.yaml:1:19: limits.stock.H100: h100 is given twice, expected once");
}

}  // namespace
}  // namespace ridgeline::plan
