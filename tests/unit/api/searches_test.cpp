#include "api/searches.hpp"

#include <atomic>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/call.hpp"
#include "api/call_document.hpp"
#include "document/document.hpp"

namespace ridgeline::api {
namespace {

constexpr const char* kScenario =
    R"("model": "llama-3.1-8b", "gpu": "h100", "workload": {"request_rate": 4, "input_len": 64,)"
    R"( "output_len": 8, "num_prompts": 20}, "jobs": 2)";

CallDocument search_document(const std::string& json) {
  return CallDocument(*document::parse_json("{" + json + "}", ""));
}

TEST(Searches, ASweepHasARowForEachPointAndIsHeardOf) {
  std::atomic<std::int64_t> last = 0;
  Hooks hooks;
  hooks.progress = [&](const Progress& progress) { last = progress.done; };
  CallDocument document =
      search_document(std::string(kScenario) + R"(, "axes": {"engine.max_num_seqs": [1, 2, 4]})");
  const auto reply = sweep_points(document, {.hooks = hooks});
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->code, 0);
  const auto tree = *document::parse_json(reply->json, "");
  ASSERT_EQ(tree.find("points")->items().size(), 3U);
  EXPECT_EQ(
      tree.find("points")->items()[2].find("point")->find("engine.max_num_seqs")->as_integer(), 4);
  EXPECT_EQ(last, 3);
}

TEST(Searches, ASweepEndsWithTheCodeOfTheCommandLine) {
  const Hooks hooks;
  const auto code_of = [&](const char* axes) {
    CallDocument document = search_document(fmt::format("{}, \"axes\": {}", kScenario, axes));
    const auto reply = sweep_points(document, {.hooks = hooks});
    return reply ? reply->code : -1;
  };
  EXPECT_EQ(code_of(R"({"engine.tensor_parallel_size": [1, 3]})"), 1);  // 3 GPUs, 32 heads.
  EXPECT_EQ(code_of(R"({"model": ["llama-3.1-70b"], "gpu": ["h100"]})"), 4);
  EXPECT_EQ(code_of(R"({"model": ["llama-3.1-8b", "llama-3.1-70b"]})"), 0);
}

TEST(Searches, AnInterruptedSweepIsPartial) {
  Hooks hooks;
  hooks.interrupted = [] { return true; };
  CallDocument document = search_document(
      std::string(R"("model": "llama-3.1-8b", "gpu": "h100", "workload": {"request_rate": 4,)"
                  R"( "input_len": 64, "output_len": 64, "num_prompts": 3000000}, "jobs": 1,)"
                  R"( "axes": {"engine.max_num_seqs": [2, 4]})"));
  const auto reply = sweep_points(document, {.hooks = hooks});
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->code, 130);
}

TEST(Searches, APlanNeedsATarget) {
  const Hooks hooks;
  CallDocument document = search_document(kScenario);
  const auto reply = plan_deployment(document, {.hooks = hooks});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().front().field, "slo");
  CallDocument wrong = search_document(R"("jobs": 0)");
  EXPECT_EQ(plan_deployment(wrong, {.hooks = hooks}).error().front().field, "jobs");
}

}  // namespace
}  // namespace ridgeline::api
