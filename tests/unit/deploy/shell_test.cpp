#include "deploy/shell.hpp"

#include <gtest/gtest.h>

namespace ridgeline::deploy {
namespace {

TEST(Shell, ACommandHasAWordInALine) {
  EXPECT_EQ(command_text("vllm serve a/b", {"--tp 2", "--port 1"}, " &"),
            "vllm serve a/b \\\n  --tp 2 \\\n  --port 1 &\n");
}

TEST(Shell, VariablesAndDevicesStandBeforeIt) {
  EXPECT_EQ(variable_words({{.name = "A", .value = "b c"}}), "A='b c' ");
  EXPECT_EQ(device_list(2, 3), "2,3,4");
}

}  // namespace
}  // namespace ridgeline::deploy
