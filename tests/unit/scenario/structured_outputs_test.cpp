#include "scenario/structured_outputs.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "resolving.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {
namespace {

std::vector<Override> structured(std::vector<Override> more) {
  more.push_back({.path = "workload.structured_output_ratio", .text = "0.5"});
  return with("llama-3.1-8b", "h100", std::move(more));
}

TEST(StructuredOutputs, HaveTimesOfTheirOwn) {
  const auto plain = resolved(with("llama-3.1-8b", "h100"));
  ASSERT_TRUE(plain);
  EXPECT_FALSE((*plain)->engine.grammars);
  EXPECT_FALSE((*plain)->section.serving.grammar_mask_time);

  const auto unset = resolved(structured({}));
  ASSERT_TRUE(unset) << core::to_string(unset.error().front());
  ASSERT_TRUE((*unset)->engine.grammars);
  EXPECT_EQ((*unset)->engine.grammars->compile, core::Duration::milliseconds(100));
  EXPECT_EQ((*unset)->engine.grammars->mask, core::Duration::microseconds(40));
  ASSERT_EQ((*unset)->warnings.size(), 1U);
  EXPECT_EQ((*unset)->warnings.front().code, "W-grammar-times");

  const auto stated = resolved(
      structured({{"serving.grammar_compile_time", "1s"}, {"serving.grammar_mask_time", "2ms"}}));
  ASSERT_TRUE(stated);
  EXPECT_EQ((*stated)->engine.grammars->compile, core::Duration::seconds(1));
  EXPECT_EQ((*stated)->engine.grammars->mask, core::Duration::milliseconds(2));
  EXPECT_TRUE((*stated)->warnings.empty());
}

TEST(StructuredOutputs, AreRefusedWhereTheyAreNotSimulated) {
  EXPECT_THAT(core::to_string(only_error(structured({{"engine.version", "sglang"}}))),
              testing::HasSubstr("workload.structured_output_ratio: structured outputs are not "
                                 "simulated for sglang"));
  EXPECT_THAT(core::to_string(only_error(
                  structured({{"engine.version", "0.11"}, {"engine.async_scheduling", "true"}}))),
              testing::HasSubstr("does not take structured outputs in vllm@0.11"));
  EXPECT_TRUE(resolved(structured({{"engine.version", "0.11"}})));
}

TEST(StructuredOutputs, TheirSettingsNeedSome) {
  for (const char* path : {"workload.structured_output_schemas",
                           "serving.grammar_compile_time",
                           "serving.grammar_mask_time"}) {
    EXPECT_THAT(
        core::to_string(only_error(with("llama-3.1-8b", "h100", {{.path = path, .text = "1"}}))),
        testing::HasSubstr("structured_output_ratio is 0"))
        << path;
  }
}

}  // namespace
}  // namespace ridgeline::scenario
