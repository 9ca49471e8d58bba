#include "evidence/calibrate/determined.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "evidence/calibrate/calibrate.hpp"
#include "evidence/calibrate/least_squares.hpp"
#include "evidence/calibrate/observations.hpp"
#include "evidence/calibrate/parameters.hpp"
#include "unit/evidence/calibrate/measured_loops.hpp"

namespace ridgeline::evidence::calibrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> names_of(const Constants& constants) {
  std::vector<std::string> names;
  for (const auto& constant : constants) {
    names.push_back(constant.parameter.name);
  }
  return names;
}

// Both move every figure alike: the cost of each token goes.
TEST(DropUntold, OfTwoThatDoTheSameTheCostOfEachGoes) {
  Constants constants = constants_of({"delivery_time", "frontend_token_time"});
  Rows jacobian = {{1.0, 2.0}, {1.0, 2.0}, {1.0, 2.0}};
  std::vector<LeftOut> left_out;
  drop_undetermined(constants, jacobian, left_out);
  EXPECT_THAT(names_of(constants), ElementsAre("delivery_time"));
  EXPECT_THAT(jacobian.front(), ElementsAre(1.0));
  ASSERT_EQ(left_out.size(), 1U);
  EXPECT_THAT(left_out[0].reason, HasSubstr("the others do the same to every measured figure"));
  EXPECT_THAT(cannot_be_fitted(left_out).front().message,
              HasSubstr("cannot be fitted: the others"));
}

TEST(DropUntold, AConstantWithoutEffectGoes) {
  Constants constants = constants_of({"delivery_time", "close_time"});
  Rows jacobian = {{1.0, 0.0}, {0.5, 0.001}, {1.0, 0.0}};
  std::vector<LeftOut> left_out;
  drop_undetermined(constants, jacobian, left_out);
  EXPECT_THAT(names_of(constants), ElementsAre("delivery_time"));
  EXPECT_THAT(left_out[0].reason, HasSubstr("no measured figure depends on it"));
}

TEST(DropUntold, AsManyConstantsAsFiguresAreTooMany) {
  Constants constants = constants_of({"delivery_time", "close_time"});
  Rows jacobian = {{1.0, 0.0}, {0.0, 1.0}};
  std::vector<LeftOut> left_out;
  drop_undetermined(constants, jacobian, left_out);
  EXPECT_THAT(names_of(constants), ElementsAre("delivery_time"));
  EXPECT_EQ(left_out[0].reason, "2 measured figures cannot tell 2 constants");
}

TEST(DropUndistinguished, ACostPerSequenceNeedsDifferentNumbersOfThem) {
  const auto dropped = [](const std::vector<std::int64_t>& clients) {
    const auto evidence = measured_loops(clients);
    Observations observations(evidence, {});
    EXPECT_EQ(observations.find({}), "");
    Constants constants = constants_of({"host_step_time", "host_sequence_time"});
    std::vector<LeftOut> left_out;
    drop_undistinguished(constants, observations, left_out);
    return left_out;
  };
  EXPECT_TRUE(dropped({1, 8}).empty());
  ASSERT_EQ(dropped({8, 8}).size(), 1U);
  EXPECT_THAT(dropped({8, 8})[0].reason, HasSubstr("cannot be separated from host_step_time"));
}

}  // namespace
}  // namespace ridgeline::evidence::calibrate
