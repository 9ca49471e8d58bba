// The step loop: when tokens reach clients, and with which gaps before them.
#include "engine/loop/step_loop.hpp"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/engine.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"
#include "support/probe_run.hpp"
#include "support/seats/scheduler.hpp"

namespace ridgeline {
namespace {

using testing::ElementsAre;
using testing::Pair;

core::SimTime at(std::int64_t microseconds) {
  return core::SimTime() + core::Duration::microseconds(microseconds);
}

/// Keeps gaps as they are reported: microseconds, and tokens.
class GapSink final : public domain::RecordSink {
 public:
  void on_request(const domain::RequestRecord& record) override { requests.push_back(record); }
  void on_steps(const domain::StepRecord& /*record*/) override {}
  void on_token_gaps(const domain::TokenGaps& gaps_of_step) override {
    gaps.emplace_back(gaps_of_step.gap.count() / core::Duration::microseconds(1).count(),
                      gaps_of_step.requests);
  }

  std::vector<domain::RequestRecord> requests;
  std::vector<std::pair<std::int64_t, std::int64_t>> gaps;
};

/// Step time: 1000 us + 10 us a token (LinearModel's defaults).
GapSink run(const engine::EngineOptions& options, const std::vector<domain::Request>& requests) {
  GapSink sink;
  const test::LinearModel model;
  const engine::HostTime host;
  engine::StepLoop loop({.options = options, .model = model, .host = host, .sink = sink},
                        std::make_unique<test::seats::Scheduler>(options),
                        false);
  test::drive(loop, requests);
  return sink;
}

TEST(StepLoop, EqualGapsOfAStepAreOneRun) {
  std::vector<domain::Request> requests = {
      test::tiny_request(0, 5, 3), test::tiny_request(1, 5, 3), test::tiny_request(2, 5, 3)};
  requests[0].arrival = requests[1].arrival = at(0);
  requests[2].arrival = at(500);
  const GapSink sink = run(test::tiny_options("0.15"), requests);
  // 1100 us: two prompts of 5. 1070 us: two decodes and the third prompt. 1030 us: three decodes,
  // with which the first two end. 1010 us: the third alone.
  EXPECT_THAT(sink.gaps, ElementsAre(Pair(1070, 2), Pair(1030, 3), Pair(1010, 1)));
  ASSERT_EQ(sink.requests.size(), 3U);
  EXPECT_EQ(sink.requests[0].id, core::RequestId(0));
  EXPECT_EQ(sink.requests[0].first_token, at(1100));
  EXPECT_EQ(sink.requests[0].last_token, at(3200));
  EXPECT_EQ(sink.requests[2].first_token, at(2170));
  EXPECT_EQ(sink.requests[2].last_token, at(4210));
}

TEST(StepLoop, AcceptedDraftsComeWithTheTokenBeforeThem) {
  engine::EngineOptions options = test::tiny_options("0.15");
  options.num_speculative_tokens = 2;
  options.draft_method = engine::DraftMethod::kNgram;
  options.draft_acceptance = {1.0};
  GapSink sink;
  const test::LinearModel model;
  const engine::HostTime host;
  const auto loop = engine::make_reference_engine(
      {.options = options, .model = model, .host = host, .sink = sink});
  test::drive(*loop, {test::tiny_request(0, 5, 6)});
  // A first token; then three at a time, 1030 us apart. The sixth is the last: one is dropped.
  EXPECT_THAT(sink.gaps, ElementsAre(Pair(1030, 1), Pair(0, 2), Pair(1030, 1), Pair(0, 1)));
  ASSERT_EQ(sink.requests.size(), 1U);
  EXPECT_EQ(sink.requests[0].output_tokens, core::Tokens(6));
}

TEST(StepLoop, APromptThatCannotRunIsRefused) {
  const GapSink sink =
      run(test::tiny_options("0.15"), {test::tiny_request(0, 64, 3), test::tiny_request(1, 63, 3)});
  ASSERT_EQ(sink.requests.size(), 2U);
  EXPECT_EQ(sink.requests[0].outcome, domain::Outcome::kRejected);
  EXPECT_EQ(sink.requests[1].outcome, domain::Outcome::kLengthCapped);
  EXPECT_EQ(sink.requests[1].output_tokens, core::Tokens(1));
}

}  // namespace
}  // namespace ridgeline
