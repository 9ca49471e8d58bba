#include "cli/progress.hpp"

#include <array>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/arguments.hpp"
#include "cli/terminal.hpp"
#include "core/result.hpp"
#include "sim/simulation.hpp"

namespace ridgeline::cli {
namespace {

using Mode = ProgressDisplay::Mode;

core::Result<Mode> mode_of(const std::vector<std::string>& words, bool is_terminal) {
  const std::array<FlagSpec, 1> flags = {progress_flag()};
  const auto arguments = parse_arguments(words, flags);
  EXPECT_TRUE(arguments.has_value());
  return progress_mode(*arguments, Terminal{.is_terminal = is_terminal});
}

TEST(Progress, ByItselfALineOnATerminalOnly) {
  EXPECT_EQ(mode_of({}, true), Mode::kLine);
  EXPECT_EQ(mode_of({}, false), Mode::kNever);
  EXPECT_EQ(mode_of({"--progress", "auto"}, true), Mode::kLine);
  EXPECT_EQ(mode_of({"--progress", "plain"}, false), Mode::kPlain);
  EXPECT_EQ(mode_of({"--progress", "plain"}, true), Mode::kPlain);
  EXPECT_EQ(mode_of({"--progress", "never"}, true), Mode::kNever);
}

TEST(Progress, AnotherModeIsRefusedWithTheNearest) {
  const auto mode = mode_of({"--progress", "plaim"}, true);
  ASSERT_FALSE(mode.has_value());
  EXPECT_THAT(core::to_string(mode.error().front()), testing::HasSubstr("plaim"));
  EXPECT_THAT(mode.error().front().hint, testing::HasSubstr("plain"));
}

/// Nothing is due in the first second, and nothing where progress is never shown.
TEST(Progress, SaysNothingBeforeItIsDue) {
  testing::internal::CaptureStderr();
  for (const Mode mode : {Mode::kNever, Mode::kLine, Mode::kPlain}) {
    ProgressDisplay display(mode, Terminal{.is_terminal = true});
    display.update(sim::Progress{});
    display.update(5, 0.5);
    display.finish();
    EXPECT_GE(display.wall_seconds(), 0.0);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace ridgeline::cli
