// What KernelModel::explain says of a step.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/kernel/kernel_model.hpp"
#include "latency/step_time_model.hpp"
#include "model/model_spec.hpp"
#include "unit/latency/kernel_fixtures.hpp"

namespace ridgeline::latency {
namespace {

using domain::Bottleneck;
using fixtures::chunk;
using fixtures::decodes;
using fixtures::gpu;
using fixtures::Step;
using fixtures::Subject;

constexpr double kGoldenExplainTolerance = 1e-3;

/// Networks and their tensor-parallel degrees.
std::vector<std::pair<model::ModelSpec, std::int64_t>> networks() {
  return {{fixtures::llama_2_7b(), 1},
          {fixtures::mistral_nemo_12b(), 2},
          {fixtures::llama_31_70b(), 4},
          {fixtures::qwen25_7b(), 1},
          {fixtures::llama_4_scout_fp8(), 2}};
}

double sum_ms(const Explanation& explanation, const std::vector<std::string>& names) {
  double sum = 0.0;
  for (const OperatorTime& part : explanation.parts) {
    if (std::find(names.begin(), names.end(), part.name) != names.end()) {
      sum += part.time.value() * 1e3;
    }
  }
  return sum;
}

/// Where 32 decodes with a context of 700 each go, in ms, printed to two decimals. The exchange of
/// the logits was counted with attention.
TEST(Explain, ReproducesTheGoldenDecomposition) {
  struct Split {
    model::ModelSpec network;
    std::int64_t ranks;
    double gemm;
    double attention;
    double all_reduce;
    double sampling;
    double launch_and_elementwise;
  };
  const std::vector<Split> splits = {
      {fixtures::llama_31_70b(), 4, 12.89, 2.04, 1.69, 0.96, 0.86},
      {fixtures::llama_2_7b(), 1, 4.93, 4.48, 0.0, 0.36, 0.33},
      {fixtures::mistral_nemo_12b(), 2, 4.51, 1.34, 0.45, 0.02, 0.39},
      {fixtures::qwen25_7b(), 1, 5.19, 0.92, 0.0, 2.08, 0.29}};
  for (const Split& split : splits) {
    const Subject subject(split.network, gpu("h100"), split.ranks);
    const Explanation found = subject.model().explain(decodes(32, 700).batch());
    const auto expect = [&](const std::vector<std::string>& names, double expected) {
      EXPECT_NEAR(sum_ms(found, names), expected, 0.005 + expected * kGoldenExplainTolerance);
    };
    expect({"qkv_proj", "o_proj", "gate_up_proj", "down_proj", "lm_head"}, split.gemm);
    expect({"attention", "logits_exchange"}, split.attention);
    expect({"all_reduce"}, split.all_reduce);
    expect({"sampling"}, split.sampling);
    expect({"elementwise", "launch_gaps"}, split.launch_and_elementwise);
  }
}

TEST(Explain, PartsAndRoundingSumToTheStep) {
  for (const auto& [network, ranks] : networks()) {
    const Subject subject(network, gpu("h100"), ranks);
    for (const Step& step : fixtures::assorted_steps()) {
      const Explanation found = subject.model().explain(step.batch());
      EXPECT_EQ(found.total, subject.model().predict(step.batch()));
      core::Seconds sum;
      for (const OperatorTime& part : found.parts) {
        sum += part.time;
        EXPECT_FALSE(part.source.empty()) << part.name;
        EXPECT_GE(part.calls, 1) << part.name;
      }
      EXPECT_EQ((sum + found.rounding).value(), found.total.gpu().to_seconds());
      // Each operator is rounded by at most half a picosecond, but for decode attention, whose
      // slope per token of context is: half a picosecond times a context of 2.8e6 tokens.
      EXPECT_LT(std::abs(found.rounding.value()), 1.5e-6);
    }
  }
}

TEST(Explain, SamplesOnlyWhereAChunkEndsItsPrompt) {
  const Subject subject(fixtures::llama_31_70b(), gpu("h100"), 4);
  const Step samples{.num_decodes = 0, .context = 0, .chunks = {chunk(0, 1000)}};
  const Step goes_on{.num_decodes = 0, .context = 0, .chunks = {chunk(0, 1000, false)}};
  const Explanation with = subject.model().explain(samples.batch());
  const Explanation without = subject.model().explain(goes_on.batch());
  EXPECT_GT(with.total.gpu(), without.total.gpu());
  EXPECT_EQ(with.parts.size(), without.parts.size() + 3);  // lm_head, exchange, sampling
  EXPECT_EQ(sum_ms(without, {"lm_head", "logits_exchange", "sampling"}), 0.0);
}

TEST(Explain, LmHeadRunsOnSampledSequencesOnly) {
  const Subject subject(fixtures::llama_2_7b(), gpu("h100"), 1);
  const Step mixed{
      .num_decodes = 3, .context = 300, .chunks = {chunk(0, 500), chunk(0, 60, false)}};
  for (const OperatorTime& part : subject.model().explain(mixed.batch()).parts) {
    if (part.name == "lm_head") {
      EXPECT_EQ(part.shape, "4x4096x32000");  // three decodes and one finished prompt
    } else if (part.name == "qkv_proj") {
      EXPECT_EQ(part.shape, "563x4096x12288");  // above the largest graph: not padded
    }
  }
}

TEST(Explain, ShortChunksRunInTheDecodeKernel) {
  const Subject subject(fixtures::llama_2_7b(), gpu("h100"), 1);
  const auto phases = [&](const Step& step) {
    std::vector<std::string> found;
    for (const OperatorTime& part : subject.model().explain(step.batch()).parts) {
      if (part.name == "attention") {
        found.push_back(part.phase);
      }
    }
    return found;
  };
  using testing::ElementsAre;
  EXPECT_THAT(phases({.num_decodes = 2, .context = 100, .chunks = {chunk(900, 16)}}),
              ElementsAre("decode"));
  EXPECT_THAT(phases({.num_decodes = 0, .context = 0, .chunks = {chunk(900, 16)}}),
              ElementsAre("decode"));
  EXPECT_THAT(phases({.num_decodes = 2, .context = 100, .chunks = {chunk(900, 17)}}),
              ElementsAre("prefill", "decode"));
  EXPECT_THAT(phases({.num_decodes = 0, .context = 0, .chunks = {chunk(900, 17)}}),
              ElementsAre("prefill"));
}

TEST(Explain, ExplainsEveryOperatorInOrder) {
  const Subject subject(fixtures::llama_4_scout_fp8(), gpu("h100"), 2);
  const Step mixed{.num_decodes = 4, .context = 400, .chunks = {chunk(0, 100)}};
  const Explanation found = subject.model().explain(mixed.batch());
  std::vector<std::string> names;
  for (const OperatorTime& part : found.parts) {
    names.push_back(part.name);
  }
  EXPECT_THAT(names,
              testing::ElementsAre("qkv_proj",
                                   "attention",
                                   "attention",
                                   "o_proj",
                                   "experts",
                                   "shared_gate_up_proj",
                                   "shared_down_proj",
                                   "all_reduce",
                                   "elementwise",
                                   "launch_gaps",
                                   "lm_head",
                                   "logits_exchange",
                                   "sampling",
                                   "step_gap"));
  const OperatorTime& qkv = found.parts.front();
  EXPECT_EQ(qkv.calls, 48);
  EXPECT_EQ(qkv.shape, "104x5120x3584");  // (40/2 + 2*8/2) heads of 128
  EXPECT_EQ(qkv.phase, "step");
  EXPECT_EQ(qkv.source, "kernel (h100)");
  // 48 calls of 2*m*k*n FLOPs and 2*(k*n + m*k + m*n) bytes
  EXPECT_DOUBLE_EQ(qkv.flops.value(), 48.0 * 2.0 * 104.0 * 5120.0 * 3584.0);
  EXPECT_DOUBLE_EQ(qkv.bytes.value(),
                   48.0 * 2.0 * (5120.0 * 3584.0 + 104.0 * 5120.0 + 104.0 * 3584.0));
  // Both attention calls take a hard maximum; the one-shot exchanges do not.
  ASSERT_EQ(found.hidden.size(), 2U);
  EXPECT_EQ(found.hidden[0].phase, "prefill");
  EXPECT_LE(found.hidden[0].time, found.parts[1].time);
}

TEST(Explain, LargePrefillsAreComputeBound) {
  const Subject subject(fixtures::llama_2_7b(), gpu("h100"), 1);
  const Step prefill{.num_decodes = 0, .context = 0, .chunks = {chunk(0, 4096)}};
  const Explanation found = subject.model().explain(prefill.batch());
  for (const OperatorTime& part : found.parts) {
    if (part.name == "qkv_proj" || part.name == "attention") {
      EXPECT_EQ(part.bottleneck, Bottleneck::kCompute) << part.name;
    }
  }
  EXPECT_GT(found.total.of(Bottleneck::kCompute).count() * 5, found.total.gpu().count() * 4);
}

TEST(Explain, ExpandsFp8WeightsWhereTheGpuHasNoFp8) {
  const Subject subject(fixtures::llama_4_scout_fp8(), gpu("a100-80gb"), 2);
  const Explanation found = subject.model().explain(decodes(16, 700).batch());
  for (const OperatorTime& part : found.parts) {
    if (part.name == "experts" || part.name == "shared_down_proj") {
      EXPECT_EQ(part.source, "kernel (a100-80gb)") << "the 16-bit set of its own column";
    }
    if (part.name == "elementwise") {
      // Nothing is quantised: 48 layers * 16 tokens * (20*5120 + 4*(20 + 2*4)*128) bytes.
      EXPECT_DOUBLE_EQ(part.bytes.value(), 48.0 * 16.0 * (20.0 * 5120.0 + 4.0 * 28.0 * 128.0));
    }
  }
}

}  // namespace
}  // namespace ridgeline::latency
