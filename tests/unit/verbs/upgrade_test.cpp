#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/node_path.hpp"
#include "report/palette.hpp"
#include "verbs/host.hpp"
#include "verbs/request.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::verbs {
namespace {

using document::Node;

class StoppedHost : public Host {
 public:
  const std::atomic<bool>& stop() const override { return stop_; }
  int stopped() const override { return 130; }

 private:
  std::atomic<bool> stop_ = true;
};

core::Result<Reply> answer(std::string_view versions, Host& host) {
  Request request(*document::parse_json(
      fmt::format(
          R"({{"model": "llama-3.1-8b", "gpu": "h100", {}, "workload": {{)"
          R"("request_rate": 20, "input_len": 700, "output_len": 40, "num_prompts": 60}}}})",
          versions),
      ""));
  return find_verb("upgrade")->run(request, host);
}

core::Result<Reply> answer(std::string_view versions) {
  Host host;
  return answer(versions, host);
}

TEST(Upgrade, ItsPartsSumToTheWhole) {
  const Node tree = answer(R"("from": "vllm@0.11", "to": "vllm@0.20")")->tree();
  for (const Node::Member& whole : node_at(tree, "worth").members()) {
    double sum = 0.0;
    for (const Node& part : node_at(tree, "parts").items()) {
      sum += node_at(part, "worth." + whole.key).as_real();
    }
    EXPECT_NEAR(sum, whole.value.as_real(), 1e-6) << whole.key;
  }
}

TEST(Upgrade, SaysWhatChangesAndWhatKeepsTheOld) {
  const auto reply = answer(R"("from": "vllm@0.11", "to": "vllm@0.20")");
  const std::string text = *reply->text("markdown", {});
  EXPECT_THAT(text, testing::HasSubstr("asynchronous by default"));
  EXPECT_THAT(text, testing::HasSubstr("--no-async-scheduling"));
  EXPECT_THAT(text, testing::HasSubstr("--gpu-memory-utilization 0.9"));
  EXPECT_THAT(text, testing::HasSubstr("engine.async_scheduling"));
  EXPECT_THAT(text, testing::HasSubstr("without effect on this load"));
}

TEST(Upgrade, ARuleThatTheScenarioSetsIsNoPart) {
  const Node tree =
      answer(R"("from": "vllm@0.11", "to": "vllm@0.20", "set": {"rules.async_by_default": false})")
          ->tree();
  for (const Node& part : node_at(tree, "parts").items()) {
    for (const Node& rule : node_at(part, "rules").items()) {
      EXPECT_NE(node_at(rule, "rule").as_string(), "async_by_default");
    }
  }
}

TEST(Upgrade, AStoppedComparisonIsNoAnswer) {
  StoppedHost host;
  const auto reply = answer(R"("from": "vllm@0.11", "to": "vllm@0.20")", host);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->code, 130);
  EXPECT_FALSE(reply->tree);
}

TEST(Upgrade, AScenarioThatCannotBeReadIsTheOnlyError) {
  Request request(*document::parse_json(R"({"model": "no-such-network", "gpu": "h100"})", ""));
  Host host;
  const auto reply = find_verb("upgrade")->run(request, host);
  ASSERT_FALSE(reply);
  for (const core::Error& error : reply.error()) {
    EXPECT_THAT(error.message, testing::Not(testing::HasSubstr("engine version")));
  }
}

TEST(Upgrade, ADowngradeNamesNoFlagThatKeepsTheOlderRule) {
  const std::string text =
      *answer(R"("from": "vllm@0.20", "to": "vllm@0.11")")->text("markdown", {});
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("scheduler-reserve-full-isl")));
}

TEST(Upgrade, ComparesVersionsOfVllmAlone) {
  const auto refused = answer(R"("to": "sglang@0.5.5")");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().front().field, "to");
}

}  // namespace
}  // namespace ridgeline::verbs
