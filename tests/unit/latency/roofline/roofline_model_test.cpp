#include "latency/roofline/roofline_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "domain/step.hpp"
#include "latency/roofline/switches.hpp"
#include "latency/step_time_model.hpp"
#include "support/paths.hpp"
#include "unit/latency/kernel_fixtures.hpp"
#include "unit/latency/roofline/roofline_fixtures.hpp"

namespace ridgeline::latency::roofline {
namespace {

using fixtures::BuiltModel;
using fixtures::llama_31_8b;
using fixtures::request_step;
using fixtures::setting;
using testing::HasSubstr;

ModelOptions constants_only(std::vector<ModelSetting> more = {}) {
  more.push_back(setting("lookup", "constant"));
  more.push_back(setting("mfuPrefill", 0.5));
  more.push_back(setting("mfuDecode", 0.02));
  return {.settings = std::move(more)};
}

core::Errors build_errors(const std::string& preset,
                          const model::ModelSpec& network,
                          ModelOptions options,
                          const char* gpu = "h100") {
  const auto spec = latency::fixtures::gpu(gpu);
  const Execution execution;
  const auto made = make_roofline_model(
      *find_preset(preset),
      {.network = network, .gpu = spec, .execution = execution, .options = std::move(options)});
  return made ? core::Errors() : made.error();
}

TEST(RooflineModel, PartsAndRoundingSumToTheStepAndKindsToWhatTheySay) {
  for (const char* name :
       {"v0", "v1", "v2-seed", "v2-h5-additive", "v2-tpsplit-percomponent", "v2-h29", "v2-final"}) {
    const bool tables = std::string(name).starts_with("v2");
    const BuiltModel model(name, llama_31_8b(), 2, tables ? constants_only() : ModelOptions());
    for (const auto& step : {request_step({100, 20000}, {}),
                             request_step({}, {{0, 300}, {200, 1}}),
                             request_step({64, 128}, {{0, 1000}})}) {
      const Explanation explanation = model->explain(step.batch());
      EXPECT_EQ(explanation.total, model->predict(step.batch()));
      double sum = explanation.rounding.value();
      std::array<double, domain::kNumBottlenecks> kinds{};
      for (const OperatorTime& part : explanation.parts) {
        sum += part.time.value();
        kinds[static_cast<std::size_t>(part.bottleneck)] += part.time.value();
      }
      EXPECT_NEAR(sum, explanation.total.gpu().to_seconds(), 1e-12) << name;
      EXPECT_LE(std::abs(explanation.rounding.value()), 0.5e-6 + 1e-12) << name;
      for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
        // Rounding goes to the greatest.
        EXPECT_NEAR(kinds[kind], explanation.total.by_bottleneck[kind].to_seconds(), 0.6e-6)
            << name << ", " << domain::kBottleneckNames[kind];
      }
      EXPECT_FALSE(explanation.hidden.empty()) << name;
    }
  }
}

TEST(RooflineModel, SettingsInForceBuildTheSameModelAgain) {
  const auto step = request_step({100, 20000}, {{0, 300}});
  for (const char* name : {"v1", "v2-seed", "v2-final"}) {
    const bool tables = std::string(name).starts_with("v2");
    const BuiltModel model(name, llama_31_8b(), 1, tables ? constants_only() : ModelOptions());
    const BuiltModel again(name, llama_31_8b(), 1, {.settings = model->settings()});
    EXPECT_EQ(again->predict(step.batch()), model->predict(step.batch())) << name;
    EXPECT_TRUE(again->notes().empty()) << name;
  }
}

TEST(RooflineModel, RefusesExpertsAndEightBitWeightsByName) {
  const auto scout =
      build_errors("v2-final", latency::fixtures::llama_4_scout_fp8(), constants_only());
  ASSERT_EQ(scout.size(), 1U);
  EXPECT_EQ(scout.front().field, "latency.name");
  EXPECT_THAT(scout.front().message, HasSubstr("mixture of experts"));
  auto network = llama_31_8b();
  network.precision.ffn = model::DType::kFp8;
  const auto fp8 = build_errors("v1", network, {});
  ASSERT_EQ(fp8.size(), 1U);
  EXPECT_THAT(fp8.front().message, HasSubstr("v1 cannot price test network"));
  EXPECT_THAT(fp8.front().message, HasSubstr("feed-forward weights are fp8"));
}

TEST(RooflineModel, RefusesUnknownKeysAndValuesWithTheNearest) {
  const auto key =
      build_errors("v2-final", llama_31_8b(), {.settings = {setting("perLayerOverhed", 1)}});
  ASSERT_FALSE(key.empty());
  EXPECT_THAT(key.front().hint, HasSubstr("'perLayerOverhead'"));
  const auto value =
      build_errors("v2-final", llama_31_8b(), constants_only({setting("mixed", "maximum")}));
  ASSERT_EQ(value.size(), 1U);
  EXPECT_THAT(value.front().message, HasSubstr("expected one of default, smooth-wa"));
  // V1 has no switches.
  EXPECT_EQ(build_errors("v1", llama_31_8b(), {.settings = {setting("mixed", "max")}}).size(), 1U);
  EXPECT_EQ(build_errors("v1", llama_31_8b(), {.settings = {setting("mfuDecode", -1.0)}}).size(),
            1U);
  EXPECT_EQ(build_errors("v1", llama_31_8b(), {.settings = {setting("mfuDecode", "nan")}}).size(),
            1U);
}

TEST(RooflineModel, V2WithoutTablesAsksForThem) {
  const auto errors = build_errors("v2-final", llama_31_8b(), {});
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors.front().field, "latency.bench_data");
  const auto missing = build_errors("v2-final", llama_31_8b(), {.bench_data = "/nowhere/at/all"});
  ASSERT_FALSE(missing.empty());
  EXPECT_THAT(core::to_string(missing.front()), HasSubstr("/nowhere/at/all"));
}

TEST(RooflineModel, NamesKeysWithoutEffect) {
  const BuiltModel model(
      "v2-final", llama_31_8b(), 1, constants_only({setting("TOverheadMicros", 500)}));
  const auto notes = model->notes();
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes.front().code, "W-without-effect");
  EXPECT_THAT(notes.front().message, HasSubstr("TOverheadMicros"));
}

/// The page's example: weights of 34.2 GB per GPU, in every model.
TEST(RooflineModel, SeventyBillionParametersOnFourGpusAreMemoryBoundInEveryModel) {
  const std::string shared = test::shared_dir().string();
  if (!std::filesystem::exists(shared + "/kernels/blis_h100")) {
    GTEST_SKIP() << "no " << shared << "/kernels/blis_h100";
  }
  auto network = latency::fixtures::dense(
      80, 8192, {.heads = 64, .kv_heads = 8, .head_dim = 128}, 28672, 32000);
  const auto step = request_step({8192}, {});
  const auto expected = [](std::string_view name) {
    return name == "v2-final" ? 16268 : name == "v2-h29" ? 14655 : 0;
  };
  for (const Preset& preset : presets()) {
    const bool tables = preset.version == Version::kV2;
    const BuiltModel model(std::string(preset.name),
                           network,
                           4,
                           {.bench_data = tables ? shared + "/kernels/blis_h100" : ""});
    const Explanation explanation = model->explain(step.batch());
    const auto& kinds = explanation.total.by_bottleneck;
    EXPECT_EQ(std::ranges::max_element(kinds) - kinds.begin(),
              static_cast<int>(domain::Bottleneck::kMemory))
        << preset.name;
    if (const int us = expected(preset.name); us > 0) {
      EXPECT_EQ(explanation.total.gpu(), core::Duration::microseconds(us)) << preset.name;
    }
  }
  const auto facts = network_of(network, "v2-final");
  ASSERT_TRUE(facts);
  EXPECT_NEAR(facts->weight_bytes().value() / 4 / 1e9, 34.2, 0.05);
}

}  // namespace
}  // namespace ridgeline::latency::roofline
