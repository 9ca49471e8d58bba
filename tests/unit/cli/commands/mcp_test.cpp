#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/commands/verbs.hpp"
#include "cli/exit_code.hpp"

namespace ridgeline::cli {
namespace {

TEST(Mcp, RefusesWordsAndAFolderThatIsNotThere) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"scenario.yaml"}, {"--root", "no/such/folder"}}) {
    testing::internal::CaptureStderr();
    const ExitCode code = mcp_command(words);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(code, ExitCode::kUsage);
    EXPECT_THAT(said, testing::StartsWith("error: "));
  }
}

}  // namespace
}  // namespace ridgeline::cli
