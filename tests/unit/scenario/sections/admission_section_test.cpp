#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/admission/settings.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "document/document.hpp"
#include "scenario/scenario.hpp"
#include "scenario/sections/admission.hpp"

namespace ridgeline::scenario {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A scenario whose section `cluster` has this beside two instances.
core::Result<LoadedScenario> read_admission(const std::string& cluster) {
  return read_scenario(
      *document::parse_yaml("model: llama-3.1-8b\ngpu: h100\nworkload: {input_len: 10, output_len: "
                            "4, request_rate: 1}\ncluster: {instances: 2, " +
                                cluster + "}\n",
                            "s.yaml"),
      {},
      Purpose::kRun);
}

std::vector<std::string> problems_of_admission(const std::string& cluster) {
  std::vector<std::string> lines;
  if (const auto loaded = read_admission(cluster); !loaded) {
    for (const core::Error& error : loaded.error()) {
      lines.push_back(core::to_string(error));
    }
  }
  return lines;
}

TEST(AdmissionSection, AWordIsItsNameAndTheRestIsLlmDs) {
  const auto loaded = read_admission("admission: probabilistic");
  ASSERT_TRUE(loaded.has_value()) << core::to_string(loaded.error().front());
  const admission::Settings settings = admission_settings(loaded->scenario.run.cluster.admission);
  EXPECT_EQ(settings.policy, "probabilistic");
  EXPECT_EQ(settings.request_ttl, core::Duration::seconds(60));
  EXPECT_EQ(settings.per_band_requests, 5000);
  EXPECT_TRUE(reads_saturation(settings));
  EXPECT_TRUE(reads_gauges_for_admission(loaded->scenario.run.cluster.admission));
  EXPECT_FALSE(reads_saturation({}));
}

TEST(AdmissionSection, EverySettingArrives) {
  const auto loaded = read_admission(
      "admission: {name: token-bucket, token_bucket_capacity: 7, token_bucket_refill_rate: 8, "
      "flow_control: true, saturation_detector: concurrency-detector, concurrency_mode: hybrid, "
      "max_concurrency_per_instance: 9, max_token_concurrency: 10, dispatch_order: edf, "
      "fairness_policy: vtc, min_ceiling: 0.5, max_ceiling: 0.75, ceilings: value, request_ttl: "
      "4s, expiry_interval: 2s, dispatch_tick_interval: 3ms, per_band_requests: 11, "
      "per_band_bytes: 12}");
  ASSERT_TRUE(loaded.has_value()) << core::to_string(loaded.error().front());
  const admission::Settings settings = admission_settings(loaded->scenario.run.cluster.admission);
  EXPECT_EQ(settings.token_bucket_capacity, 7);
  EXPECT_EQ(settings.token_bucket_refill_rate, 8);
  EXPECT_EQ(settings.concurrency_mode, "hybrid");
  EXPECT_EQ(settings.max_concurrency, 9);
  EXPECT_EQ(settings.max_token_concurrency, 10);
  EXPECT_EQ(settings.dispatch_order, "edf");
  EXPECT_EQ(settings.fairness_policy, "vtc");
  EXPECT_EQ(settings.min_ceiling, 0.5);
  EXPECT_EQ(settings.max_ceiling, 0.75);
  EXPECT_TRUE(settings.ceilings_by_value);
  EXPECT_EQ(settings.request_ttl, core::Duration::seconds(4));
  EXPECT_EQ(settings.expiry_interval, core::Duration::seconds(2));
  EXPECT_EQ(settings.dispatch_tick_interval, core::Duration::milliseconds(3));
  EXPECT_EQ(settings.per_band_requests, 11);
  EXPECT_EQ(settings.per_band_bytes, 12);
  EXPECT_FALSE(reads_gauges_for_admission(loaded->scenario.run.cluster.admission));
}

TEST(AdmissionSection, SettingsThatNothingReadsAreRefusedAllAtOnce) {
  EXPECT_THAT(problems_of_admission("admission: {kv_cache_util_threshold: 0.5, request_ttl: 1s}"),
              ElementsAre(HasSubstr("kv_cache_util_threshold: would be ignored: nothing reads"),
                          HasSubstr("request_ttl: would be ignored: no request waits")));
  EXPECT_THAT(problems_of_admission("gateway: {refresh_metrics_interval: 1s}"),
              ElementsAre(HasSubstr("the policy round-robin reads no gauges")));
  EXPECT_THAT(problems_of_admission("admission: priority, gateway: {refresh_metrics_interval: 1s}"),
              ElementsAre());
}

}  // namespace
}  // namespace ridgeline::scenario
