#include "latency/kernel/host_weights_model.hpp"

#include <cstdint>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/step_time_model.hpp"
#include "support/linear_model.hpp"
#include "unit/latency/kernel_fixtures.hpp"

namespace ridgeline::latency::kernel {
namespace {

/// Steps of 100 us and 1 us per token of context, with copies of so many microseconds.
HostWeightsModel with_copies(double microseconds) {
  constexpr double kRate = 50e9;
  return {std::make_unique<test::LinearModel>(
              test::LinearModel::Costs{.step = core::Duration::microseconds(100),
                                       .per_token = {},
                                       .per_context = core::Duration::microseconds(1)}),
          {.bytes = core::Bytes(microseconds * 1e-6 * kRate),
           .spared = {},
           .bandwidth = core::BytesPerSecond(kRate),
           .copied = true}};
}

TEST(HostWeightsModel, AStepTakesNoLessThanItsCopies) {
  const HostWeightsModel model = with_copies(400);
  EXPECT_EQ(model.predict(fixtures::decodes(1, 200).batch()).gpu(),
            core::Duration::microseconds(400));
  EXPECT_EQ(model.predict(fixtures::decodes(1, 500).batch()).gpu(),
            core::Duration::microseconds(600));
}

TEST(HostWeightsModel, TheClosedFormIsThePrediction) {
  const HostWeightsModel model = with_copies(400);
  for (const std::int64_t context : {0, 299, 300, 301, 5000}) {
    const std::optional<domain::AffineStep> line = model.affine(1, core::Tokens(context));
    ASSERT_TRUE(line.has_value()) << context;
    for (const core::Tokens at : {line->lowest, core::Tokens(context)}) {
      EXPECT_EQ(line->at(at), model.predict(fixtures::decodes(1, at.value()).batch()));
    }
    EXPECT_GE(line->highest, core::Tokens(context));
  }
}

TEST(HostWeightsModel, ThePartsSumToTheStep) {
  const HostWeightsModel model = with_copies(400);
  const Explanation explained = model.explain(fixtures::decodes(1, 100).batch());
  EXPECT_EQ(explained.parts.back().name, "host_weights");
  EXPECT_NEAR(explained.parts.back().time.value(), 200e-6, 1e-12);
  EXPECT_EQ(explained.total.gpu(), core::Duration::microseconds(400));
}

}  // namespace
}  // namespace ridgeline::latency::kernel
