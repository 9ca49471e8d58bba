#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/exit_code.hpp"
#include "cli/terminal.hpp"
#include "lab/program/laboratory.hpp"

namespace ridgeline::laboratory {
namespace {

using ::testing::HasSubstr;

TEST(Records, HelpHasWhatValidateDoesNot) {
  KeptOutput kept;
  const std::vector<std::string> words = {"records", "--help"};
  EXPECT_EQ(run_words(words), ExitCode::kOk);
  EXPECT_THAT(kept.out, HasSubstr("records FILE... [flags]"));
  EXPECT_THAT(kept.out, HasSubstr("--leave-out"));
  EXPECT_THAT(kept.out, HasSubstr("--coverage-left-out"));
}

TEST(Records, WrongWordsAreNamedBeforeAnythingRuns) {
  KeptOutput kept;
  const std::vector<std::string> words = {
      "records", "--leave-out", "moon", "--fail-over", "luck@0.5=1"};
  EXPECT_EQ(run_words(words), ExitCode::kUsage);
  EXPECT_THAT(kept.err, HasSubstr("network, gpu, format"));
  EXPECT_THAT(kept.err, HasSubstr("regret or violations"));
}

}  // namespace
}  // namespace ridgeline::laboratory
