#include "lab/program/laboratory.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/exit_code.hpp"
#include "cli/terminal.hpp"

namespace ridgeline::laboratory {
namespace {

TEST(Laboratory, HasVerbsOfItsOwnAndThoseOfTheProduct) {
  KeptOutput kept;
  EXPECT_EQ(run_words({}), ExitCode::kOk);
  EXPECT_THAT(kept.out, ::testing::HasSubstr("conform"));
  const std::vector<std::string> version = {"version"};
  EXPECT_EQ(run_words(version), ExitCode::kOk);
  const std::vector<std::string> unknown = {"stdy"};
  EXPECT_EQ(run_words(unknown), ExitCode::kUsage);
}

}  // namespace
}  // namespace ridgeline::laboratory
