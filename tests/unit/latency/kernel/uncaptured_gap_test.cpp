#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "latency/kernel/calibration.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/kernel_model.hpp"
#include "latency/kernel/plan.hpp"
#include "latency/kernel/settings.hpp"
#include "latency/lookup_log.hpp"
#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "unit/latency/kernel_fixtures.hpp"

namespace ridgeline::latency::kernel {
namespace {

using fixtures::chunk;
using fixtures::decodes;
using fixtures::Step;
using testing::HasSubstr;
using testing::IsEmpty;

hardware::GpuSpec facts(const std::string& name) {
  return hardware::find_gpu(name).value();
}

std::int64_t gap_layers(const model::ModelSpec& network,
                        const hardware::GpuSpec& on,
                        const Constants& constants = builtin_constants()) {
  const Calibration calibration = calibrate(constants, on);
  return make_plan(network, {.tensor_parallel_size = 2}, calibration, on).gap_layers;
}

/// The gap was measured with Scout's 16 experts in FP8 on H100s. Elsewhere nothing says that there
/// is one.
TEST(UncapturedGap, IsChargedWhereItWasMeasuredAlone) {
  const model::ModelSpec scout = fixtures::llama_4_scout_fp8();
  EXPECT_EQ(gap_layers(scout, facts("h100")), 48);
  EXPECT_EQ(gap_layers(scout, facts("h200")), 0);
  EXPECT_EQ(gap_layers(scout, facts("b200")), 0);
  EXPECT_EQ(gap_layers(scout, facts("h100-pcie")), 0)
      << "takes the H100's constants, not its server";
  EXPECT_EQ(gap_layers(model::find_model("qwen3-30b-a3b-fp8").value(), facts("h100")), 0)
      << "128 experts";
}

/// A constant that the user sets was measured on a server of the user's own.
TEST(UncapturedGap, HoldsForEveryEightBitExpertWhereItIsSet) {
  const model::ModelSpec scout = fixtures::llama_4_scout_fp8();
  const auto set = with_settings(
      builtin_constants(),
      {{.key = "uncaptured_expert_gap_us", .value = document::Node::real(300.0, {})}});
  ASSERT_TRUE(set.has_value());
  EXPECT_EQ(gap_layers(scout, facts("h200"), *set), 48);
  // An A100 has no units for FP8: its products are 16 bit.
  EXPECT_EQ(gap_layers(scout, facts("a100-80gb"), *set), 0);
}

/// A network of the catalogue on a GPU of it.
struct Served {
  model::ModelSpec network;
  hardware::GpuSpec on;
  Execution execution;
  std::unique_ptr<StepTimeModel> model;

  Served(const std::string& name,
         const std::string& gpu_name,
         std::int64_t ranks,
         bool enforce_eager = false)
      : network(model::find_model(name).value()),
        on(facts(gpu_name)),
        execution{.sharding = {.tensor_parallel_size = ranks},
                  .cuda_graph_sizes = fixtures::graph_sizes(),
                  .enforce_eager = enforce_eager},
        model(make_kernel_model({.network = network, .gpu = on, .execution = execution}).value()) {}
};

/// Half the bytes and twice the peak: quantised experts may gain nothing, where the host's launches
/// take longer than either, and lose no more than the launches of what quantises their rows.
TEST(UncapturedGap, DoesNotMakeQuantisedNetworksSlower) {
  struct Pair {
    const char* quantised;
    const char* whole;
  };
  const Step mixed{.num_decodes = 64, .context = 64 * 1000, .chunks = {chunk(0, 1000)}};
  for (const Pair pair : {Pair{"qwen3-235b-a22b-fp8", "qwen3-235b-a22b"},
                          Pair{"qwen3-235b-a22b-nvfp4", "qwen3-235b-a22b"},
                          Pair{"qwen3-30b-a3b-fp8", "qwen3-30b-a3b"},
                          Pair{"llama-4-scout-fp8", "llama-4-scout"}}) {
    for (const char* on : {"b200", "h200"}) {
      if (std::string(pair.quantised).ends_with("nvfp4") && std::string(on) == "h200") {
        continue;  // No units for it: weights are expanded, which may cost more than it saves.
      }
      const Served quantised(pair.quantised, on, 4);
      const Served whole(pair.whole, on, 4);
      EXPECT_LE(quantised.model->predict(mixed.batch()).gpu().to_milliseconds(),
                whole.model->predict(mixed.batch()).gpu().to_milliseconds() * 1.15)
          << pair.quantised << " on " << on;
    }
  }
}

TEST(UncapturedGap, IsNamedWhereItDecidesAStep) {
  const Served scout("llama-4-scout-fp8", "h100", 2);
  LookupLog quiet;
  static_cast<void>(scout.model->predict_logged(decodes(64, 700).batch(), quiet));
  const Step captured{.num_decodes = 10, .context = 7000, .chunks = {chunk(0, 502)}};
  static_cast<void>(scout.model->predict_logged(captured.batch(), quiet));
  EXPECT_THAT(scout.model->findings(quiet), IsEmpty());
  LookupLog log;
  const Step beyond{.num_decodes = 10, .context = 7000, .chunks = {chunk(0, 503)}};
  EXPECT_EQ(scout.model->predict_logged(beyond.batch(), log), scout.model->predict(beyond.batch()));
  const core::Warnings found = scout.model->findings(log);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().code, "W-uncaptured-experts");
  EXPECT_THAT(found.front().message, HasSubstr("uncaptured_expert_gap_us, 800 us"));
  EXPECT_THAT(found.front().message, HasSubstr("16 experts in FP8 on two H100, vLLM 0.15.1"));
  // Another run of the same model met nothing.
  EXPECT_THAT(scout.model->findings(quiet), IsEmpty());
  const Served elsewhere("llama-4-scout-fp8", "h200", 2);
  EXPECT_FALSE(elsewhere.model->logs());
}

/// Launches by the host hide nothing that a graph does not.
TEST(EagerSteps, AreNeverFasterThanCapturedOnes) {
  const Step steps[] = {
      decodes(5, 700),
      {.num_decodes = 5, .context = 3500, .chunks = {chunk(0, 500)}},
      {.num_decodes = 5, .context = 3500, .chunks = {chunk(0, 2000)}},
  };
  for (const char* name : {"qwen3-30b-a3b", "llama-3.1-8b", "llama-4-scout-fp8"}) {
    const Served captured(name, "h100", 2);
    const Served eager(name, "h100", 2, true);
    for (const Step& step : steps) {
      EXPECT_GE(eager.model->predict(step.batch()).gpu(),
                captured.model->predict(step.batch()).gpu())
          << name;
    }
  }
}

TEST(EagerSteps, TakeTheGapWhereItWasMeasured) {
  const Served captured("llama-4-scout-fp8", "h100", 2);
  const Served eager("llama-4-scout-fp8", "h100", 2, true);
  const Step step = decodes(5, 700);
  const core::Duration gap =
      eager.model->predict(step.batch()).gpu() - captured.model->predict(step.batch()).gpu();
  EXPECT_GE(gap.to_seconds(), 48 * 800e-6 - 1e-9);
  const auto line = eager.model->affine(5, core::Tokens(5 * 700));
  ASSERT_TRUE(line);
  EXPECT_EQ(line->base.gpu() - captured.model->affine(5, core::Tokens(5 * 700))->base.gpu(), gap);
  LookupLog log;
  static_cast<void>(eager.model->predict_logged(step.batch(), log));
  ASSERT_EQ(eager.model->findings(log).size(), 1U);
  EXPECT_THAT(eager.model->findings(log).front().message, HasSubstr("of an eager step is"));
}

/// What the host launches meanwhile takes no time of its own, and a graph takes no launches.
TEST(LaunchedDecodes, TakeWhatTheKernelsDoNotHide) {
  const Served whole("qwen3-0.6b", "h100", 1);
  Execution pieces = whole.execution;
  pieces.graphs_in_pieces = true;
  const auto in_pieces =
      make_kernel_model({.network = whole.network, .gpu = whole.on, .execution = pieces}).value();
  const auto priced = [](const StepTimeModel& model, std::int64_t decodes_in_step) {
    const Step step = decodes(decodes_in_step, 100);
    const core::Duration gpu = model.predict(step.batch()).gpu();
    const auto line = model.affine(decodes_in_step, core::Tokens(decodes_in_step * 100));
    EXPECT_TRUE(line);
    if (line) {
      EXPECT_EQ(line->at(core::Tokens(decodes_in_step * 100)).gpu(), gpu);
    }
    return gpu.to_seconds();
  };
  // 28 layers of 15 us are 420 us, and one piece of all takes longer than that.
  EXPECT_DOUBLE_EQ(priced(*in_pieces, 4), priced(*whole.model, 4));
  const auto set = with_settings(
      builtin_constants(), {{.key = "host_pieces_us", .value = document::Node::real(100.0, {})}});
  ASSERT_TRUE(set.has_value());
  const KernelModel slow({.network = whole.network, .gpu = whole.on, .execution = pieces}, *set);
  EXPECT_GT(priced(slow, 4), 28 * 100e-6);
  EXPECT_LT(priced(slow, 4), 28 * 100e-6 + priced(*whole.model, 4));
  // Beyond the largest graph the host launches all of it: 28 layers of 100 us.
  EXPECT_GE(priced(*whole.model, fixtures::graph_sizes().back() + 1), 28 * 100e-6);
}

TEST(EagerSteps, SayWhereNothingWasMeasured) {
  const auto says = [](const Served& served) {
    for (const core::Warning& note : served.model->notes()) {
      if (note.code == "W-unpriced-eager") {
        return true;
      }
    }
    return false;
  };
  EXPECT_TRUE(says(Served("qwen3-30b-a3b", "h100", 1, true)));
  EXPECT_FALSE(says(Served("qwen3-30b-a3b", "h100", 1)));
  EXPECT_FALSE(says(Served("llama-4-scout-fp8", "h100", 2, true)));
}

}  // namespace
}  // namespace ridgeline::latency::kernel
