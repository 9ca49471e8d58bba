#include "report/plan_page.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"

namespace ridgeline::report {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

document::Node a_plan(const std::string& text) {
  return *document::parse_json(text, "test");
}

/// Two deployments, the second of them a bound, and a third that a bound refuses.
std::string two(const std::string& answer) {
  return R"({"config":{"engine":"vllm@0.15"},"question":{"workload":"8 req/s","confidence":0.9,)"
         R"("objective":["usd_per_hour"],"slo":[{"statistic":"p99","tpot_ms":50}]},"answer":)" +
         answer +
         R"(,"ranking":["a","b"],"candidates":[)"
         R"({"id":"a","gpus":2,"deployment":{"label":"h100 TP2 <i>","model":"m","gpu":"h100",)"
         R"("replicas":1},"capacity_rps":{"value":8,"lo":7,"hi":9},"usd_per_hour":6,)"
         R"("slo":[{"metric":"TPOT","value":20}],"p_feasible":0.95,"bound":null,"dropped":null},)"
         R"({"id":"b","gpus":1,"deployment":{"label":"mi300x TP1","model":"m","gpu":"mi300x",)"
         R"("replicas":1},"capacity_rps":{"value":12,"lo":12,"hi":12},"usd_per_hour":null,)"
         R"("slo":[{"metric":"TPOT","value":10}],"p_feasible":null,)"
         R"("bound":"a bound, not an estimate: so","dropped":null},)"
         R"({"id":"c","gpus":0,"deployment":{"label":"l4 TP1","model":"m","gpu":"l4"},)"
         R"("capacity_rps":null,"slo":[],"dropped":{"stage":"bound","reason":"too slow"}}],)"
         R"("rejected":[{"reason":"does not fit","count":3,"example":"l4","nearest":""}],)"
         R"("warnings":[{"code":"W-x","message":"mind this","hint":""}]})";
}

TEST(PlanPage, SaysQuestionAnswerRowsAndWhatWasLeftOut) {
  const std::string page = plan_page(a_plan(two(R"({"id":"a","headroom_pct":12})")));
  EXPECT_THAT(
      page,
      AllOf(HasSubstr("p99 TPOT \u2264 50 ms; least usd_per_hour, at least 90 % sure"),
            HasSubstr("id=\"answer\">1 \u00d7 h100 TP2 &lt;i&gt;</p>"),
            HasSubstr("<td>2</td><td>6.00</td><td>8.00 (7.00\u20139.00)</td><td>20.0 ms</td>"
                      "<td>95 %</td>"),
            HasSubstr("too slow"),
            HasSubstr("<td>does not fit</td><td>3</td>"),
            HasSubstr("W-x: mind this"),
            HasSubstr("id=\"cost\""),
            HasSubstr("id=\"interactivity\"")));
  EXPECT_THAT(page, Not(HasSubstr("<i>")));
}

TEST(PlanPage, WhatIsABoundHasNoCertainty) {
  const std::string page = plan_page(a_plan(two(R"({"id":"a"})")));
  EXPECT_THAT(page,
              AllOf(HasSubstr("<td>no price</td><td>\u2264 12.0</td><td>\u2265 10.0 ms</td>"
                              "<td>at best</td>"),
                    HasSubstr("At best: a bound, not an estimate: so.")));
  // The answer itself: nothing is said of how sure it is.
  const std::string answered = plan_page(a_plan(two(R"({"id":"b"})")));
  EXPECT_THAT(answered, HasSubstr("<p class=\"bad\">a bound, not an estimate: so</p>"));
  EXPECT_THAT(answered, Not(HasSubstr("id=\"sure\"")));
}

TEST(PlanPage, TwinsAreNamed) {
  std::string text = two(R"({"id":"a"})");
  text.replace(text.find(R"("p_feasible":0.95)"), 0, R"("twins":["c"],)");
  EXPECT_THAT(plan_page(a_plan(text)), HasSubstr("1 has the numbers of l4 TP1."));
}

TEST(PlanPage, TheMostOfALoadIsNamedAndShown) {
  std::string text = two(R"({"id":"a"})");
  text.replace(text.find(R"("confidence":0.9)"), 0, R"("maximize":"throughput",)");
  text.replace(
      text.find(R"("p_feasible":0.95)"), 0, R"("recommended_load":{"output_tokens_per_s":234.0},)");
  EXPECT_THAT(plan_page(a_plan(text)),
              AllOf(HasSubstr("; most output tokens per second, at least 90 % sure"),
                    HasSubstr("<td>20.0 ms</td><td>234</td><td>95 %</td>")));
}

TEST(PlanPage, WithoutAnAnswerItSaysWhy) {
  const std::string page =
      plan_page(a_plan(two(R"({"id":null,"failure":"none is sure","nearest":["more GPUs"]})")));
  EXPECT_THAT(page, AllOf(HasSubstr("none is sure"), HasSubstr("Nearest: more GPUs")));
}

TEST(PlanPage, AMixHasPools) {
  const std::string page = plan_page(a_plan(
      R"({"question":{"classes":[{"name":"chat","rate_rps":10}],"slo":["p99 TPOT <= 50 ms"],)"
      R"("objective":"gpus","confidence":0.9},"mix":{"cost":3,"failure":null,"pools":[)"
      R"({"deployment":"h100 TP1","replicas":3,"gpus":3,"cost":3,"rate_rps":10,"shares":[1],)"
      R"("p_feasible":0.97,"slo":[{"value":20}]}]},"candidates":[]})"));
  EXPECT_THAT(page,
              AllOf(HasSubstr("chat 10.0 req/s"),
                    HasSubstr("<td>3 \u00d7 h100 TP1</td>"),
                    HasSubstr("<td>20.0 ms</td><td>97 %</td>")));
}

}  // namespace
}  // namespace ridgeline::report
