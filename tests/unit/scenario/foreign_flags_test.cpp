#include "scenario/foreign_flags.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "document/parameter.hpp"
#include "engine/engine_plan.hpp"
#include "engine/schedulers.hpp"

namespace ridgeline::scenario {
namespace {

using Answer = ForeignFlag::Answer;

TEST(ForeignFlags, ANameStandsOnceInTheFiles) {
  std::set<std::string> names;
  for (const std::string_view name : kForeignPrograms) {
    const ForeignProgram& program = foreign_program(name);
    EXPECT_FALSE(program.flags.empty()) << name;
    for (const ForeignFlag& flag : program.flags) {
      EXPECT_TRUE(flag.short_name.empty() || names.insert(flag.short_name).second);
      EXPECT_TRUE(!program.verb.empty() || names.insert(flag.name).second) << flag.name;
    }
  }
}

TEST(ForeignFlags, EveryAnswerIsOfSomeFlag) {
  for (const Answer answer : {Answer::kRefused, Answer::kIgnored}) {
    std::set<std::string> said;
    for (const std::string_view name : kForeignPrograms) {
      const ForeignProgram& program = foreign_program(name);
      for (const ForeignFlag& flag : program.flags) {
        if (flag.answer == answer) {
          said.insert(flag.text);
        }
      }
    }
    const auto answers = foreign_answers(answer);
    EXPECT_EQ(said, std::set<std::string>(answers.begin(), answers.end()));
  }
}

TEST(ForeignFlags, HaveOneOfThreeAnswers) {
  const ForeignFlag* swap = foreign_program("vllm").find("swap-space");
  ASSERT_NE(swap, nullptr);
  EXPECT_EQ(swap->answer, Answer::kIgnored);
  EXPECT_EQ(swap->takes, "VALUE");
  EXPECT_FALSE(swap->takes_many());
  EXPECT_TRUE(foreign_program("vllm").find("api-key")->takes_many());
  const ForeignFlag* graphs = foreign_program("vllm").find("compilation-config");
  ASSERT_NE(graphs, nullptr);
  EXPECT_EQ(graphs->answer, Answer::kRefused);
  EXPECT_EQ(graphs->short_name, "cc");
  const ForeignFlag* policy = foreign_program("inference-sim").find("routing-policy");
  ASSERT_NE(policy, nullptr);
  EXPECT_EQ(policy->text, "router");
  EXPECT_EQ(policy->our_word("weighted"), "blis");
  EXPECT_EQ(policy->our_word("blis"), "blis");
}

TEST(ForeignFlags, AnOptionOfADeploymentIsReadByItsOtherNames) {
  EXPECT_EQ(foreign_program("vllm").find("tp")->text, "tensor-parallel-size");
  EXPECT_EQ(foreign_program("vllm").find("num-gpu-blocks-override")->text, "num-gpu-blocks");
  EXPECT_EQ(foreign_program("sglang").find("disable-cuda-graph")->text, "enforce-eager");
  EXPECT_EQ(foreign_program("vllm").find("max-num-seqs"), nullptr);
}

/// A flag cannot be a setting and be answered too: the setting would win, and the row be dead.
TEST(ForeignFlags, AreNoSettingsOfAnEngine) {
  for (const engine::SchedulerEntry& entry : engine::schedulers()) {
    if (entry.own == nullptr) {
      continue;
    }
    for (const document::Parameter& setting : entry.own->settings) {
      std::string flag(setting.name);
      std::ranges::replace(flag, '_', '-');
      for (const char* program : {"sglang", "trtllm"}) {
        EXPECT_EQ(foreign_program(program).find(flag), nullptr) << flag;
      }
    }
  }
}

TEST(Version, IsTwoNumbers) {
  EXPECT_EQ(parse_version("vllm@0.15.1"), Version(0, 15));
  EXPECT_EQ(parse_version("0.8"), Version(0, 8));
  EXPECT_EQ(parse_version("main"), std::nullopt);
}

}  // namespace
}  // namespace ridgeline::scenario
