#include "deploy/shell.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"

namespace ridgeline::deploy {
namespace {

TEST(Shell, SplitsAScriptIntoCommandsOfWords) {
  core::Errors errors;
  const auto commands =
      shell_commands("# one\nA=1 b 'c d' \\\n  \"e\\\"f\" & g;h\n", "x.sh", errors);
  std::string text;
  for (const auto& command : commands) {
    for (const Word& word : command) {
      text += "[" + word.text + "]";
    }
    text += "\n";
  }
  EXPECT_EQ(text, "[A=1][b][c d][e\"f]\n[g]\n[h]\n");
  EXPECT_EQ(commands.front()[3].where.line, 3);
  EXPECT_EQ(commands.front()[3].where.column, 3);
  EXPECT_TRUE(errors.empty());
}

TEST(Shell, NotesAQuoteWithoutItsEnd) {
  core::Errors errors;
  static_cast<void>(shell_commands("echo 'x\n", "x.sh", errors));
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors.front().where.column, 6);
}

TEST(Shell, FindsServersAndCountsThoseThatAreAlike) {
  core::Errors errors;
  const auto servers = servers_of_script(
      "set -e\nX=1 CUDA_VISIBLE_DEVICES=0,1 vllm serve a/b --max-num-seqs 4 --port 8001 &\n"
      "X=1 CUDA_VISIBLE_DEVICES=2,3 vllm serve a/b --max-num-seqs 4 --port 8002 &\nwait\n",
      "x.sh",
      errors);
  ASSERT_EQ(servers.size(), 1U);
  EXPECT_EQ(servers.front().replicas, 2);
  EXPECT_EQ(servers.front().network.text, "a/b");
  EXPECT_EQ(servers.front().gpus, 2);
  EXPECT_EQ(servers.front().variables.front().text, "X=1");
  EXPECT_TRUE(errors.empty());
}

TEST(Shell, AScriptWithoutAServerIsNone) {
  core::Errors errors;
  EXPECT_TRUE(servers_of_script("echo hello\n", "x.sh", errors).empty());
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors.front().message, "found no command that starts a server");
}

}  // namespace
}  // namespace ridgeline::deploy
