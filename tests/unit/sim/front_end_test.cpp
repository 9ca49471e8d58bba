#include "sim/front_end.hpp"

#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/time.hpp"
#include "metrics/summary.hpp"
#include "metrics/work_done.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::sim {
namespace {

/// An API server of 10,000 tokens a second, and drafts of which all are accepted.
scenario::Resolved streaming(int drafts) {
  auto deployment = std::make_shared<scenario::Deployment>();
  deployment->host.per_answer = core::Duration::microseconds(100);
  deployment->engine.num_speculative_tokens = drafts;
  deployment->engine.draft_acceptance = {1.0};
  scenario::Resolved resolved;
  resolved.deployment = deployment;
  return resolved;
}

metrics::Summary busy_for(core::Duration time) {
  metrics::Summary summary;
  summary.busy = time;
  return summary;
}

TEST(FrontEnd, NamesItselfWhereItIsAtWorkAllTheTime) {
  const metrics::WorkDone work{
      .prompts = 100, .prompt_tokens = 1000, .decode_tokens = 9900, .decode_context = 0};
  const auto bound =
      front_end_warning(streaming(0), busy_for(core::Duration::milliseconds(1050)), work);
  ASSERT_TRUE(bound.has_value());
  EXPECT_EQ(bound->code, kFrontEndBound);
  EXPECT_THAT(bound->message, testing::HasSubstr("at most 1e+04 output tokens per second"));
  // At work for half of the time.
  EXPECT_FALSE(front_end_warning(streaming(0), busy_for(core::Duration::seconds(2)), work));
}

TEST(FrontEnd, AcceptedDraftsAreStreamedWithTheirToken) {
  const metrics::WorkDone work{
      .prompts = 0, .prompt_tokens = 0, .decode_tokens = 10'000, .decode_context = 0};
  const metrics::Summary second = busy_for(core::Duration::seconds(1));
  EXPECT_TRUE(front_end_warning(streaming(0), second, work));
  EXPECT_FALSE(front_end_warning(streaming(1), second, work));
}

TEST(FrontEnd, NamesItselfWhereAUsualHostWouldBeAtWorkAllTheTime) {
  // A second of work on a host that streams 1 / 70 us tokens a second, 1.905 on one of 7,500.
  const metrics::WorkDone work{
      .prompts = 0, .prompt_tokens = 0, .decode_tokens = 10'000, .decode_context = 0};
  const auto near =
      front_end_warning(streaming(0), busy_for(core::Duration::milliseconds(1900)), work);
  ASSERT_TRUE(near.has_value());
  EXPECT_EQ(near->code, kFrontEndNear);
  EXPECT_THAT(near->message, testing::HasSubstr("at work for 53 % of the engine's time"));
  EXPECT_FALSE(front_end_warning(streaming(0), busy_for(core::Duration::milliseconds(1910)), work));
}

TEST(FrontEnd, OfAHostThatIsKnownOnlyWhatItIsBoundBy) {
  const metrics::WorkDone work{
      .prompts = 0, .prompt_tokens = 0, .decode_tokens = 10'000, .decode_context = 0};
  using Origin = scenario::Provenance::Origin;
  const auto code = [&](Origin origin, int busy_ms) {
    scenario::Resolved resolved = streaming(0);
    resolved.provenance = {{.path = "serving.frontend_output_time", .origin = origin}};
    const auto warning =
        front_end_warning(resolved, busy_for(core::Duration::milliseconds(busy_ms)), work);
    return warning ? warning->code : "";
  };
  EXPECT_EQ(code(Origin::kDerived, 1500), kFrontEndNear);
  EXPECT_EQ(code(Origin::kFlag, 1500), "");
  EXPECT_EQ(code(Origin::kFile, 1500), "");
  EXPECT_EQ(code(Origin::kFlag, 1000), kFrontEndBound);
}

TEST(FrontEnd, ARunWithoutStepsHasNone) {
  EXPECT_FALSE(front_end_warning(streaming(0), {}, {}));
}

}  // namespace
}  // namespace ridgeline::sim
