#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/document.hpp"
#include "core/result.hpp"
#include "hardware/gpu_spec.hpp"
#include "latency/kernel/calibration.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/kernel_model.hpp"
#include "latency/kernel/plan.hpp"
#include "latency/kernel/settings.hpp"
#include "latency/lookup_log.hpp"
#include "latency/step_time_model.hpp"
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
  const auto set =
      with_settings(builtin_constants(),
                    {{.key = "uncaptured_expert_gap_us", .value = core::Node::real(300.0, {})}});
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

  Served(const std::string& name, const std::string& gpu_name, std::int64_t ranks)
      : network(model::find_model(name).value()),
        on(facts(gpu_name)),
        execution{.sharding = {.tensor_parallel_size = ranks},
                  .cuda_graph_sizes = fixtures::graph_sizes()},
        model(make_kernel_model({.network = network, .gpu = on, .execution = execution}).value()) {}
};

/// Half the bytes and twice the peak: quantised experts may gain little, but they lose nothing.
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
      EXPECT_LT(quantised.model->predict(mixed.batch()).gpu(),
                whole.model->predict(mixed.batch()).gpu())
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

}  // namespace
}  // namespace ridgeline::latency::kernel
