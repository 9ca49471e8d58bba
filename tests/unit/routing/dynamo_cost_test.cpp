#include "routing/dynamo_cost.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridgeline::routing {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;

TEST(DynamoCost, IsBlocksToComputeAndToHold) {
  // (160 + 320) / 16 - 10 = 20 blocks to compute, 7 to hold; nothing cached on the other.
  EXPECT_THAT(dynamo_costs({{.device_blocks = 10.0, .prefill_tokens = 160, .decode_blocks = 7.0},
                            {.decode_blocks = 3.0, .requests = 2}},
                           320,
                           {.request = 5.0}),
              ElementsAre(27.0, 33.0));
  // Without prefill tracked only what is held counts.
  EXPECT_THAT(
      dynamo_costs({{.device_blocks = 4.0, .decode_blocks = 7.0}}, 320, {.tracks_prefill = false}),
      ElementsAre(3.0));
  // The credit decays with the excess: 10 blocks over the least, of a prompt of 20.
  EXPECT_THAT(
      dynamo_costs(
          {{.device_blocks = 10.0, .prefill_tokens = 160}, {}}, 320, {.overlap_decay = 1.0}),
      ElementsAre(DoubleEq(30.0 - 10.0 / 1.5), 20.0));
}

TEST(DynamoCost, ATemperatureSpreadsTheDraw) {
  const auto shares = dynamo_probabilities({10.0, 20.0}, 1.0);
  EXPECT_NEAR(shares[0], 0.7310585786, 1e-9);  // 1 / (1 + 1/e)
  EXPECT_THAT(dynamo_probabilities({5.0, 5.0}, 0.1), ElementsAre(0.5, 0.5));
}

}  // namespace
}  // namespace ridgeline::routing
