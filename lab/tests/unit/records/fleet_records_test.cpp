#include "lab/records/fleet_records.hpp"

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "lab/records/evidence_words.hpp"
#include "lab/records/experiment_records.hpp"
#include "lab/records/ladder.hpp"
#include "lab/records/request_log.hpp"
#include "lab/tests/unit/records/record_text.hpp"

namespace ridgeline::records {
namespace {

const std::string kRouter = R"({"instances": 4, "policy": "precise-scheduling"})";
/// The stage of llm-d's campaign at 3 requests a second.
const std::string kLadder = R"json({
    "generator": "inference-perf shared_prefix", "loop": "open",
    "arrival": "constant (random gaps rescaled to the stage)", "rate_rps": 3, "duration_s": 210,
    "input": {"kind": "fixed", "nominal_tokens": 9000, "system_prompt_len": 8000, "question_len": 1000},
    "output": {"kind": "fixed", "nominal_tokens": 1000},
    "prefix": {"num_groups": 83, "prompts_per_group": 3, "shared": 8000,
               "note": "the first stage is a warm-up, one full set"}})json";

Evidence read(const std::string& cluster,
              const std::string& workload = kLadder,
              const std::string& more = R"("gpu": "H100", "num_gpus": 16, )") {
  const std::string record =
      R"({"id": "f", "model": "meta-llama/Llama-3.1-70B-Instruct", "tp": 4, "engine": "vllm", )" +
      more + R"("server": {"kv_cache_tokens_per_pod": 461376}, "cluster": )" + cluster +
      R"(, "workload": )" + workload +
      R"(, "measured": {"ttft_ms": {"mean": 144, "p90": 201}, "itl_ms": {"mean": 13},
          "kv_transfer_ms": 4.5, "requests_per_s": 3.003, "output_tokens_per_s": 2579.8}})";
  return read_record(record);
}

TEST(FleetRecords, OneInstanceIsNoFleet) {
  for (const char* record : {"{}",
                             R"({"cluster": null})",
                             R"({"cluster": {"instances": 1}})",
                             R"({"tp": 4, "num_gpus": 8, "cluster": {}})"}) {
    EXPECT_EQ(fleet_of(document::parse_json(record, "r").value()), nullptr) << record;
  }
  EXPECT_FALSE(read(R"({"instances": 1})").fleet);
}

TEST(FleetRecords, InstancesAndPolicyAreSettingsOfACluster) {
  const Evidence evidence = read(kRouter);
  ASSERT_EQ(evidence.problem + evidence.refusal, "");
  EXPECT_EQ(evidence.fleet->policy, "precise-scheduling");
  EXPECT_EQ(stated(evidence, "cluster.instances"), "4");
  EXPECT_EQ(stated(evidence, "cluster.router.name"), "llm-d-precise");
  // 461,376 tokens in blocks of 16.
  EXPECT_EQ(evidence.server.num_gpu_blocks, 28'836);
}

TEST(FleetRecords, PoliciesAreRoutersByAnyOfTheirNames) {
  const auto router = [](const std::string& policy) {
    return stated(read(replaced(kRouter, "precise-scheduling", policy)), "cluster.router.name");
  };
  EXPECT_EQ(router("random-scheduling"), "random");
  EXPECT_EQ(router("Random"), "random");
  EXPECT_EQ(router("load-scheduling"), "llm-d");
  EXPECT_EQ(router("estimated-scheduling"), "llm-d");
  EXPECT_EQ(router("approximate-scheduling"), "llm-d");
  EXPECT_EQ(router("Least Request"), "least-request");
  EXPECT_EQ(read(replaced(kRouter, "precise-scheduling", "Least Request + Tea Leaves")).refusal,
            "cluster.policy: there is no router for Least Request + Tea Leaves");
  EXPECT_THAT(read(R"({"instances": 4})").refusal, testing::HasSubstr("cluster.policy is missing"));
}

TEST(FleetRecords, APublishedCampaignTellsWhatIsNotRepeated) {
  const Evidence evidence = read(kRouter);
  const Ladder& fleet = ladder_of(*evidence.fleet);
  ASSERT_TRUE(fleet.has_stages);
  EXPECT_FALSE(fleet.is_made_up);
  EXPECT_EQ(fleet.campaign.stages.size(), 10U);
  EXPECT_EQ(fleet.stage, (CampaignStage{.rate = 3.0, .seconds = 210.0}));
  EXPECT_EQ(stated(evidence, "cluster.router.scorers"),
            "{prefix-cache-scorer: 2, kv-cache-utilization-scorer: 1, queue-scorer: 1}");
  EXPECT_EQ(stated(evidence, "cluster.admission.max_concurrency_per_instance"), "256");  // 1024 / 4
  EXPECT_EQ(evidence.engine_version, "vllm@0.11");
  EXPECT_TRUE(fleet.campaign.poisson);
  EXPECT_EQ(fleet.achieved_per_s, 3.003);
  EXPECT_FALSE(evidence.completed_per_s);
  EXPECT_EQ(evidence.stamps_per_token, 2.0);
}

TEST(FleetRecords, AnotherLoadIsItsOwnCampaign) {
  const Evidence evidence = read(kRouter, replaced(kLadder, "83", "20"));
  const Ladder& fleet = ladder_of(*evidence.fleet);
  EXPECT_TRUE(fleet.is_made_up);
  // Each of the 60 prompts once, at 3 a second.
  ASSERT_EQ(fleet.campaign.stages.size(), 2U);
  EXPECT_EQ(fleet.campaign.stages[0], (CampaignStage{.rate = 3.0, .seconds = 20.0}));
  EXPECT_EQ(stated(evidence, "cluster.router.scorers"), "");
  EXPECT_EQ(stated(evidence, "cluster.admission.name"), "");
  EXPECT_EQ(evidence.engine_version, "");
}

TEST(FleetRecords, ASummaryIsOfAllStagesButTheWarmUp) {
  const std::string stages =
      R"("stages": [{"rate_rps": 9, "duration_s": 30}, {"rate_rps": 3, "duration_s": 10}])";
  const std::string listed = replaced(kLadder, R"("rate_rps": 3, "duration_s": 210)", stages);
  const Evidence evidence = read(kRouter, listed);
  ASSERT_EQ(evidence.problem, "");
  EXPECT_FALSE(ladder_of(*evidence.fleet).stage);
  EXPECT_FALSE(ladder_of(*evidence.fleet).achieved_per_s);
  ASSERT_EQ(evidence.stages.size(), 1U);
  EXPECT_EQ(evidence.stages[0].requests, 30);
  // A stage's own record may list them too.
  const Evidence one = read(kRouter,
                            replaced(kLadder,
                                     R"("rate_rps": 3, "duration_s": 210)",
                                     stages + R"(, "rate_rps": 3, "duration_s": 10)"));
  EXPECT_EQ(ladder_of(*one.fleet).campaign.stages.size(), 2U);
  EXPECT_FALSE(ladder_of(*one.fleet).is_made_up);
  ASSERT_EQ(one.stages.size(), 1U);
  EXPECT_EQ(one.stages[0].requests, 30);
  const Evidence without = read(kRouter, replaced(listed, "warm-up", "stage"));
  EXPECT_FALSE(ladder_of(*without.fleet).warms_up);
  EXPECT_EQ(without.stages.size(), 2U);
}

TEST(FleetRecords, WhatItsHardwareIsMustBeSaid) {
  EXPECT_EQ(read(kRouter, kLadder, "").refusal, "gpu is missing");
}

struct Bad {
  std::string cluster;
  std::string found;
};

TEST(FleetRecords, BadValuesAreNamedWithTheirKey) {
  for (const Bad& bad : std::initializer_list<Bad>{
           {R"("four")", "cluster: found"},
           {R"({"instances": "four", "policy": "random"})", "cluster.instances: found"},
           {R"({"instances": 2.5, "policy": "random"})", "cluster.instances: found"},
           {R"({"instances": -4, "policy": "random"})", "cluster.instances: found"},
           {R"({"instances": 1e9, "policy": "random"})", "expected a whole number from 1 to 4096"},
           {R"({"instances": 3, "policy": "random"})", "num_gpus is 16"}}) {
    const Evidence evidence = read(bad.cluster);
    EXPECT_THAT(evidence.problem, testing::HasSubstr(bad.found)) << bad.cluster;
    EXPECT_EQ(evidence.problem.find('\n'), std::string::npos);
  }
}

TEST(FleetRecords, BadLoadsAreNamedWithTheirKey) {
  for (
      const Bad& bad : std::initializer_list<Bad>{
          {replaced(kLadder, "83", "0"), "workload.prefix.num_groups: found"},
          {replaced(kLadder, R"("prompts_per_group": 3)", R"("prompts_per_group": 200000)"),
           "prompts"},
          {replaced(kLadder, R"("question_len": 1000)", R"("question_len": null)"),
           "workload.input.question_len: is missing"},
          {replaced(kLadder, R"("duration_s": 210)", R"("duration_s": 1e30)"),
           "1 to 200000 requests"},
          {replaced(
               kLadder,
               R"("rate_rps": 3, "duration_s": 210)",
               R"("stages": [{"rate_rps": 3, "duration_s": 9}, {"num_requests": 4, "duration_s": 5}])"),
           "workload.stages[1]"}}) {
    EXPECT_THAT(read(kRouter, bad.cluster).problem, testing::HasSubstr(bad.found)) << bad.cluster;
  }
}

}  // namespace
}  // namespace ridgeline::records
