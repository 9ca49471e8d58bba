#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ridgeline.h"
#include "unit/api/driven_session.hpp"

namespace ridgeline::api {
namespace {

using testing::HasSubstr;

TEST(SessionApi, AnInterruptStopsBetweenInstants) {
  const volatile int flag = 1;
  rl_hooks hooks{};
  hooks.size = sizeof(hooks);
  hooks.interrupt = &flag;
  Driven session(kDeployment, &hooks);
  session.submit();
  const CAnswer stopped = session.call("run_until");
  EXPECT_EQ(stopped.code, 130);
  EXPECT_EQ(ended(stopped), 0U);
}

TEST(SessionApi, WrongCallsAreErrorsWithTheirField) {
  EXPECT_THAT(error(Driven(R"({"model": "no-such", "gpu": "h100"})").opened), HasSubstr("model: "));
  EXPECT_THAT(
      error(Driven(R"({"model": "llama-3.1-8b", "gpu": "h100", "workload": {"request_rate": 1}})")
                .opened),
      HasSubstr("workload: found one"));
  Driven session;
  EXPECT_THAT(error(session.call("go")), HasSubstr("expected one of: submit, abort"));
  EXPECT_EQ(error(session.call("submit")), "prompt_tokens: missing");
  EXPECT_THAT(error(session.call("submit", R"({"prompt_tokens": 0, "output_tokens": 1})")),
              HasSubstr("found 0, expected a whole number from 1"));
  EXPECT_EQ(error(session.call("step", R"({"steps": 3})")), "steps: unknown key");
  EXPECT_THAT(error(session.call("abort", R"({"id": 0})")), HasSubstr("there are 0"));
  EXPECT_THAT(error(session.call("submit", "[")), HasSubstr(""));
  EXPECT_EQ(session.submit().code, 0);  // It goes on as it was.
  EXPECT_EQ(rl_session_call(nullptr, "step", "{}", 2, nullptr), 2);
}

}  // namespace
}  // namespace ridgeline::api
