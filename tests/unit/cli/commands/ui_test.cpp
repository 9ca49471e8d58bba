#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/commands/verbs.hpp"
#include "cli/exit_code.hpp"

namespace ridgeline::cli {
namespace {

TEST(UiCommand, SaysHowToGetThePageThatIsNotBesideTheProgram) {
  ::testing::internal::CaptureStderr();
  const ExitCode code = ui_command({});
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, ExitCode::kUsage);
  EXPECT_THAT(said, ::testing::HasSubstr("./dev page"));
}

TEST(UiCommand, RefusesFlagsThatItDoesNotKnow) {
  const std::vector<std::string> words = {"--no-such-flag"};
  ::testing::internal::CaptureStderr();
  const ExitCode code = ui_command(words);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::HasSubstr("no-such-flag"));
  EXPECT_EQ(code, ExitCode::kUsage);
}

}  // namespace
}  // namespace ridgeline::cli
