#include "cli/commands/watch_runs.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/terminal.hpp"
#include "document/document.hpp"

namespace ridgeline::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(WatchRuns, RunsAgainWhenTheFileIsSavedAndShowsWhatChanged) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("ridgeline-watch-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const std::string file = (folder / "scenario.yaml").string();
  KeptOutput output;
  int runs = 0;
  const ExitCode code = watch_runs(file, {}, [&](bool first) {
    EXPECT_EQ(first, runs == 0);
    ++runs;
    std::ofstream(folder / "other.yaml") << "ignored";
    std::ofstream(file) << "seed: " << runs;
    const std::string seed = std::to_string(runs);
    return WatchedRun{.interrupted = runs == 3,
                      .result = document::parse_json("{\"config\": {\"seed\": " + seed +
                                                         "}, \"digest\": \"" + seed + "\"}",
                                                     "test")
                                    .value()};
  });
  std::filesystem::remove_all(folder);
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(code, ExitCode::kOk);  // That of the run which was interrupted.
  EXPECT_THAT(output.out, HasSubstr("seed: 1 -> 2"));
  EXPECT_THAT(output.out, Not(HasSubstr("2 -> 3")));
  EXPECT_THAT(output.err, HasSubstr("watching " + file));
}

TEST(WatchRuns, AFolderThatIsNotThereIsAnError) {
  KeptOutput output;
  const ExitCode code = watch_runs("/no/such/folder/scenario.yaml", {}, [](bool) {
    ADD_FAILURE() << "runs";
    return WatchedRun{};
  });
  EXPECT_EQ(code, ExitCode::kUsage);
  EXPECT_THAT(output.err, HasSubstr("--watch: cannot watch '/no/such/folder/scenario.yaml'"));
}

}  // namespace
}  // namespace ridgeline::cli
