#include "deploy/shell_syntax.hpp"

#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "core/result.hpp"

namespace ridgeline::deploy::shell {
namespace {

TEST(ShellSyntax, HasCommandsOfEachKind) {
  std::vector<Oddity> oddities;
  core::Errors errors;
  const Block block = parse_script(
      "a && b\nif c; then d; fi\nfor i in 1 2; do e; done\nf() { g; }\n[[ $x == y ]]\n((i++))\n",
      {.file = "x.sh"},
      false,
      oddities,
      errors);
  std::vector<Command::Kind> kinds;
  for (const Item& item : block) {
    kinds.push_back(item.command->kind);
  }
  using Kind = Command::Kind;
  EXPECT_EQ(kinds,
            (std::vector{Kind::kSimple,
                         Kind::kSimple,
                         Kind::kIf,
                         Kind::kFor,
                         Kind::kFunction,
                         Kind::kTest,
                         Kind::kArithmetic}));
  EXPECT_EQ(block[1].joint, Joint::kAnd);
  EXPECT_EQ(block[2].command->where.line, 2);
  EXPECT_TRUE(errors.empty());
}

TEST(ShellSyntax, QuotesEndBehindWhatTheyHold) {
  const auto end = [](std::string_view text) { return end_of_quoted(text, 0); };
  EXPECT_EQ(end("\"a\\\"b\" c"), 6U);
  EXPECT_EQ(end("$(a \"$(b)\") c"), 11U);
  EXPECT_EQ(end("${a:-\"}\"}x"), 9U);
  EXPECT_EQ(end("'a"), 3U);
}

}  // namespace
}  // namespace ridgeline::deploy::shell
