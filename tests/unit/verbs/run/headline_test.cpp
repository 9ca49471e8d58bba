#include "verbs/run/headline.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "sim/simulation.hpp"

namespace ridgeline::verbs {
namespace {

scenario::Resolved resolved(std::vector<scenario::Override> overrides) {
  if (overrides.empty() || overrides.front().path != "model") {
    overrides.push_back({.path = "model", .text = "llama-3.1-8b"});
  }
  overrides.push_back({.path = "gpu", .text = "h100"});
  auto loaded = scenario::load_scenario(std::nullopt, overrides, scenario::Purpose::kLook);
  EXPECT_TRUE(loaded);
  auto result = scenario::resolve(std::move(*loaded));
  EXPECT_TRUE(result);
  return std::move(*result);
}

std::string workload_piece(std::vector<scenario::Override> overrides) {
  return headline(resolved(std::move(overrides)), sim::RunOutcome())[2];
}

TEST(Headline, SaysWhatWasRun) {
  sim::RunOutcome outcome;
  outcome.summary.by_outcome[0] = 43200;
  EXPECT_THAT(headline(resolved({{"workload.request_rate", "12.5"},
                                 {"engine.tensor_parallel_size", "2"},
                                 {"seed", "42"}}),
                       outcome),
              ::testing::ElementsAre("llama-3.1-8b on 2x h100 (TP2)",
                                     "vllm@0.15",
                                     "12.5 req/s (Poisson)",
                                     "43 200 requests",
                                     "seed 42"));
}

TEST(Headline, NamesTheKindOfWorkload) {
  EXPECT_EQ(workload_piece({{"workload.request_rate", "2"}, {"workload.burstiness", "0.5"}}),
            "2 req/s (gamma, burstiness 0.5)");
  EXPECT_EQ(workload_piece({{"workload.request_rate", "2"}, {"workload.arrivals", "constant"}}),
            "2 req/s (constant)");
  EXPECT_EQ(workload_piece({{"workload.arrivals", "at-once"}}), "all requests at once");
  EXPECT_EQ(workload_piece({{"workload.max_concurrency", "1000"}}),
            "1 000 clients in a closed loop");
  EXPECT_EQ(workload_piece({{"workload.trace", "t.csv"}, {"workload.trace_speed_up", "2"}}),
            "t.csv at 2x speed");
}

TEST(Headline, NamesTheProfileOfTheEngine) {
  const auto engine_piece = [](const char* version) {
    return headline(resolved({{"workload.arrivals", "at-once"}, {"engine.version", version}}),
                    sim::RunOutcome())[1];
  };
  EXPECT_EQ(engine_piece("0.16.2"), "vllm@0.15");
  EXPECT_EQ(engine_piece("sglang@0.5.9"), "sglang@0.5.5");
  EXPECT_EQ(engine_piece("tensorrt-llm"), "tensorrt-llm@1.2");
}

TEST(Headline, NamesFormatsAliasesAndOtherModels) {
  const auto first = [](std::vector<scenario::Override> overrides) {
    return headline(resolved(std::move(overrides)), sim::RunOutcome()).front();
  };
  EXPECT_EQ(first({{"engine.quantization", "fp8"}, {"engine.kv_cache_dtype", "fp8"}}),
            "llama-3.1-8b (fp8, KV fp8) on h100");
  EXPECT_EQ(first({{"model", "gpt-oss-20b"}}), "gpt-oss-20b (mxfp4) on h100");
  EXPECT_EQ(first({{"model", "qwen3-8b-fp8"}}), "qwen3-8b-fp8 on h100");
  EXPECT_EQ(first({{"model", "Qwen/Qwen3-8B"}}), "Qwen/Qwen3-8B (qwen3-8b) on h100");
  EXPECT_EQ(first({{"latency.name", "v0"}}), "llama-3.1-8b on h100, step times by v0");
}

TEST(PlaceText, FilesHaveOneAndTheCommandLineHasNone) {
  EXPECT_EQ(place_text({.file = "s.yaml", .line = 3, .column = 9}), "s.yaml:3:9");
  EXPECT_EQ(place_text({.file = "command line"}), "");
  EXPECT_EQ(place_text({}), "");
}

}  // namespace
}  // namespace ridgeline::verbs
