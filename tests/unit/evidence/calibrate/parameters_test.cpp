#include "evidence/calibrate/parameters.hpp"

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "engine/serving.hpp"
#include "evidence/calibrate/calibrate.hpp"

namespace ridgeline::evidence::calibrate {
namespace {

TEST(FittedConstants, StartWhereTheyAreBuiltIn) {
  const Constants all = constants_of({});
  ASSERT_EQ(all.size() + 1, parameters().size());  // All but the host's class.
  for (const auto& constant : all) {
    EXPECT_EQ(constant.value, constant.before);
    EXPECT_EQ(constant.bounded(constant.before), constant.before) << constant.parameter.name;
    EXPECT_EQ(constant.bounded(1e9), constant.parameter.highest);
  }
  EXPECT_EQ(all.front().before, engine::serving_constants().path.deliver.to_microseconds());
}

TEST(FittedConstants, AreChosenByNameAndStatedAsSettings) {
  Constants one = constants_of({"close_time"});
  ASSERT_EQ(one.size(), 1U);
  one.front().value = 12.5;
  const auto overrides = overrides_of(one);
  EXPECT_EQ(overrides.front().path, "serving.close_time");
  EXPECT_EQ(overrides.front().text, "12.500000us");
}

TEST(FittedConstants, TheHostsClassIsAFactorAndFittedByNameAlone) {
  Constants one = constants_of({"host_class"});
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one.front().before, 1.0);
  one.front().value = 7.5;
  EXPECT_EQ(overrides_of(one).front().text, "7.500000");
  EXPECT_EQ(one.front().parameter.text(7.5), "7.500");
}

}  // namespace
}  // namespace ridgeline::evidence::calibrate
