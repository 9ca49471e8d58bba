#include "deploy/flag_names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"

namespace ridgeline::deploy {
namespace {

using testing::SizeIs;

TEST(FlagNames, AreFoundByTheirBeginning) {
  const FlagNames& names = flag_names("vllm");
  EXPECT_THAT(names.find("tensor-par"), SizeIs(1));
  EXPECT_GT(names.find("max-num").size(), 1U);
  EXPECT_THAT(names.find("no-such-flag"), SizeIs(0));
  EXPECT_TRUE(is_launch_flag("vllm", "max_model_len"));
  EXPECT_FALSE(is_launch_flag("vllm", "max_model"));
  EXPECT_TRUE(flag_names("sglang").is_partly_read("attention-backend"));
}

TEST(FlagNames, AFileOfFlagsIsACommandLine) {
  const auto file =
      document::parse_yaml("tensor_parallel_size: 2\nenforce-eager: false\n", "c.yaml");
  const auto words = words_of_config("vllm", *file);
  ASSERT_THAT(words, SizeIs(3));
  EXPECT_EQ(words[0].text, "--tensor-parallel-size");
  EXPECT_EQ(words[1].text, "2");
  EXPECT_EQ(words[2].text, "--no-enforce-eager");
}

}  // namespace
}  // namespace ridgeline::deploy
