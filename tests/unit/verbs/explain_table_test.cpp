#include <optional>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/palette.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "verbs/explain_view.hpp"

namespace ridgeline::verbs {
namespace {

TEST(ExplanationTable, NamesWhatWasSetAndWhatFollows) {
  auto loaded = scenario::load_scenario(
      std::nullopt,
      {{"model", "llama-3.1-8b"}, {"gpu", "h100"}, {"engine.num_gpu_blocks", "1001"}},
      scenario::Purpose::kLook);
  ASSERT_TRUE(loaded);
  const auto resolved = *scenario::resolve(std::move(*loaded));
  const std::string text = explanation_table(resolved, {});
  EXPECT_THAT(text, ::testing::StartsWith("llama-3.1-8b on h100\n\nnetwork\n"));
  EXPECT_THAT(text, ::testing::ContainsRegex("num_gpu_blocks +1 001  of 16 tokens"));
  EXPECT_THAT(text, ::testing::ContainsRegex("engine.num_gpu_blocks +1001  flag"));
}

}  // namespace
}  // namespace ridgeline::verbs
