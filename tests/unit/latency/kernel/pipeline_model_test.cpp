#include "latency/kernel/pipeline_model.hpp"

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/kernel/all_to_all.hpp"
#include "latency/kernel/calibration.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/kernel_model.hpp"
#include "latency/step_time_model.hpp"
#include "unit/latency/kernel_fixtures.hpp"

namespace ridgeline::latency::kernel {
namespace {

using fixtures::chunk;
using fixtures::Step;

struct Piped {
  model::ModelSpec network = fixtures::mistral_nemo_12b();  // 40 layers
  hardware::GpuSpec gpu = fixtures::gpu("h100");
  Execution whole = {.sharding = {}, .cuda_graph_sizes = fixtures::graph_sizes()};
  Execution cut = {.sharding = {.pipeline_parallel_size = 4},
                   .cuda_graph_sizes = fixtures::graph_sizes()};
  PipelineModel piped{{.network = network, .gpu = gpu, .execution = cut}, first_constants()};
  KernelModel alone{{.network = network, .gpu = gpu, .execution = whole}, first_constants()};
};

TEST(PipelineModel, StagesSumToTheStep) {
  const Piped subject;
  for (const Step& step : fixtures::assorted_steps()) {
    core::Duration sum;
    for (const core::Duration stage : subject.piped.stages(step.batch())) {
      sum += stage;
    }
    EXPECT_EQ(sum, subject.piped.predict(step.batch()).gpu());
  }
}

TEST(PipelineModel, AWayThroughAllStagesIsTheWholeNetworkAndThreeMessages) {
  // Equal operators, and three further step gaps of 31 us; with 2048 tokens x 5120 x 2 bytes each
  // message takes what point_to_point says.
  const Piped subject;
  const Step step{.num_decodes = 0, .context = 0, .chunks = {chunk(0, 2048)}};
  const auto piped = subject.piped.predict(step.batch());
  const auto whole = subject.alone.predict(step.batch());
  const Calibration set = calibrate(first_constants(), subject.gpu);
  const double message =
      point_to_point(2048, 5120, set.all_reduce.values, subject.gpu).time.value();
  EXPECT_NEAR(
      (piped.gpu() - whole.gpu()).to_seconds(), 3 * message + 3 * set.step.step_gap.value(), 1e-9);
  EXPECT_NEAR(piped.of(domain::Bottleneck::kNetwork).to_seconds(), 3 * message, 1e-9);
}

TEST(PipelineModel, StagesOfTenLayersEachAreEqualButForTheEnds) {
  const Piped subject;
  const auto stages = subject.piped.stages(fixtures::decodes(64, 1000).batch());
  ASSERT_EQ(stages.size(), 4U);
  EXPECT_EQ(stages[0], stages[1]);
  EXPECT_EQ(stages[1], stages[2]);
  EXPECT_GT(stages[3], stages[2]);  // lm_head and sampling
}

TEST(PipelineModel, AffineIsPredict) {
  const Piped subject;
  for (const std::int64_t count : {1, 7, 64, 300}) {
    const auto line = subject.piped.affine(count, core::Tokens(count * 900));
    ASSERT_TRUE(line.has_value());
    const core::Tokens at(count * 900 + 17);
    ASSERT_LE(at, line->highest);
    EXPECT_EQ(line->at(at),
              subject.piped.predict(
                  Step{.num_decodes = count, .context = at.value(), .chunks = {}}.batch()));
  }
}

TEST(PipelineModel, PartsSumToTheStep) {
  const Piped subject;
  for (const Step& step : fixtures::assorted_steps()) {
    const Explanation explanation = subject.piped.explain(step.batch());
    core::Seconds sum = explanation.rounding;
    for (const OperatorTime& part : explanation.parts) {
      sum += part.time;
    }
    EXPECT_NEAR(sum.value(), explanation.total.gpu().to_seconds(), 1e-12);
    // Slopes are whole picoseconds: up to half of one for each token of context.
    EXPECT_LT(std::abs(explanation.rounding.value()),
              2e-8 + 0.5e-12 * static_cast<double>(step.context));
  }
}

}  // namespace
}  // namespace ridgeline::latency::kernel
