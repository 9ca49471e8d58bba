#include "scenario/sections/autoscaling.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/scaling/metric.hpp"
#include "cluster/scaling/victim.hpp"
#include "core/time.hpp"
#include "document/document.hpp"

namespace ridgeline::scenario {
namespace {

using core::Duration;

document::Node yaml(const std::string& text) {
  return *document::parse_yaml(text, "test.yaml");
}

TEST(ScalerSettings, AreThePolicysUnlessSet) {
  AutoscalingSection section;
  section.name = "wva";
  EXPECT_EQ(scaler_settings(section)->scaling_interval, Duration::seconds(30));
  section.scaling_interval = Duration::seconds(7);
  section.metric = "kv-usage";
  section.analyzer = "v2";
  const auto settings = scaler_settings(section);
  EXPECT_EQ(settings->scaling_interval, Duration::seconds(7));
  EXPECT_EQ(settings->metric, scaling::Metric::kKvUsage);
  EXPECT_EQ(settings->analyzer, scaling::Analyzer::kV2);
  EXPECT_EQ(victim_policy(section), scaling::VictimPolicy::kNewest);
  section.scale_down = "least-loaded";
  EXPECT_EQ(victim_policy(section), scaling::VictimPolicy::kLeastLoaded);
  EXPECT_EQ(most_instances(section, 3), 3);
  section.max_replicas = 9;
  EXPECT_EQ(most_instances(section, 3), 9);
}

TEST(ScalerSettings, ReadASchedule) {
  AutoscalingSection section;
  section.name = "schedule";
  section.replicas_at = yaml("[[0s, 4], '600s=8']");
  const auto settings = scaler_settings(section);
  ASSERT_TRUE(settings.has_value());
  ASSERT_EQ(settings->replicas_at.size(), 2);
  EXPECT_EQ(settings->replicas_at[1].first, core::SimTime::at(Duration::seconds(600)));
  EXPECT_EQ(settings->replicas_at[1].second, 8);
  section.replicas_at = yaml("[[9s, 4], [5s, 8]]");
  EXPECT_THAT(scaler_settings(section).error().front().message,
              testing::HasSubstr("not later than the entry before"));
  section.replicas_at = yaml("[[9s, x]]");
  EXPECT_THAT(scaler_settings(section).error().front().message,
              testing::HasSubstr("expected a time and a number"));
}

}  // namespace
}  // namespace ridgeline::scenario
