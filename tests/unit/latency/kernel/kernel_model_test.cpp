#include "latency/kernel/kernel_model.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "hardware/gpu_spec.hpp"
#include "latency/step_time_model.hpp"
#include "model/model_spec.hpp"
#include "unit/latency/kernel_fixtures.hpp"

namespace ridgeline::latency {
namespace {

using domain::Bottleneck;
using fixtures::chunk;
using fixtures::decodes;
using fixtures::gpu;
using fixtures::milliseconds;
using fixtures::Step;
using fixtures::Subject;

/// The golden values were printed to four or five digits by another implementation of the same
/// equations, from constants before they were rounded to three.
constexpr double kGoldenTolerance = 1e-3;

struct Golden {
  std::string name;
  model::ModelSpec network;
  std::int64_t ranks;
  std::array<double, 5> decodes_ms;  ///< 1, 8, 32, 64 and 128 sequences with a context of 700 each.
  double prefill_ms;                 ///< One chunk of 2,048 tokens.
  double mixed_ms;                   ///< 32 decodes and a chunk of 512 tokens after 1,024.
};

std::vector<Golden> golden() {
  return {{"Llama-2-7B",
           fixtures::llama_2_7b(),
           1,
           {6.012, 6.943, 10.136, 14.394, 22.954},
           43.194,
           18.731},
          {"Mistral-Nemo-12B",
           fixtures::mistral_nemo_12b(),
           2,
           {5.883, 6.076, 6.740, 7.643, 9.515},
           44.976,
           16.031},
          {"Llama-3.1-70B",
           fixtures::llama_31_70b(),
           4,
           {15.790, 16.398, 18.472, 20.618, 25.339},
           139.343,
           48.826},
          {"Qwen2.5-7B",
           fixtures::qwen25_7b(),
           1,
           {6.107, 6.650, 8.512, 10.996, 16.033},
           42.238,
           16.428},
          {"Llama-4-Scout FP8",
           fixtures::llama_4_scout_fp8(),
           2,
           {7.599, 13.249, 22.110, 26.174, 31.358},
           63.589,
           35.766}};
}

TEST(KernelModel, ReproducesTheGoldenStepTimes) {
  for (const Golden& row : golden()) {
    SCOPED_TRACE(row.name);
    const Subject subject(row.network, gpu("h100"), row.ranks);
    const auto expect = [&](const Step& step, double expected_ms) {
      EXPECT_NEAR(milliseconds(subject.model().predict(step.batch())),
                  expected_ms,
                  expected_ms * kGoldenTolerance);
    };
    constexpr std::array<std::int64_t, 5> kSizes = {1, 8, 32, 64, 128};
    for (std::size_t i = 0; i < kSizes.size(); ++i) {
      expect(decodes(kSizes[i], 700), row.decodes_ms[i]);
    }
    expect({.num_decodes = 0, .context = 0, .chunks = {chunk(0, 2048)}}, row.prefill_ms);
    expect({.num_decodes = 32, .context = 32 * 700, .chunks = {chunk(1024, 512)}}, row.mixed_ms);
  }
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
TEST(KernelModel, ReproducesTheGoldenDecomposition) {
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
      EXPECT_NEAR(sum_ms(found, names), expected, 0.005 + expected * kGoldenTolerance);
    };
    expect({"qkv_proj", "o_proj", "gate_up_proj", "down_proj", "lm_head"}, split.gemm);
    expect({"attention", "logits_exchange"}, split.attention);
    expect({"all_reduce"}, split.all_reduce);
    expect({"sampling"}, split.sampling);
    expect({"elementwise", "launch_gaps"}, split.launch_and_elementwise);
  }
}

std::vector<Step> assorted_steps() {
  return {decodes(1, 10),
          decodes(33, 700),
          decodes(700, 4000),
          {.num_decodes = 0, .context = 0, .chunks = {chunk(0, 2048)}},
          {.num_decodes = 0, .context = 0, .chunks = {chunk(0, 2048, false)}},
          {.num_decodes = 0, .context = 0, .chunks = {chunk(500, 7), chunk(90, 16)}},
          {.num_decodes = 9,
           .context = 12345,
           .chunks = {chunk(100, 3), chunk(0, 300), chunk(4000, 77, false)}},
          {.num_decodes = 2, .context = 64, .chunks = {chunk(0, 20000)}}};
}

TEST(KernelModel, PartsAndRoundingSumToTheStep) {
  for (const Golden& row : golden()) {
    const Subject subject(row.network, gpu("h100"), row.ranks);
    for (const Step& step : assorted_steps()) {
      const Explanation found = subject.model().explain(step.batch());
      EXPECT_EQ(found.total, subject.model().predict(step.batch()));
      std::array<double, domain::kNumBottlenecks> by_kind{};
      core::Seconds sum;
      for (const OperatorTime& part : found.parts) {
        sum += part.time;
        by_kind[static_cast<std::size_t>(part.bottleneck)] += part.time.value();
        EXPECT_FALSE(part.source.empty()) << part.name;
        EXPECT_GE(part.calls, 1) << part.name;
      }
      EXPECT_EQ((sum + found.rounding).value(), found.total.gpu().to_seconds());
      // Each operator is rounded by at most half a picosecond, but for decode attention, whose
      // slope per token of context is: half a picosecond times a context of 2.8e6 tokens.
      EXPECT_LT(std::abs(found.rounding.value()), 1.5e-6);
      for (std::size_t kind = 0; kind < by_kind.size(); ++kind) {
        EXPECT_NEAR(found.total.by_bottleneck[kind].to_seconds(), by_kind[kind], 1.5e-6);
      }
    }
  }
}

TEST(KernelModel, MemoryChangesNothing) {
  for (const Golden& row : golden()) {
    const Subject subject(row.network, gpu("h100"), row.ranks);
    for (const Step& step : assorted_steps()) {
      const domain::StepTime fresh = subject.model().recompute(step.batch());
      EXPECT_EQ(subject.model().predict(step.batch()), fresh);  // fills
      EXPECT_EQ(subject.model().predict(step.batch()), fresh);  // reads
    }
  }
}

TEST(KernelModel, TwoThreadsAgree) {
  const Subject subject(fixtures::llama_31_70b(), gpu("h100"), 4);
  const auto run = [&subject](std::vector<core::Duration>& times) {
    for (std::int64_t count = 1; count <= 300; ++count) {
      times.push_back(subject.model().predict(decodes(count, 700).batch()).gpu());
    }
  };
  std::vector<core::Duration> first;
  std::vector<core::Duration> second;
  std::thread other([&] { run(second); });
  run(first);
  other.join();
  EXPECT_EQ(first, second);
}

TEST(KernelModel, AStepWithoutTokensTakesNoTime) {
  const Subject subject(fixtures::llama_2_7b(), gpu("h100"), 1);
  EXPECT_EQ(subject.model().predict({}), domain::StepTime{});
  EXPECT_TRUE(subject.model().explain({}).parts.empty());
  EXPECT_FALSE(subject.model().affine(0, core::Tokens(0)).has_value());
}

TEST(KernelModel, LeavesHostTimeToTheEngine) {
  const Subject subject(fixtures::llama_2_7b(), gpu("h100"), 1);
  EXPECT_EQ(subject.model().predict(decodes(8, 700).batch()).cpu, core::Duration());
}

TEST(KernelModel, SamplesOnlyWhereAChunkEndsItsPrompt) {
  const Subject subject(fixtures::llama_31_70b(), gpu("h100"), 4);
  const Step samples{.num_decodes = 0, .context = 0, .chunks = {chunk(0, 1000)}};
  const Step goes_on{.num_decodes = 0, .context = 0, .chunks = {chunk(0, 1000, false)}};
  const Explanation with = subject.model().explain(samples.batch());
  const Explanation without = subject.model().explain(goes_on.batch());
  EXPECT_GT(with.total.gpu(), without.total.gpu());
  EXPECT_EQ(with.parts.size(), without.parts.size() + 3);  // lm_head, exchange, sampling
  EXPECT_EQ(sum_ms(without, {"lm_head", "logits_exchange", "sampling"}), 0.0);
}

TEST(KernelModel, LmHeadRunsOnSampledSequencesOnly) {
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

TEST(KernelModel, PadsToTheNextGraph) {
  const Subject subject(fixtures::mistral_nemo_12b(), gpu("h100"), 2);
  EXPECT_EQ(subject.model().padded(1), 1);
  EXPECT_EQ(subject.model().padded(3), 4);
  EXPECT_EQ(subject.model().padded(250), 256);
  EXPECT_EQ(subject.model().padded(257), 272);
  EXPECT_EQ(subject.model().padded(512), 512);
  EXPECT_EQ(subject.model().padded(513), 513);
  // Two chunks that only differ below the padding cost the same but for their attention.
  const Step shorter{.num_decodes = 0, .context = 0, .chunks = {chunk(0, 241)}};
  const Step longer{.num_decodes = 0, .context = 0, .chunks = {chunk(0, 256)}};
  const Explanation a = subject.model().explain(shorter.batch());
  const Explanation b = subject.model().explain(longer.batch());
  ASSERT_EQ(a.parts.size(), b.parts.size());
  for (std::size_t i = 0; i < a.parts.size(); ++i) {
    if (a.parts[i].name != "attention") {
      EXPECT_EQ(a.parts[i].time, b.parts[i].time) << a.parts[i].name;
    }
  }
}

TEST(KernelModel, WithoutGraphsNothingIsPadded) {
  const model::ModelSpec network = fixtures::llama_2_7b();
  const hardware::GpuSpec h100 = gpu("h100");
  const Execution eager{.sharding = {}, .cuda_graph_sizes = {}};
  const kernel::KernelModel model({.network = network, .gpu = h100, .execution = eager},
                                  kernel::builtin_constants());
  EXPECT_EQ(model.padded(3), 3);
  EXPECT_EQ(model.padded(100'000), 100'000);
}

TEST(KernelModel, AShortChunkOfOneTokenIsADecode) {
  const Subject subject(fixtures::qwen25_7b(), gpu("h100"), 1);
  const Step as_chunks{.num_decodes = 3, .context = 900, .chunks = {chunk(100, 1), chunk(500, 1)}};
  const Step as_decodes{.num_decodes = 5, .context = 1500, .chunks = {}};
  EXPECT_EQ(subject.model().predict(as_chunks.batch()),
            subject.model().predict(as_decodes.batch()));
}

TEST(KernelModel, ShortChunksRunInTheDecodeKernel) {
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

TEST(KernelModel, AffineIsPredictBitForBit) {
  for (const Golden& row : golden()) {
    const Subject subject(row.network, gpu("h100"), row.ranks);
    for (const std::int64_t count : {1, 2, 7, 64, 300, 3000}) {
      for (const std::int64_t each : {0, 1, 700, 100'000}) {
        const core::Tokens context(count * each);
        const auto step = subject.model().affine(count, context);
        ASSERT_TRUE(step.has_value());
        EXPECT_LE(step->lowest, context);
        EXPECT_GE(step->highest, context);
        for (const core::Tokens at : {step->lowest, context, step->highest}) {
          const Step same{.num_decodes = count, .context = at.value(), .chunks = {}};
          EXPECT_EQ(step->at(at), subject.model().predict(same.batch()));
        }
      }
    }
  }
}

/// A decode kernel that is short enough to meet the floor: with almost no launch time, 8 us buy
/// 8e-6 s * 0.936 * 3.35e12 B/s = 25.1 MB of KV cache.
TEST(KernelModel, AffineEndsAtTheFloor) {
  kernel::Constants constants = kernel::builtin_constants();
  for (kernel::Column& column : constants.columns) {
    column.decode_attention->fixed = core::microseconds(1.0);
  }
  const model::ModelSpec network = fixtures::qwen25_7b();
  const hardware::GpuSpec h100 = gpu("h100");
  const Execution execution{.sharding = {}, .cuda_graph_sizes = fixtures::graph_sizes()};
  const kernel::KernelModel model({.network = network, .gpu = h100, .execution = execution},
                                  constants);
  const auto below = model.affine(4, core::Tokens(100));
  ASSERT_TRUE(below.has_value());
  EXPECT_EQ(below->slope, core::Duration());
  EXPECT_EQ(below->lowest, core::Tokens(0));
  // 4 KV heads of 128, K and V, 2 bytes: 2,048 bytes a token. Line = 1 + 4*4/132*0.661 us + (K*2048
  // + 4*(2048 + 28*128*4)) / 3.1356e12 s; it reaches 8 us at K = (6.919878e-6*3.1356e12 - 65536) /
  // 2048 = 10562.7, give or take the rounding of the slope: 28 * 653.1 ps = 18288.1, rounded to
  // 18288.
  EXPECT_NEAR(static_cast<double>(below->highest.value()), 10562.0, 1.0);
  const auto above = model.affine(4, below->highest + core::Tokens(1));
  ASSERT_TRUE(above.has_value());
  EXPECT_EQ(above->lowest, below->highest + core::Tokens(1));
  EXPECT_EQ(above->slope, core::Duration::ticks(18288));
  for (const std::int64_t offset : {-1, 0, 1, 2}) {
    const core::Tokens at = below->highest + core::Tokens(offset);
    const Step same{.num_decodes = 4, .context = at.value(), .chunks = {}};
    EXPECT_EQ((offset <= 0 ? *below : *above).at(at), model.predict(same.batch()));
  }
}

TEST(KernelModel, AffineRefusesWhatIsNotABatch) {
  const Subject subject(fixtures::llama_2_7b(), gpu("h100"), 1);
  EXPECT_FALSE(subject.model().affine(-1, core::Tokens(10)).has_value());
  EXPECT_FALSE(subject.model().affine(1, core::Tokens(-1)).has_value());
  EXPECT_FALSE(subject.model().affine(1, core::Tokens(kernel::kMaxContext + 1)).has_value());
}

TEST(KernelModel, LaunchGapsAreOverheadAndExchangesAreNetwork) {
  const Subject subject(fixtures::llama_31_70b(), gpu("h100"), 4);
  const domain::StepTime time = subject.model().predict(decodes(32, 700).batch());
  // 80 layers * 7.5 us + 31 us
  EXPECT_EQ(time.of(Bottleneck::kOverhead), core::Duration::microseconds(631));
  // The golden 1.69 ms of all-reduces, and 18 us for the logits: one-shot for 32 * 32,064 * 2 bytes
  // = 2.05 MB is over, so max(12, 6.9 + 1.5 * 2.05e6 / (0.591 * 450e3)) = 18.5 us.
  EXPECT_NEAR(time.of(Bottleneck::kNetwork).to_milliseconds(), 1.692 + 0.0185, 0.002);
  EXPECT_EQ(time.of(Bottleneck::kCompute),
            core::Duration());  // 32 rows: far left of the ridge point
}

TEST(KernelModel, LargePrefillsAreComputeBound) {
  const Subject subject(fixtures::llama_2_7b(), gpu("h100"), 1);
  const Step prefill{.num_decodes = 0, .context = 0, .chunks = {chunk(0, 4096)}};
  const Explanation found = subject.model().explain(prefill.batch());
  for (const OperatorTime& part : found.parts) {
    if (part.name == "qkv_proj" || part.name == "attention") {
      EXPECT_EQ(part.bottleneck, Bottleneck::kCompute) << part.name;
    }
  }
  EXPECT_GT(found.total.of(Bottleneck::kCompute).count() * 10, found.total.gpu().count() * 9);
}

TEST(KernelModel, ExplainsEveryOperatorInOrder) {
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
  // Two attention kernels and the two-shot-free exchanges: the losing side of each hard maximum.
  EXPECT_GE(found.hidden.size(), 2U);
}

TEST(KernelModel, ExpandsFp8WeightsWhereTheGpuHasNoFp8) {
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

TEST(KernelModel, RefusesAGpuWithoutTheFacts) {
  hardware::GpuSpec bare = gpu("h100");
  bare.name = "mystery";
  bare.num_sms = 0;
  bare.link_bandwidth = core::BytesPerSecond(0.0);
  const model::ModelSpec network = fixtures::llama_2_7b();
  const Execution execution{.sharding = {.tensor_parallel_size = 2}, .cuda_graph_sizes = {}};
  const auto made =
      kernel::make_kernel_model({.network = network, .gpu = bare, .execution = execution});
  ASSERT_FALSE(made.has_value());
  ASSERT_EQ(made.error().size(), 2U);
  EXPECT_EQ(made.error()[0].field, "hardware.num_sms");
  EXPECT_EQ(made.error()[1].field, "hardware.link_bandwidth");
  EXPECT_THAT(made.error()[0].message, testing::HasSubstr("mystery"));
}

TEST(KernelModel, RefusesAShardingThatDoesNotDivide) {
  const model::ModelSpec network = fixtures::llama_2_7b();
  const hardware::GpuSpec h100 = gpu("h100");
  const Execution execution{.sharding = {.tensor_parallel_size = 7}, .cuda_graph_sizes = {}};
  EXPECT_FALSE(kernel::make_kernel_model({.network = network, .gpu = h100, .execution = execution})
                   .has_value());
}

TEST(KernelModel, AbsurdFactsStayInRange) {
  hardware::GpuSpec slow = gpu("h100");
  slow.mem_bandwidth = core::BytesPerSecond(1e-3);
  slow.peak_bf16 = core::FlopsPerSecond(1e-3);
  const Subject subject(fixtures::llama_2_7b(), slow, 1);
  const domain::StepTime time = subject.model().predict(decodes(1000, 1'000'000'000'000).batch());
  for (const core::Duration part : time.by_bottleneck) {
    EXPECT_GE(part, core::Duration());
  }
  EXPECT_GT(time.gpu(), core::Duration::seconds(1000));
}

}  // namespace
}  // namespace ridgeline::latency
