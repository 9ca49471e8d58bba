#include "api/stepped_run.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "ridgeline.h"
#include "unit/api/driven_session.hpp"

namespace ridgeline::api {
namespace {

using testing::HasSubstr;

TEST(SteppedRun, StepsAreTheEnginesSteps) {
  Driven session;
  EXPECT_EQ(session.opened.code, 0);
  EXPECT_TRUE(session.call("step").tree.find("next_s")->is_null());
  EXPECT_EQ(count(session.submit(), "id"), 0);
  std::int64_t steps = 0;
  std::int64_t tokens = 0;
  CAnswer last = session.call("observe");
  while (!last.tree.find("next_s")->is_null()) {
    last = session.call("step");
    steps += count(last, "steps");
    tokens += count(last, "tokens");
  }
  EXPECT_EQ(steps, 4);
  EXPECT_EQ(tokens, 4);
  EXPECT_EQ(ended(last), 1U);
}

TEST(SteppedRun, ClientsThatWaitSendTheNextWhenOneHasEnded) {
  Driven session;
  double before = -1.0;
  for (std::int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(count(session.submit(), "id"), i);
    const CAnswer done = session.call("run_until", R"({"stop_at_request_end": true})");
    ASSERT_EQ(ended(done), 1U) << done.json;
    EXPECT_EQ(done.tree.find("ended")->items().front().find("id")->as_integer(), i);
    EXPECT_GT(done.tree.find("now_s")->as_real(), before);
    before = done.tree.find("now_s")->as_real();
  }
  EXPECT_EQ(count(session.call("observe"), "ended"), 5);
}

TEST(SteppedRun, TimeGoesAsFarAsItIsTold) {
  Driven session;
  session.submit();
  const CAnswer none = session.call("run_until", R"({"until_s": 0.006})");
  EXPECT_EQ(ended(none), 0U);
  EXPECT_DOUBLE_EQ(none.tree.find("now_s")->as_real(), 0.006);
  EXPECT_EQ(count(session.call("observe"), "running"), 1);
  EXPECT_EQ(ended(session.call("run_until", R"({"until_s": 9})")), 1U);
  EXPECT_THAT(error(session.call("run_until", R"({"until_s": 3})")),
              HasSubstr("until_s: found 3, expected seconds from now, 9"));
}

TEST(SteppedRun, ItsTraceReplaysToTheSameDigest) {
  Driven session;
  for (int i = 0; i < 40; ++i) {
    session.call(
        "submit",
        R"({"prompt_tokens": 300, "output_tokens": 9, "prefix_tokens": 128, "prefix_id": 3})");
    session.call("run_until", R"({"until_s": )" + std::to_string(0.01 * (i + 1)) + "}");
    if (i == 20) {
      session.submit();
      session.call("abort", R"({"id": 21})");
    }
  }
  const CAnswer whole = session.call("finish");
  EXPECT_EQ(whole.code, 0);
  EXPECT_THAT(whole.json, HasSubstr("W-session"));
  const std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / "ridgeline-session.jsonl";
  std::ofstream(path) << session.call("trace").tree.find("trace")->as_string();
  const std::string replay = R"({"model": "llama-3.1-8b", "gpu": "h100", "workload": {"trace": ")" +
                             path.string() + "\"}}";
  rl_result* result = nullptr;
  const int code = rl_call("replay", replay.data(), replay.size(), nullptr, &result);
  EXPECT_EQ(taken(code, result).tree.find("digest")->as_string(),
            whole.tree.find("digest")->as_string());
  EXPECT_EQ(error(session.submit()), "session: is finished");
}

}  // namespace
}  // namespace ridgeline::api
