#include "cli/bench_words.hpp"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/arguments.hpp"
#include "cli/common.hpp"
#include "cli/foreign_flags.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "scenario/scenario.hpp"
#include "workload/options.hpp"

namespace ridgeline::cli {
namespace {

using ::testing::HasSubstr;

core::Result<scenario::LoadedScenario> bench_loaded(std::vector<std::string> more) {
  std::vector<std::string> words = {"--model", "llama-3.1-8b", "--gpu", "h100"};
  words.insert(words.end(), more.begin(), more.end());
  return parse_arguments(words, scenario_flags(ScenarioPart::kWhole), foreign_flags)
      .and_then(
          [](const Arguments& arguments) { return load(arguments, scenario::Purpose::kRun); });
}

std::string bench_problem(std::vector<std::string> more) {
  const auto result = bench_loaded(std::move(more));
  return result ? "no problem" : core::to_string(result.error().front());
}

TEST(BenchWords, ADataSetBringsItsDefaults) {
  const auto random = bench_loaded({"--dataset-name", "random", "--random-output-len", "9"});
  ASSERT_TRUE(random);
  const auto& workload = random->scenario.workload;
  // vLLM's defaults: 1024 tokens, everything at once.
  EXPECT_EQ(std::get<workload::FixedLength>(*workload.input_len).value, core::Tokens(1024));
  EXPECT_EQ(std::get<workload::FixedLength>(*workload.output_len).value, core::Tokens(9));
  EXPECT_EQ(workload.arrivals, "at-once");
  EXPECT_TRUE(random->scenario.deployment.latency.random_tokens);
  const auto prefixes =
      bench_loaded({"--dataset-name", "prefix_repetition", "--request-rate", "4"});
  ASSERT_TRUE(prefixes);
  EXPECT_EQ(prefixes->scenario.workload.num_prefixes, 10);
  EXPECT_EQ(prefixes->scenario.workload.prefix_len, 256);
  EXPECT_EQ(prefixes->scenario.workload.request_rate, 4.0);
  const auto file = bench_loaded({"--dataset-name", "sharegpt", "--dataset-path", "s.json"});
  ASSERT_TRUE(file);
  EXPECT_EQ(file->scenario.workload.trace, "s.json");
  EXPECT_EQ(file->scenario.workload.arrivals, "at-once");
  EXPECT_FALSE(file->scenario.deployment.latency.random_tokens);
  EXPECT_THAT(bench_problem({"--dataset-name", "sharegpt"}), HasSubstr("--dataset-path FILE"));
  EXPECT_THAT(bench_problem({"--dataset-name", "hf"}), HasSubstr("expected one of: random"));
  EXPECT_THAT(bench_problem({"--dataset-name", "random", "--trace", "t.csv"}),
              HasSubstr("random has no file"));
}

TEST(BenchWords, SonnetsPromptsIncludeTheirPrefix) {
  // vLLM's defaults: 550 tokens, 200 of them the common prefix; 150 out.
  const auto plain = bench_loaded({"--dataset-name", "sonnet", "--dataset-path", "sonnet.txt"});
  ASSERT_TRUE(plain) << core::to_string(plain.error().front());
  const auto& workload = plain->scenario.workload;
  EXPECT_EQ(workload.prefix_len, 200);
  EXPECT_EQ(std::get<workload::FixedLength>(*workload.input_len).value, core::Tokens(350));
  EXPECT_EQ(std::get<workload::FixedLength>(*workload.output_len).value, core::Tokens(150));
  EXPECT_FALSE(workload.trace.has_value());
  const auto longer = bench_loaded(
      {"--dataset-name", "sonnet", "--sonnet-input-len", "1000", "--sonnet-prefix-len", "100"});
  ASSERT_TRUE(longer);
  EXPECT_EQ(std::get<workload::FixedLength>(*longer->scenario.workload.input_len).value,
            core::Tokens(900));
  EXPECT_THAT(bench_problem({"--dataset-name", "sonnet", "--sonnet-input-len", "200"}),
              HasSubstr("the first of them larger"));
}

TEST(BenchWords, GoodputIsTargetsInMilliseconds) {
  const auto found = bench_loaded({"--goodput",
                                   "ttft:500",
                                   "e2el:2000.5",
                                   "--request-rate",
                                   "1",
                                   "--input-len",
                                   "5",
                                   "--output-len",
                                   "2"});
  ASSERT_TRUE(found) << core::to_string(found.error().front());
  EXPECT_EQ(found->scenario.run.slo.ttft, core::Duration::milliseconds(500));
  EXPECT_EQ(found->scenario.run.slo.e2e, core::Duration::microseconds(2'000'500));
  EXPECT_FALSE(found->scenario.run.slo.tpot.has_value());
  EXPECT_THAT(bench_problem({"--goodput", "itl:5", "--request-rate", "1"}),
              HasSubstr("expected ttft:MS"));
  EXPECT_THAT(bench_problem({"--goodput", "ttft:5", "--slo-ttft", "5ms", "--request-rate", "1"}),
              HasSubstr("--slo-ttft too"));
}

TEST(BenchWords, ASavedResultIsAClientsFile) {
  std::vector<FlagSpec> flags = scenario_flags(ScenarioPart::kWhole);
  for (auto& flag : saved_result_flags()) {
    flags.push_back(std::move(flag));
  }
  const auto written = [&](const std::vector<std::string>& words) {
    auto found = parse_arguments(words, flags, foreign_flags).value_or(Arguments());
    take_saved_result(found);
    return found.value("client-results");
  };
  EXPECT_EQ(written({"--save-result", "--model", "org/net", "--request-rate", "8"}),
            "vllm-bench=vllm-8qps-net.json");
  EXPECT_EQ(written({"--result-filename", "r.json", "--result-dir", "out"}),
            "vllm-bench=out/r.json");
  EXPECT_EQ(written({"--save-detailed"}), "");
}

TEST(BenchWords, ARangeRatioMakesLengthsUniform) {
  const auto varied = bench_loaded({"--random-input-len",
                                    "101",
                                    "--random-output-len",
                                    "1",
                                    "--random-range-ratio",
                                    "0.5",
                                    "--request-rate",
                                    "1"});
  ASSERT_TRUE(varied);
  // floor(101 * 0.5) = 50, ceil(101 * 1.5) = 152; outputs of at least one token.
  const auto input = std::get<workload::UniformLength>(*varied->scenario.workload.input_len);
  EXPECT_EQ(input.lowest, core::Tokens(50));
  EXPECT_EQ(input.highest, core::Tokens(152));
  const auto output = std::get<workload::UniformLength>(*varied->scenario.workload.output_len);
  EXPECT_EQ(output.lowest, core::Tokens(1));
  EXPECT_EQ(output.highest, core::Tokens(2));
  EXPECT_THAT(bench_problem({"--random-range-ratio", "1", "--request-rate", "1"}),
              HasSubstr("from 0 to below 1"));
  EXPECT_THAT(bench_problem({"--random-range-ratio", "0.1", "--request-rate", "1"}),
              HasSubstr("nothing to vary"));
}

TEST(BenchWords, AnInfiniteRateSendsEverythingAtOnce) {
  const std::vector<std::string> lengths = {"--input-len", "5", "--output-len", "2"};
  auto words = lengths;
  words.insert(words.end(), {"--request-rate", "inf", "--ignore-eos"});
  const auto all = bench_loaded(words);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->scenario.workload.arrivals, "at-once");
  EXPECT_EQ(all->scenario.workload.request_rate, std::nullopt);
  words.insert(words.end(), {"--max-concurrency", "8"});
  const auto limited = bench_loaded(words);
  ASSERT_TRUE(limited) << core::to_string(limited.error().front());
  EXPECT_EQ(limited->scenario.workload.max_concurrency, 8);
  words = lengths;
  words.insert(words.end(), {"--request-rate", "inf", "--arrivals", "poisson"});
  EXPECT_THAT(bench_problem(words), HasSubstr("all requests at once"));
}

}  // namespace
}  // namespace ridgeline::cli
