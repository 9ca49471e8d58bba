#include "lab/records/ladder_source.hpp"

#include <cstdint>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "lab/records/campaign.hpp"
#include "lab/records/evidence_words.hpp"

namespace ridgeline::records {
namespace {

Campaign small_campaign() {
  return {.id = "small",
          .model = "llama-3.1-8b",
          .tensor_parallel_size = 1,
          .instances = 2,
          .kv_tokens = 100'000,
          .gateway_requests = 9,
          .poisson = false,
          .groups = 3,
          .prompts_per_group = 2,
          .system_tokens = 320,
          .question_tokens = 64,
          .output_tokens = 20,
          .stages = {{.rate = 2.0, .seconds = 5.0}, {.rate = 4.0, .seconds = 5.0}},
          .strategies = {{.name = "chance",
                          .settings = {{.path = "cluster.router.name", .text = "random"}}}},
          .measured = {}};
}

double seconds(core::SimTime time) {
  return time.since_start().to_seconds();
}

TEST(LadderSource, SendsTheNextStageWhenTheLastAnswerIsThere) {
  Campaign campaign = small_campaign();
  campaign.measured = {{.strategy = "chance", .rate = 4.0, .arrivals_per_s = 2.5}};  // Achieved.
  LadderSource source(campaign, campaign.strategies.front(), 1);
  ASSERT_EQ(source.size(), 30);
  std::multiset<std::uint64_t> questions;
  for (int i = 0; i < 10; ++i) {
    EXPECT_NEAR(seconds(*source.next_arrival()), 0.5 * i, 1e-9);
    const domain::Request request = source.pop();
    EXPECT_EQ(request.prompt_tokens, core::Tokens(384));
    questions.insert(request.prompt[1].content);
    EXPECT_EQ(source.stage_of(request.id), 0U);
  }
  // 6 prompts in one order, over and over.
  EXPECT_EQ(std::set<std::uint64_t>(questions.begin(), questions.end()).size(), 6U);
  const auto answered = core::SimTime::at(core::Duration::seconds(60));
  for (core::RequestId::Rep id = 0; id < 10; ++id) {
    EXPECT_FALSE(source.next_arrival());
    source.on_completion(core::RequestId(id), answered);
  }
  EXPECT_NEAR(seconds(*source.next_arrival()), 61.0, 1e-9);
  EXPECT_EQ(source.stage_of(source.pop().id), 1U);
  EXPECT_NEAR(seconds(*source.next_arrival()), 61.4, 1e-9);
}

std::string setting(const Campaign& campaign, const std::string& path) {
  for (const auto& override : fleet_settings(campaign, campaign.strategies.front())) {
    if (override.path == path) {
      return override.text;
    }
  }
  return "";
}

TEST(FleetSettings, AreOfTheInstancesAndTheirGateway) {
  Campaign campaign = small_campaign();
  EXPECT_EQ(setting(campaign, "cluster.instances"), "2");
  EXPECT_EQ(setting(campaign, "cluster.admission.max_concurrency_per_instance"), "4.5");
  EXPECT_EQ(setting(campaign, "cluster.router.name"), "random");
  EXPECT_EQ(campaign.kv_blocks(), 6250);  // 100,000 / 16
  campaign.gateway_requests = Campaign::kNoLimit;
  EXPECT_EQ(setting(campaign, "cluster.admission.name"), "");
}

}  // namespace
}  // namespace ridgeline::records
