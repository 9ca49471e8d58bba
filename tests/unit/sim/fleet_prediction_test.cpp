#include "sim/fleet_prediction.hpp"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "document/document.hpp"
#include "domain/request.hpp"
#include "domain/tenants.hpp"
#include "routing/predictor.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::sim {
namespace {

scenario::Resolved resolved_with_router(const std::string& router) {
  auto loaded = scenario::read_scenario(
      *document::parse_yaml("model: llama-3.1-8b\ngpu: h100\nslo: {ttft: 300ms}\n"
                            "cluster: {instances: 2, router: " +
                                router + "}",
                            "s.yaml"),
      {},
      scenario::Purpose::kLook);
  EXPECT_TRUE(loaded.has_value());
  auto resolved = scenario::resolve(std::move(*loaded));
  EXPECT_TRUE(resolved.has_value());
  return std::move(*resolved);
}

TEST(FleetPrediction, IsForPoliciesThatPredict) {
  EXPECT_EQ(predictor_of(resolved_with_router("llm-d")), nullptr);
  const auto right = resolved_with_router("llm-d-latency");
  const auto twice = resolved_with_router("{name: llm-d-latency, predictorBias: 1.0}");
  const routing::Prospect prospect{
      .instance = core::InstanceId(1), .prompt_tokens = 1000, .uncached_tokens = 1000};
  const auto latency = predictor_of(right)->predict(prospect);
  EXPECT_GT(latency.ttft_ms, latency.tpot_ms);
  EXPECT_DOUBLE_EQ(predictor_of(twice)->predict(prospect).ttft_ms, 2.0 * latency.ttft_ms);
}

TEST(FleetPrediction, TargetsAreTheTenantsOrTheRuns) {
  domain::Tenants tenants;
  const domain::Request request;
  const auto targets = targets_of(resolved_with_router("llm-d-latency"), tenants)(request);
  EXPECT_DOUBLE_EQ(targets.ttft_ms, 300.0);
  EXPECT_DOUBLE_EQ(targets.tpot_ms, 0.0);
}

}  // namespace
}  // namespace ridgeline::sim
