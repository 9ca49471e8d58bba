#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "unit/latency/kernel_fixtures.hpp"

namespace ridgeline::latency {
namespace {

class Registry : public testing::Test {
 protected:
  const model::ModelSpec network_ = fixtures::llama_2_7b();
  const hardware::GpuSpec gpu_ = fixtures::gpu("h100");
  const Execution execution_{.sharding = {}, .cuda_graph_sizes = fixtures::graph_sizes()};
  const ModelInputs inputs_{.network = network_, .gpu = gpu_, .execution = execution_};
};

TEST_F(Registry, TheFirstModelIsKernel) {
  ASSERT_FALSE(step_time_models().empty());
  EXPECT_EQ(step_time_models().front().name, "kernel");
  EXPECT_FALSE(step_time_models().front().summary.empty());
}

TEST_F(Registry, MakesAModelByName) {
  const auto model = make_step_time_model("kernel", inputs_);
  ASSERT_TRUE(model.has_value());
  EXPECT_FALSE((*model)->needs_decode_lengths());
  EXPECT_GT((*model)->predict(fixtures::decodes(1, 10).batch()).gpu(), core::Duration());
}

TEST_F(Registry, AnUnknownNameListsTheNearest) {
  const auto model = make_step_time_model("kernle", inputs_);
  ASSERT_FALSE(model.has_value());
  ASSERT_EQ(model.error().size(), 1U);
  EXPECT_EQ(model.error().front().field, "latency.name");
  EXPECT_THAT(model.error().front().message, testing::HasSubstr("'kernle'"));
  EXPECT_THAT(model.error().front().hint, testing::HasSubstr("'kernel'"));
}

TEST_F(Registry, RefusesOptionsThatTheModelDoesNotRead) {
  ModelInputs inputs = inputs_;
  inputs.options = {.bench_data = "tables",
                    .hardware_config = "hardware_config.json",
                    .lookup = "floor",
                    .settings = {}};
  const auto model = make_step_time_model("kernel", inputs);
  ASSERT_FALSE(model.has_value());
  ASSERT_EQ(model.error().size(), 3U);
  EXPECT_EQ(model.error().front().field, "latency.bench_data");
  EXPECT_THAT(model.error().front().message, testing::HasSubstr("'kernel' reads none"));
}

TEST_F(Registry, RefusesSettingsThatTheModelDoesNotHave) {
  ModelInputs inputs = inputs_;
  inputs.options.settings = {{.key = "perLayerOverhead", .value = {}}};
  const auto model = make_step_time_model("kernel", inputs);
  ASSERT_FALSE(model.has_value());
  EXPECT_EQ(model.error().front().field, "latency.set.perLayerOverhead");
}

}  // namespace
}  // namespace ridgeline::latency
