#include "latency/kernel/kernel_model.hpp"

#include <algorithm>
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
#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"
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

/// Facts from the catalogues lead to the same picoseconds as facts written down here.
TEST(KernelModel, TheCataloguesLeadToTheGoldenTimes) {
  const std::vector<std::string> names = {
      "llama-2-7b", "mistral-nemo-12b", "llama-3.1-70b", "qwen2.5-7b", "llama-4-scout-fp8"};
  const auto h100 = hardware::find_gpu("h100");
  ASSERT_TRUE(h100.has_value());
  const std::vector<Golden> rows = golden();
  for (std::size_t i = 0; i < names.size(); ++i) {
    SCOPED_TRACE(names[i]);
    const auto network = model::find_model(names[i]);
    ASSERT_TRUE(network.has_value());
    const Subject found(*network, *h100, rows[i].ranks);
    const Subject written(rows[i].network, gpu("h100"), rows[i].ranks);
    const Step mixed{.num_decodes = 32, .context = 32 * 700, .chunks = {chunk(1024, 512)}};
    // Scout's layers attend in chunks or to everything: two operators in the catalogue's network,
    // each of whose times is rounded to a picosecond.
    EXPECT_NEAR(static_cast<double>(found.model().predict(mixed.batch()).gpu().count()),
                static_cast<double>(written.model().predict(mixed.batch()).gpu().count()),
                2.0);
  }
}

TEST(KernelModel, MemoryChangesNothing) {
  for (const Golden& row : golden()) {
    const Subject subject(row.network, gpu("h100"), row.ranks);
    for (const Step& step : fixtures::assorted_steps()) {
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

TEST(KernelModel, PadsToTheNextGraph) {
  const Subject subject(fixtures::mistral_nemo_12b(), gpu("h100"), 2);
  EXPECT_EQ(subject.model().padded(1), 1);
  EXPECT_EQ(subject.model().padded(3), 4);
  EXPECT_EQ(subject.model().padded(250), 256);
  EXPECT_EQ(subject.model().padded(257), 272);
  EXPECT_EQ(subject.model().padded(512), 512);
  EXPECT_EQ(subject.model().padded(513), 513);
  // Two chunks that only differ below the padding cost the same but for their attention.
  const Step shorter{.num_decodes = 0, .context = 0, .chunks = {chunk(0, 249)}};
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
                                  kernel::first_constants());
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

TEST(KernelModel, AWholePromptBesideDecodesIsALineAsWell) {
  for (const Golden& row : golden()) {
    const Subject subject(row.network, gpu("h100"), row.ranks);
    for (const std::int64_t count : {0, 1, 7, 64, 300}) {
      for (const std::int64_t prompt : {17, 100, 512, 8192, 20'000}) {
        const core::Tokens context(count * 700);
        const auto step = subject.model().affine_with_prompt(count, core::Tokens(prompt), context);
        ASSERT_TRUE(step.has_value());
        EXPECT_LE(step->lowest, context);
        EXPECT_GE(step->highest, context);
        for (const core::Tokens at : {step->lowest, context, step->highest}) {
          const Step same{.num_decodes = count,
                          .context = count == 0 ? 0 : at.value(),
                          .chunks = {chunk(0, prompt)}};
          EXPECT_EQ(step->at(at), subject.model().predict(same.batch()));
        }
      }
    }
    // Chunks of up to 16 tokens are the decode kernel's.
    EXPECT_FALSE(subject.model().affine_with_prompt(3, core::Tokens(16), core::Tokens(900)));
    EXPECT_FALSE(subject.model().affine_with_prompt(-1, core::Tokens(512), core::Tokens(900)));
    EXPECT_FALSE(subject.model().affine_with_prompt(3, core::Tokens(512), core::Tokens(-1)));
  }
}

/// 43 % of 3,000 shared tokens are read in no time: 1,290. Whatever else is in the step stays.
TEST(KernelModel, WhatIsSharedIsReadFromMemoryOnce) {
  const model::ModelSpec network = fixtures::llama_2_7b();
  const hardware::GpuSpec h100 = gpu("h100");
  const Execution execution{.sharding = {}, .cuda_graph_sizes = fixtures::graph_sizes()};
  const kernel::KernelModel model({.network = network, .gpu = h100, .execution = execution},
                                  kernel::builtin_constants());
  EXPECT_EQ(model.spared_context(core::Tokens(3000)), core::Tokens(1290));
  EXPECT_EQ(model.spared_context(core::Tokens(0)), core::Tokens(0));
  for (const auto& chunks : {std::vector<domain::PrefillChunk>{}, {chunk(0, 512), chunk(90, 16)}}) {
    const Step step{.num_decodes = 10, .context = 7000, .chunks = chunks};
    const Step less{.num_decodes = 10, .context = 7000 - 1290, .chunks = chunks};
    domain::StepBatch batch = step.batch();
    batch.shared_context = core::Tokens(3000);
    EXPECT_EQ(model.predict(batch), model.predict(less.batch()));
    EXPECT_EQ(model.explain(batch).total, model.predict(batch));
    EXPECT_LT(model.predict(batch).gpu(), model.predict(step.batch()).gpu());
  }
  // No further than to nothing, although prompts that are being computed share as well.
  domain::StepBatch mostly = Step{.num_decodes = 1, .context = 100, .chunks = {}}.batch();
  mostly.shared_context = core::Tokens(3000);
  EXPECT_EQ(model.predict(mostly),
            model.predict(Step{.num_decodes = 1, .context = 0, .chunks = {}}.batch()));
}

/// The caches of parts known by their datasheet were not measured.
TEST(KernelModel, SparesNothingOnPartsKnownByTheirDatasheet) {
  const model::ModelSpec network = fixtures::llama_2_7b();
  hardware::GpuSpec other = gpu("h100");
  other.datasheet_only = true;
  const Execution execution{.sharding = {}, .cuda_graph_sizes = {}};
  const kernel::KernelModel datasheet({.network = network, .gpu = other, .execution = execution},
                                      kernel::builtin_constants());
  EXPECT_EQ(datasheet.spared_context(core::Tokens(3000)), core::Tokens(0));
}

/// A decode kernel that is short enough to meet the floor: with almost no launch time, 8 us buy
/// 8e-6 s * 0.936 * 3.35e12 B/s = 25.1 MB of KV cache.
TEST(KernelModel, AffineEndsAtTheFloor) {
  kernel::Constants constants = kernel::first_constants();
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
  EXPECT_EQ(time.gpu(), core::Duration::max());
  EXPECT_FALSE(subject.model().affine(1000, core::Tokens(1000)).has_value());
}

/// 13.5 GB of weights at 1 MB/s: 13,476 s, which were 1,000 s for each operator.
TEST(KernelModel, LongStepsAreNotCutShort) {
  hardware::GpuSpec slow = gpu("h100");
  slow.mem_bandwidth = core::BytesPerSecond(1e6);
  const Subject subject(fixtures::llama_2_7b(), slow, 1);
  const auto batch = decodes(1, 10);
  const domain::StepTime time = subject.model().predict(batch.batch());
  EXPECT_GT(time.gpu(), core::Duration::seconds(13'000));
  EXPECT_LT(time.gpu(), core::Duration::seconds(16'000));
  const Explanation found = subject.model().explain(batch.batch());
  EXPECT_LT(std::abs(found.rounding.value()), 1e-6);
}

}  // namespace
}  // namespace ridgeline::latency
