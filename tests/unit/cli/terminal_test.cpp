#include "cli/terminal.hpp"

#include <string>

#include <gtest/gtest.h>

#include "cli/exit_code.hpp"
#include "core/result.hpp"

namespace ridgeline::cli {
namespace {

TEST(Render, AnErrorInThreeLines) {
  const core::Error error{.field = "engine.block_size",
                          .message = "0 is out of range, expected 1 to 256",
                          .where = {.file = "scenario.yaml", .line = 14, .column = 15},
                          .hint = "16 is usual"};
  EXPECT_EQ(render(error, Terminal()),
            "error: engine.block_size: 0 is out of range, expected 1 to 256\n"
            " --> scenario.yaml:14:15\n"
            "hint: 16 is usual\n");
}

TEST(Render, LeavesOutWhatThereIsNot) {
  EXPECT_EQ(render(core::Error{.message = "no such file"}, Terminal()), "error: no such file\n");
  EXPECT_EQ(render(core::Error{.message = "m", .where = {.file = "f"}}, Terminal()),
            "error: m\n --> f\n");
  EXPECT_EQ(render(core::Error{.message = "m", .where = {.file = "f", .line = 3}}, Terminal()),
            "error: m\n --> f:3\n");
}

TEST(Render, ColoursOnlyWhereAllowed) {
  Terminal terminal;
  terminal.color = true;
  EXPECT_EQ(render(core::Error{.message = "m"}, terminal), "\033[1;31merror:\033[0m m\n");
  EXPECT_EQ(render(core::Warning{.code = "W-x", .message = "m", .hint = "h"}, Terminal()),
            "warning W-x: m\nhint: h\n");
}

TEST(Render, EscapesWhatATerminalWouldObey) {
  const std::string name = "a\x1B[2Jb\nc";
  EXPECT_EQ(
      render(core::Error{.field = "router." + name, .message = name, .hint = name}, Terminal()),
      "error: router.a\\x1b[2Jb\\nc: a\\x1b[2Jb\\nc\nhint: a\\x1b[2Jb\\nc\n");
  EXPECT_EQ(render(core::Warning{.code = "W-x", .message = name, .hint = name}, Terminal()),
            "warning W-x: a\\x1b[2Jb\\nc\nhint: a\\x1b[2Jb\\nc\n");
  EXPECT_EQ(core::to_string(core::Error{.field = name, .message = name, .hint = name}),
            "a\\x1b[2Jb\\nc: a\\x1b[2Jb\\nc (a\\x1b[2Jb\\nc)");
}

TEST(ExitCodes, TheGravestWins) {
  using core::ErrorCode;
  const core::Error usage{.code = ErrorCode::kUsage};
  const core::Error infeasible{.code = ErrorCode::kInfeasible};
  const core::Error internal{.code = ErrorCode::kInternal};
  EXPECT_EQ(exit_code({infeasible}), ExitCode::kInfeasible);
  EXPECT_EQ(exit_code({infeasible, usage}), ExitCode::kUsage);
  EXPECT_EQ(exit_code({infeasible, internal, usage}), ExitCode::kInternal);
}

}  // namespace
}  // namespace ridgeline::cli
