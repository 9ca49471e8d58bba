#include "cluster/admission/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/admission/flow/flow_control.hpp"

namespace ridgeline::admission {
namespace {

TEST(Registry, MakesWhatItLists) {
  for (const PolicyEntry& entry : policies()) {
    EXPECT_NE(entry.make({}), nullptr);
  }
  for (const DetectorEntry& entry : detectors()) {
    EXPECT_NE(entry.make({}), nullptr);
  }
  for (const FairnessEntry& entry : fairness_policies()) {
    EXPECT_NE(entry.make(), nullptr);
  }
  EXPECT_EQ(dispatch_order("slo-deadline"), DispatchOrder::kSloDeadline);
}

TEST(Registry, NamesTheNearest) {
  const auto found = find_policy("probabilistik");
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().front().message, "no admission policy 'probabilistik'");
  EXPECT_EQ(found.error().front().hint, "did you mean 'probabilistic'?");
  EXPECT_EQ(find_fairness("vtc").value()->source, "Sheng and others, OSDI 2024");
  EXPECT_THAT(find_detector("x").error().front().hint, testing::HasSubstr("one of utilization"));
}

}  // namespace
}  // namespace ridgeline::admission
