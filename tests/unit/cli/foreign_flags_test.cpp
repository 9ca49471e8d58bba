#include "cli/foreign_flags.hpp"

#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/arguments.hpp"
#include "cli/bench_words.hpp"
#include "cli/common.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "scenario/foreign_flags.hpp"
#include "support/paths.hpp"

namespace ridgeline::cli {
namespace {

using ::testing::HasSubstr;

/// The flags of `run`, as far as these tables name them.
std::vector<FlagSpec> own_flags() {
  std::vector<FlagSpec> flags = scenario_flags(ScenarioPart::kWhole);
  flags.push_back(output_flag());
  for (const char* name : {"requests-out", "steps-out", "client-results"}) {
    flags.push_back({.name = name});
  }
  for (auto& flag : saved_result_flags()) {
    flags.push_back(std::move(flag));
  }
  for (auto& flag : manner_flags("table")) {
    flags.push_back(std::move(flag));
  }
  return flags;
}

std::set<std::string> known_names() {
  std::set<std::string> names;
  const auto own = own_flags();
  for (const auto& flags : {own, foreign_flags(own)}) {
    for (const FlagSpec& flag : flags) {
      names.insert(flag.name);
    }
  }
  return names;
}

core::Result<Arguments> foreign_parsed(const std::vector<std::string>& words) {
  return parse_arguments(words, own_flags(), foreign_flags);
}

TEST(ForeignFlags, NamesAreOfFlagsOfOurs) {
  const auto own = own_flags();
  for (const std::string_view name : scenario::kForeignPrograms) {
    const scenario::ForeignProgram& program = scenario::foreign_program(name);
    for (const scenario::ForeignFlag& flag : program.flags) {
      if (flag.answer == scenario::ForeignFlag::Answer::kMeans && program.verb.empty()) {
        EXPECT_NE(find_spec(own, flag.text), nullptr) << flag.name;
        EXPECT_EQ(find_spec(own, flag.name), nullptr) << flag.name;
      }
    }
  }
}

TEST(ForeignFlags, AreAskedForOnlyWhereAWordIsNoneOfTheVerbs) {
  static int asked = 0;
  const auto further = [](std::span<const FlagSpec> /*own*/) {
    ++asked;
    return std::vector<FlagSpec>{{.name = "theirs", .meaning = "ours"}};
  };
  const std::vector<FlagSpec> own = {{.name = "ours"}, {.name = "output", .letter = 'o'}};
  const std::vector<std::string> plain = {"--ours", "1", "-o", "a", "-o=b"};
  static_cast<void>(parse_arguments(plain, own, further));
  EXPECT_EQ(asked, 0);
  const std::vector<std::string> foreign = {"--theirs", "1", "--other"};
  EXPECT_FALSE(parse_arguments(foreign, own, further));
  EXPECT_EQ(asked, 1);
}

TEST(ForeignFlags, AreReadAsOurs) {
  const auto found = foreign_parsed({"-tp",
                                     "4",
                                     "-pp=2",
                                     "--num_gpu_blocks_override=100",
                                     "--random-input-len",
                                     "7",
                                     "--rate",
                                     "3",
                                     "--results-path",
                                     "a.json"});
  ASSERT_TRUE(found) << core::to_string(found.error().front());
  EXPECT_EQ(found->value("tensor-parallel-size"), "4");
  EXPECT_EQ(found->value("pipeline-parallel-size"), "2");
  EXPECT_EQ(found->value("num-gpu-blocks"), "100");
  EXPECT_EQ(found->value("input-len"), "7");
  EXPECT_EQ(found->value("request-rate"), "3");
  EXPECT_EQ(found->value("output"), "a.json");
}

TEST(ForeignFlags, AreAnswered) {
  const auto found =
      foreign_parsed({"--kv-transfer-config={}", "--no-enable-eplb", "--scheduler=x"});
  ASSERT_FALSE(found);
  ASSERT_EQ(found.error().size(), 3U);
  EXPECT_THAT(found.error()[0].message, HasSubstr("is not modelled"));
  EXPECT_EQ(found.error()[1].field, "--no-enable-eplb");
  EXPECT_THAT(found.error()[2].message, HasSubstr("--scheduling-policy"));
}

TEST(ForeignFlags, WithoutEffectArePassedOverWithTheirValues) {
  const auto found = foreign_parsed({"--swap-space",
                                     "4",
                                     "--disable-tqdm",
                                     "scenario.yaml",
                                     "--backend=vllm",
                                     "--no-enable-log-requests",
                                     "--hf-token",
                                     "--served-model-name",
                                     "a",
                                     "b",
                                     "--host",
                                     "::1",
                                     "--seed",
                                     "3"});
  ASSERT_TRUE(found) << core::to_string(found.error().front());
  EXPECT_EQ(found->positionals, std::vector<std::string>{"scenario.yaml"});
  ASSERT_EQ(found->flags.size(), 1U);
  EXPECT_EQ(found->value("seed"), "3");
  const auto warnings = flag_warnings(*found);
  ASSERT_EQ(warnings.size(), 5U);
  EXPECT_EQ(warnings[0].code, "W-ignored-flag");
  EXPECT_THAT(warnings[0].message, HasSubstr("--swap-space: no effect on timing"));
  EXPECT_THAT(warnings[2].message,
              HasSubstr("--backend, --no-enable-log-requests, --host: no effect on timing"));
}

TEST(ForeignFlags, AVerbWithoutADeploymentHasItsOwnAlone) {
  const std::vector<FlagSpec> own = {{.name = "output"}};
  const auto further = foreign_flags(own);
  ASSERT_EQ(further.size(), 1U);
  EXPECT_EQ(further[0].name, "results-path");
}

/// Every flag of `vllm bench serve` (vllm/benchmarks/serve.py and datasets.py, 0.10 to 0.18), and
/// the twelve of inference-sim that its users type first.
TEST(ForeignFlags, KnowBenchServeAndInferenceSim) {
  const auto known = known_names();
  for (const char* name : {"backend",
                           "base-url",
                           "host",
                           "port",
                           "endpoint",
                           "header",
                           "max-concurrency",
                           "model",
                           "tokenizer",
                           "use-beam-search",
                           "logprobs",
                           "request-rate",
                           "burstiness",
                           "trust-remote-code",
                           "disable-tqdm",
                           "num-warmups",
                           "profile",
                           "save-result",
                           "save-detailed",
                           "append-result",
                           "metadata",
                           "result-dir",
                           "result-filename",
                           "ignore-eos",
                           "percentile-metrics",
                           "metric-percentiles",
                           "goodput",
                           "request-id-prefix",
                           "top-p",
                           "top-k",
                           "min-p",
                           "temperature",
                           "frequency-penalty",
                           "presence-penalty",
                           "repetition-penalty",
                           "tokenizer-mode",
                           "served-model-name",
                           "lora-modules",
                           "lora-assignment",
                           "ramp-up-strategy",
                           "ramp-up-start-rps",
                           "ramp-up-end-rps",
                           "ready-check-timeout-sec",
                           "extra-body",
                           "skip-tokenizer-init",
                           "insecure",
                           "label",
                           "plot-timeline",
                           "plot-dataset-stats",
                           "timeline-itl-thresholds",
                           "seed",
                           "num-prompts",
                           "dataset-name",
                           "no-stream",
                           "dataset-path",
                           "no-oversample",
                           "skip-chat-template",
                           "enable-multimodal-chat",
                           "disable-shuffle",
                           "custom-output-len",
                           "spec-bench-output-len",
                           "spec-bench-category",
                           "sonnet-input-len",
                           "sonnet-output-len",
                           "sonnet-prefix-len",
                           "sharegpt-output-len",
                           "blazedit-min-distance",
                           "blazedit-max-distance",
                           "asr-max-audio-len-sec",
                           "asr-min-audio-len-sec",
                           "random-input-len",
                           "random-output-len",
                           "random-range-ratio",
                           "random-prefix-len",
                           "random-batch-size",
                           "no-reranker",
                           "random-mm-base-items-per-request",
                           "random-mm-num-mm-items-range-ratio",
                           "random-mm-limit-mm-per-prompt",
                           "random-mm-bucket-config",
                           "hf-subset",
                           "hf-split",
                           "hf-name",
                           "hf-output-len",
                           "prefix-repetition-prefix-len",
                           "prefix-repetition-suffix-len",
                           "prefix-repetition-num-prefixes",
                           "prefix-repetition-output-len",
                           "input-len",
                           "output-len"}) {
    EXPECT_TRUE(known.contains(name)) << name;
  }
  for (const char* name : {"rate",
                           "num-requests",
                           "prompt-tokens",
                           "workload-spec",
                           "total-kv-blocks",
                           "block-size-in-tokens",
                           "max-num-running-reqs",
                           "max-num-scheduled-tokens",
                           "latency-model",
                           "results-path",
                           "horizon",
                           "log"}) {
    EXPECT_TRUE(known.contains(name)) << name;
  }
}

TEST(ForeignFlags, KnowEveryFlagOfEightVersionsOfVllmServe) {
  const auto path = test::shared_dir() / "schemas" / "vllm-serve-flags.json";
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << "the flag lists of vLLM are not beside the checkout";
  }
  const auto lists = document::read_document(path.string());
  ASSERT_TRUE(lists);
  const auto known = known_names();
  std::set<std::string> unknown;
  std::size_t versions = 0;
  for (const auto& version : lists->find("flags")->members()) {
    ++versions;
    for (const auto& flag : version.value.items()) {
      const std::string name = flag.as_string().substr(2);
      if (!known.contains(name)) {
        unknown.insert(name);
      }
    }
  }
  EXPECT_EQ(versions, 8U);
  EXPECT_THAT(unknown, testing::IsEmpty());
}

}  // namespace
}  // namespace ridgeline::cli
