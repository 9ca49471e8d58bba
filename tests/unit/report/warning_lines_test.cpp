#include "report/warning_lines.hpp"

#include <gtest/gtest.h>

#include "report/palette.hpp"

namespace ridgeline::report {
namespace {

TEST(WarningLines, WrapMessageAndHintBelowTheCode) {
  TextStyle style{.width = 60, .ascii = true, .palette = Palette::off(), .saved_to = {}};
  EXPECT_EQ(warning_lines({}, style), "");
  EXPECT_EQ(warning_lines({{.code = "W-one",
                            .message = "a message that is longer than one line of a terminal",
                            .hint = "--flag 1"},
                           {.code = "W-two", .message = "short", .hint = {}}},
                          style),
            "warning W-one: a message that is longer than one line of a\n"
            "  terminal - --flag 1\n"
            "warning W-two: short\n");
}

}  // namespace
}  // namespace ridgeline::report
