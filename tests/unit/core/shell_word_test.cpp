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

TEST(ShellWord, AFlagIsNoNegativeNumber) {
  for (const char* flag : {"--seed", "-o", "-tp=4", "--"}) {
    EXPECT_TRUE(is_flag_word(flag)) << flag;
  }
  for (const char* word : {"", "-", "-1", "-.5", "a-b"}) {
    EXPECT_FALSE(is_flag_word(word)) << word;
  }
}

}  // namespace
}  // namespace ridgeline::core
