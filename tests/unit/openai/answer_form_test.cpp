#include "openai/answer_form.hpp"

#include <string>

#include <gtest/gtest.h>

#include "openai/api.hpp"

namespace ridgeline::openai {
namespace {

std::string start_of(Api api) {
  StreamHead head;
  head.api = api;
  head.version = {.minor = 15};
  std::string out;
  make_answer_form(head)->add_start(0, {}, false, out);
  return out;
}

TEST(AnswerForm, OfEachApiBeginsItsOwnWay) {
  EXPECT_EQ(start_of(Api::kCompletions), "");
  EXPECT_NE(start_of(Api::kChat).find(R"("delta":{"role":"assistant","content":""})"),
            std::string::npos);
  EXPECT_TRUE(start_of(Api::kResponses).starts_with("event: response.created\n"));
  EXPECT_TRUE(start_of(Api::kMessages).starts_with("event: message_start\n"));
}

TEST(AnswerForm, OfCompletionsEndsWithUsageWhereItIsWanted) {
  StreamHead head;
  head.version = {.minor = 15};
  const auto form = make_answer_form(head);
  std::string out;
  form->add_end({}, {}, false, out);
  EXPECT_EQ(out, "data: [DONE]\n\n");
  form->add_end({}, {}, true, out);
  EXPECT_NE(out.find(R"("choices":[],"usage":{)"), std::string::npos);
  out.clear();
  form->add_failure(dead_engine(), out);
  EXPECT_TRUE(out.starts_with(R"(data: {"error":{"message":"EngineCore)"));
  EXPECT_TRUE(out.ends_with("data: [DONE]\n\n"));
}

TEST(JsonQuoted, EscapesWhatMustBe) {
  EXPECT_EQ(json_quoted("a\"\n"), R"("a\"\n")");
}

}  // namespace
}  // namespace ridgeline::openai
