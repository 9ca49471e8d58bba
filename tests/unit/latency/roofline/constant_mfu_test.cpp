#include "latency/roofline/constant_mfu.hpp"

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "latency/roofline/step_cost.hpp"
#include "model/model_spec.hpp"
#include "unit/latency/kernel_fixtures.hpp"
#include "unit/latency/roofline/roofline_fixtures.hpp"

namespace ridgeline::latency::roofline {
namespace {

enum class Which : std::uint8_t { kLlama8b, kLlama7b, kQwen7b };
using enum Which;

model::ModelSpec network(Which which) {
  switch (which) {
    case kLlama8b:
      return fixtures::llama_31_8b();
    case kLlama7b:
      return latency::fixtures::llama_2_7b();
    case kQwen7b:
      return latency::fixtures::qwen25_7b();
  }
  return {};
}

/// Step times that the original program printed (inference-sim at commits 8f29ee0c for V0,
/// 69352f6f, c6e7cf5e and 006cae82 for V1, each with its H100 constants).
struct Printed {
  Which which;
  std::int64_t ranks;
  std::vector<std::int64_t> decodes;
  std::vector<std::pair<std::int64_t, std::int64_t>> prefills;
  std::array<std::int64_t, 4> microseconds;  ///< v0, v1, v1-c6e7cf5e, v1-006cae82
};

TEST(ConstantMfu, EqualsWhatTheOriginalPrinted) {
  const std::vector<Printed> rows = {
      {kLlama8b, 1, {231, 39, 3469}, {}, {7131, 6799, 7068, 7068}},
      {kLlama8b, 1, {2686, 10707, 88}, {}, {7660, 7240, 7529, 7529}},
      {kLlama8b, 1, {}, {{0, 38}}, {6933, 8724, 8724, 8724}},
      {kLlama8b, 1, {}, {{68, 47}, {0, 111}, {0, 463}, {5190, 287}}, {22277, 19816, 25398, 20279}},
      {kLlama8b, 1, {312}, {{3224, 874}, {10205, 246}}, {36230, 33199, 38428, 33693}},
      {kLlama8b, 1, {48, 16}, {{0, 258}, {462, 3}}, {12786, 8254, 8319, 8319}},
      {kLlama8b, 2, {3861, 11177}, {}, {5722, 4804, 3819, 5281}},
      {kLlama8b, 2, {14628}, {}, {5711, 4795, 3813, 5271}},
      {kLlama8b, 2, {}, {{82, 82}, {317, 76}, {0, 1025}, {0, 111}}, {16710, 16098, 24905, 18239}},
      {kLlama8b,
       2,
       {},
       {{0, 2327}, {0, 36}, {11262, 329}, {130, 27}},
       {34733, 52525, 73892, 59886}},
      {kLlama8b, 4, {776}, {}, {3877, 3011, 2316, 3362}},
      {kLlama8b, 4, {}, {{444, 1}, {0, 207}}, {3881, 4726, 5570, 4726}},
      {kLlama8b, 4, {}, {{973, 14}, {0, 3497}, {0, 3302}}, {41899, 86125, 143113, 111042}},
      {kLlama8b, 4, {22}, {{236, 18}}, {5318, 3827, 3790, 3845}},
      {kLlama7b, 2, {801, 6721}, {{0, 5}}, {8608, 5455, 5163, 5596}},
      {kLlama7b, 4, {10216}, {}, {4318, 3292, 2439, 3722}},
      {kLlama7b, 4, {123}, {{138, 12}}, {5120, 3680, 3630, 3705}},
      {kQwen7b, 2, {2391, 1487}, {{0, 181}}, {7647, 5199, 4990, 5301}},
      {kLlama8b, 1, {}, {}, {1140, 500, 500, 500}},
  };
  for (const Printed& row : rows) {
    const auto step = fixtures::request_step(row.decodes, row.prefills);
    const std::array presets = {"v0", "v1", "v1-c6e7cf5e", "v1-006cae82"};
    for (std::size_t i = 0; i < presets.size(); ++i) {
      const fixtures::BuiltModel model(presets[i], network(row.which), row.ranks, {});
      EXPECT_EQ(model->predict(step.batch()).gpu(),
                core::Duration::microseconds(row.microseconds[i]))
          << presets[i] << ", " << row.decodes.size() << " decodes, " << row.prefills.size()
          << " prefills, tp " << row.ranks;
    }
  }
}

TEST(ConstantMfu, AnEmptyStepHasOnlyItsOverhead) {
  const fixtures::BuiltModel v0("v0", fixtures::llama_31_8b(), 1, {});
  // 32 layers of 20 us and 500 us.
  EXPECT_EQ(v0->predict({}).gpu(), core::Duration::microseconds(1140));
  const fixtures::BuiltModel v1("v1", fixtures::llama_31_8b(), 1, {});
  EXPECT_EQ(v1->predict({}).gpu(), core::Duration::microseconds(500));
}

TEST(ConstantMfu, WeightsOverBandwidthBoundADecodeFromBelow) {
  const fixtures::BuiltModel v1("v1", fixtures::llama_31_8b(), 1, {});
  const auto step = fixtures::request_step({0}, {});
  // (4096 * (4096 + 2 * 1024) + 4096^2 + 3 * 4096 * 14336) * 32 * 2 bytes = 13.958644 GB, and
  // 32 * 4096 * 2 * 0.75 + 2 * 32 * 1024 * 2 = 327,680 bytes, over 3.35 TB/s * 0.72 * 0.96:
  // 6028.4 us; the overhead of one request is 500 us.
  const StepCost cost = v1->cost(step.batch());
  EXPECT_TRUE(cost.decode.memory_wins());
  EXPECT_EQ(cost.rounded_us, 6528);
}

TEST(ConstantMfu, DoesNotAskForTheLengths) {
  const fixtures::BuiltModel v1("v1", fixtures::llama_31_8b(), 1, {});
  EXPECT_FALSE(v1->needs_decode_lengths());
  EXPECT_FALSE(v1->affine(1, core::Tokens(100)));
}

}  // namespace
}  // namespace ridgeline::latency::roofline
