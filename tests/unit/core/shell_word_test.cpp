#include "core/shell_word.hpp"

#include <gtest/gtest.h>

namespace ridgeline::core {
namespace {

TEST(ShellWord, QuotesWhatAShellWouldChange) {
  EXPECT_EQ(shell_word("a/b-c.yaml"), "a/b-c.yaml");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("$x"), "'$x'");
}

}  // namespace
}  // namespace ridgeline::core
