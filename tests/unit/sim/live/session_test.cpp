#include "sim/live/session.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "domain/token_sink.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "sim/live/clock.hpp"

namespace ridgeline::live {
namespace {

class Told final : public Events {
 public:
  void on_tokens(core::SimTime end, std::span<const domain::TokenEvent> events) override {
    for (const domain::TokenEvent& event : events) {
      tokens.emplace_back(end, event);
    }
  }
  void on_end(const domain::RequestRecord& record) override { ended.push_back(record); }
  void on_steps(const domain::StepRecord& record) override { steps += record.steps; }

  std::vector<std::pair<core::SimTime, domain::TokenEvent>> tokens;
  std::vector<domain::RequestRecord> ended;
  std::int64_t steps = 0;
};

const scenario::Resolved& deployment() {
  static const scenario::Resolved resolved = [] {
    auto loaded = scenario::load_scenario(
        std::nullopt, {{"model", "llama-3.1-8b"}, {"gpu", "h100"}}, scenario::Purpose::kLook);
    return std::move(*scenario::resolve(std::move(*loaded)));
  }();
  return resolved;
}

domain::Request of_tokens(std::int64_t prompt, std::int64_t output) {
  domain::Request request;
  request.prompt_tokens = core::Tokens(prompt);
  request.output_tokens = core::Tokens(output);
  request.max_tokens = core::Tokens(output);
  return request;
}

TEST(Session, TellsTokensWhenTheirTimeHasCome) {
  ManualClock clock;
  Told told;
  const auto session = *Session::open(deployment(), clock, told, nullptr);
  EXPECT_EQ(session->next_instant(), core::SimTime::never());
  EXPECT_EQ(session->submit(of_tokens(100, 3)), core::RequestId(0));
  session->advance();
  EXPECT_TRUE(told.tokens.empty());
  EXPECT_GT(session->next_instant(), clock.now());
  clock.set(core::SimTime::at(core::Duration::seconds(10)));
  session->advance();
  ASSERT_EQ(told.tokens.size(), 3U);
  EXPECT_LT(told.tokens.front().first, told.tokens.back().first);
  ASSERT_EQ(told.ended.size(), 1U);
  EXPECT_EQ(told.ended.front().outcome, domain::Outcome::kFinished);
  EXPECT_EQ(told.steps, 3);
}

TEST(Session, StampsAreLaterThanAllBefore) {
  ManualClock clock;
  Told told;
  const auto session = *Session::open(deployment(), clock, told, nullptr);
  session->submit(of_tokens(10, 1));
  const core::SimTime first = session->last_stamp();
  session->submit(of_tokens(10, 1));
  EXPECT_GT(session->last_stamp(), first);
  EXPECT_EQ(session->num_requests(), 2);
}

TEST(Session, AbortsEndARequestOnce) {
  ManualClock clock;
  Told told;
  const auto session = *Session::open(deployment(), clock, told, nullptr);
  const core::RequestId id = session->submit(of_tokens(10, 1000));
  clock.set(core::SimTime::at(core::Duration::seconds(1)));
  session->abort(id);
  ASSERT_EQ(told.ended.size(), 1U);
  EXPECT_EQ(told.ended.front().outcome, domain::Outcome::kAborted);
  session->abort(id);
  EXPECT_EQ(told.ended.size(), 1U);
  const auto outcome = session->finish();
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->digest.size(), 32U);
}

TEST(Session, EndsWhatIsOpenWhenItFinishes) {
  ManualClock clock;
  Told told;
  const auto session = *Session::open(deployment(), clock, told, nullptr);
  session->submit(of_tokens(10, 50));
  const auto outcome = session->finish();
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->summary.completed, 1);
  EXPECT_EQ(told.tokens.size(), 50U);
}

}  // namespace
}  // namespace ridgeline::live
