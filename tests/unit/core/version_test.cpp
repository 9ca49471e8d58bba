#include "core/version.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridgeline::core {
namespace {

TEST(Version, IsThreeNumbers) {
  EXPECT_THAT(std::string(version()), ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

}  // namespace
}  // namespace ridgeline::core
