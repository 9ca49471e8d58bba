#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "scenario/scenario.hpp"
#include "verbs/host.hpp"
#include "verbs/request.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::verbs {
namespace {

core::Result<Reply> compared(const std::string& models) {
  Request request(*document::parse_json(
      R"({"model": "llama-3.1-8b", "gpu": "h100", "workload": {"request_rate": 1, "input_len": 64,)"
      R"( "output_len": 4, "num_prompts": 3}, "compare": )" +
          models + "}",
      ""));
  Host host;
  return find_verb("run")->run(request, host);
}

TEST(ComparedRuns, AreARowPerModelOfTheSameRequests) {
  const auto reply = compared(R"(["kernel", "v1"])");
  ASSERT_TRUE(reply);
  const std::string text = *reply->text("csv", {});
  EXPECT_EQ(std::ranges::count(text, '\n'), 3);
  EXPECT_THAT(text, testing::HasSubstr(",v1,"));
  EXPECT_EQ(reply->tree().find("models")->items().size(), 2U);
  EXPECT_FALSE(reply->text("markdown", {}));
}

TEST(ComparedRuns, OneModelThatIsNotKnownIsAnError) {
  EXPECT_FALSE(compared(R"(["kernel", "v7"])"));
}

}  // namespace
}  // namespace ridgeline::verbs
