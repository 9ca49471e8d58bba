#include "latency/kernel/context_parallel_model.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/kernel/calibration.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/kernel_model.hpp"
#include "latency/step_time_model.hpp"
#include "unit/latency/kernel_fixtures.hpp"

namespace ridgeline::latency::kernel {
namespace {

using fixtures::chunk;
using fixtures::Step;

struct Shared {
  model::ModelSpec network = fixtures::mistral_nemo_12b();
  hardware::GpuSpec gpu = fixtures::gpu("h100");
  Execution alone = {.sharding = {}, .cuda_graph_sizes = {}};
  Execution cut = {.sharding = {.prefill_context_parallel_size = 4}, .cuda_graph_sizes = {}};
  ContextParallelModel shared{{.network = network, .gpu = gpu, .execution = cut},
                              first_constants()};
  KernelModel whole{{.network = network, .gpu = gpu, .execution = alone}, first_constants()};
};

TEST(ContextParallelModel, DecodesRunOnEveryRankAlike) {
  const Shared subject;
  const Step step = fixtures::decodes(48, 3000);
  EXPECT_EQ(subject.shared.predict(step.batch()), subject.whole.predict(step.batch()));
  EXPECT_TRUE(subject.shared.affine(48, core::Tokens(1000)).has_value());
}

TEST(ContextParallelModel, ARankComputesAQuarterOfThePairsAndGathersTheRest) {
  // 16,384 tokens over 4 ranks: 4,096 each with a mean past of 6,144, which has as many pairs as a
  // quarter of the whole: 16384^2 / 2 / 4 = 4096 * (6144 + 2048). It receives 3/4 of the keys and
  // values: 40 layers * 2 * 8 heads * 128 * 2 bytes * 16,384 tokens, at NCCL's share of 450 GB/s.
  const Shared subject;
  const Step whole{.num_decodes = 0, .context = 0, .chunks = {chunk(0, 16384)}};
  const Step quarter{.num_decodes = 0, .context = 0, .chunks = {chunk(6144, 4096)}};
  const AllReduceConstants link = calibrate(first_constants(), subject.gpu).all_reduce.values;
  const double gathered = 0.75 * 40 * 2 * 8 * 128 * 2 * 16384.0 / (450e9 * link.nccl_efficiency);
  EXPECT_NEAR(
      subject.shared.predict(whole.batch()).gpu().to_seconds(),
      subject.whole.predict(quarter.batch()).gpu().to_seconds() + gathered + 40 * link.nccl.value(),
      1e-9);
  EXPECT_LT(subject.shared.predict(whole.batch()).gpu(),
            subject.whole.predict(whole.batch()).gpu());
}

TEST(ContextParallelModel, PartsSumToTheSharedStep) {
  const Shared subject;
  for (const Step& step : fixtures::assorted_steps()) {
    const Explanation explanation = subject.shared.explain(step.batch());
    // Slopes are whole picoseconds: up to half of one for each token of context.
    EXPECT_LT(std::abs(explanation.rounding.value()),
              2e-8 + 0.5e-12 * static_cast<double>(step.context));
    EXPECT_EQ(explanation.total, subject.shared.predict(step.batch()));
  }
}

}  // namespace
}  // namespace ridgeline::latency::kernel
