#include "observe/answer_reader.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/time.hpp"

namespace ridgeline::observe {
namespace {

using ::testing::HasSubstr;

core::SimTime at_ms(std::int64_t ms) {
  return core::SimTime::at(core::Duration::milliseconds(ms));
}

/// Pieces of a body with the milliseconds of their reads; the stream ends 1 ms after the last.
Answer read(const std::vector<std::pair<std::int64_t, std::string>>& pieces,
            std::string_view problem = {}) {
  AnswerReader reader(true);
  std::int64_t last = 0;
  for (const auto& [ms, text] : pieces) {
    last = ms;
    if (!reader.take(200, "text/event-stream", text, at_ms(ms))) {
      break;
    }
  }
  reader.end(200, problem, at_ms(last + 1));
  return reader.take_answer();
}

std::string token(std::string_view text, std::string_view reason = {}) {
  return "data: {\"id\":\"cmpl-1\",\"choices\":[{\"index\":0,\"text\":\"" + std::string(text) +
         "\",\"finish_reason\":" +
         (reason.empty() ? std::string("null") : "\"" + std::string(reason) + "\"") + "}]}\n\n";
}
std::string chat(std::string_view delta) {
  return "data: {\"choices\":[{\"index\":0,\"delta\":" + std::string(delta) + "}]}\n\n";
}
constexpr const char* kUsage =
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":3,"
    "\"prompt_tokens_details\":{\"cached_tokens\":4}}}\n\n";
constexpr const char* kDone = "data: [DONE]\n\n";

TEST(AnswerReader, TimesEventsByTheirReads) {
  const Answer answer =
      read({{10, token("a")}, {15, token(" b")}, {22, token(" c", "length") + kUsage + kDone}});
  EXPECT_EQ(answer.error, "");
  EXPECT_EQ(answer.ended, StreamEnd::kDone);
  EXPECT_EQ(answer.first_event, at_ms(10));
  EXPECT_EQ(answer.first_text, at_ms(10));
  EXPECT_EQ(answer.last_event, at_ms(22));
  EXPECT_EQ(answer.end, at_ms(23));
  EXPECT_EQ(answer.events, 3);
  EXPECT_EQ(answer.coalesced, 0);
  EXPECT_EQ(answer.gaps,
            (std::vector{core::Duration::milliseconds(5), core::Duration::milliseconds(7)}));
  EXPECT_EQ(answer.prompt_tokens, 9);
  EXPECT_EQ(answer.completion_tokens, 3);
  EXPECT_EQ(answer.cached_tokens, 4);
  EXPECT_EQ(answer.finish_reason, "length");
  EXPECT_EQ(answer.request_id, "cmpl-1");
  EXPECT_EQ(answer.text, "a b c");
}

TEST(AnswerReader, AnEventIsOfTheReadThatCompletedIt) {
  const std::string first = token("a");
  const Answer answer = read({{10, first.substr(0, first.size() - 1)},
                              {12, "\n" + token("b") + token("c", "stop") + kDone}});
  EXPECT_EQ(answer.first_event, at_ms(12));
  EXPECT_EQ(answer.events, 3);
  EXPECT_EQ(answer.coalesced, 2);
}

TEST(AnswerReader, TheRoleOfAChatIsNoTokenAndStartsNoAnswer) {
  const Answer answer = read({{5, chat(R"({"role":"assistant","content":""})")},
                              {9, chat(R"({"content":"hi"})")},
                              {11, chat(R"({"content":" you"})") + kDone}});
  EXPECT_EQ(answer.first_event, at_ms(9));
  EXPECT_EQ(answer.first_text, at_ms(9));
  EXPECT_EQ(answer.events, 2);
  EXPECT_EQ(answer.gaps, std::vector{core::Duration::milliseconds(2)});
}

TEST(AnswerReader, ReasoningIsOutput) {
  const Answer answer = read({{5, chat(R"({"role":"assistant","content":""})")},
                              {9, chat(R"({"reasoning":"hm"})")},
                              {10, chat(R"({"reasoning_content":"hm"})") + kDone}});
  EXPECT_EQ(answer.events, 2);
  EXPECT_EQ(answer.first_text, at_ms(9));
}

TEST(AnswerReader, TellsHowAStreamEnded) {
  EXPECT_EQ(read({{1, token("a", "stop")}}).ended, StreamEnd::kClose);
  EXPECT_EQ(read({{1, token("a", "stop") + "data: [DONE]"}}).ended, StreamEnd::kDone);
  EXPECT_EQ(read({{1, token("a")}}).error, "the stream ended before the answer did");
  EXPECT_EQ(read({{1, token("a")}}, "connection reset").error, "connection reset");
  EXPECT_EQ(read({{1, token("a") + kDone}}, "connection reset").error, "");
  EXPECT_EQ(read({}).error, "an answer without an event that holds a choice");
  EXPECT_EQ(read({{1, kDone}}).error, "an answer without an event that holds a choice");
}

TEST(AnswerReader, AnErrorInTheStreamEndsIt) {
  for (const char* event : {R"({"error":{"message":"it\nbroke","code":500}})",
                            R"({"error":{"message":"it\u0000broke"}})",
                            R"({"error":"it broke"})"}) {
    const Answer answer = read({{1, token("a") + "data: " + event + "\n\n" + token("b") + kDone}});
    EXPECT_EQ(answer.error, "it broke") << event;
    EXPECT_EQ(answer.ended, StreamEnd::kError);
    EXPECT_EQ(answer.events, 1);
  }
  EXPECT_EQ(read({{1, "event: error\ndata: {\"message\":\"gone\"}\n\n"}}).error, "gone");
}

TEST(AnswerReader, RefusesWhatIsNoStreamOfEvents) {
  AnswerReader reader(false);
  EXPECT_FALSE(reader.take(200, "application/json", "{}", at_ms(1)));
  reader.end(200, "aborted", at_ms(2));
  EXPECT_THAT(reader.answer().error, HasSubstr("expected text/event-stream"));
  EXPECT_THAT(read({{1, "data: {\n\n"}}).error, HasSubstr("no JSON object"));
  EXPECT_THAT(read({{1, "data: 7\n\n"}}).error, HasSubstr("no JSON object"));
  EXPECT_THAT(read({{1, "data: " + std::string(2'000'000, 'x')}}).error, HasSubstr("a line of"));
}

TEST(AnswerReader, RepeatsTheRefusalOfAServer) {
  const auto refusal = [](int status, std::string_view body) {
    AnswerReader reader(false);
    EXPECT_TRUE(reader.take(status, "application/json", body, at_ms(1)));
    reader.end(status, "", at_ms(2));
    return reader.answer().error;
  };
  EXPECT_EQ(refusal(400, R"({"error":{"message":"too long","code":400}})"), "HTTP 400: too long");
  EXPECT_EQ(refusal(400, R"({"object":"error","message":"too long"})"), "HTTP 400: too long");
  EXPECT_EQ(refusal(401, R"({"error":"Unauthorized"})"), "HTTP 401: Unauthorized");
  EXPECT_EQ(refusal(404, R"({"detail":"Not Found"})"), "HTTP 404: Not Found");
  EXPECT_EQ(refusal(502, "<html>\nbad"), "HTTP 502: <html> bad");
  EXPECT_LT(refusal(502, std::string(100'000, 'x')).size(), 400U);
}

TEST(AnswerReader, OddEventsAreReadOver) {
  const Answer answer = read({{1,
                               "data: {\"choices\":null}\n\ndata: {}\n\ndata: "
                               "{\"choices\":[{}],\"usage\":{\"prompt_tokens\":\"three\"}}\n\n" +
                                   token("a", "stop") + kDone}});
  EXPECT_EQ(answer.error, "");
  EXPECT_FALSE(answer.prompt_tokens.has_value());
}

TEST(AnswerReader, TakesNoCountsThatAreNone) {
  const auto usage = [](const char* counts) {
    return read(
        {{10,
          token("a", "length") + "data: {\"choices\":[],\"usage\":" + counts + "}\n\n" + kDone}});
  };
  for (const char* const counts : {R"({"prompt_tokens":-1,"completion_tokens":1})",
                                   R"({"prompt_tokens":1,"completion_tokens":-5})",
                                   R"({"prompt_tokens":1,"completion_tokens":-0.5})",
                                   R"({"prompt_tokens":9000000000000000000,"completion_tokens":1})",
                                   R"({"prompt_tokens_details":{"cached_tokens":-3}})"}) {
    const Answer answer = usage(counts);
    EXPECT_THAT(answer.error, HasSubstr("expected 0 to")) << counts;
    EXPECT_EQ(answer.ended, StreamEnd::kError) << counts;
  }
  // What a server leaves out, it does not say.
  EXPECT_EQ(usage(R"({"prompt_tokens":null,"completion_tokens":"?"})").error, "");
}

TEST(AnswerReader, NamesNothingThatATerminalObeys) {
  const Answer answer =
      read({{10, "data: {\"error\":{\"message\":\"a\\u001b[31m\\u009b2Jb\"}}\n\n"}});
  EXPECT_EQ(answer.error, "a [31m\\xc2\\x9b2Jb");
}

}  // namespace
}  // namespace ridgeline::observe
