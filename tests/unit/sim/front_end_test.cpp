#include "sim/front_end.hpp"

#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/time.hpp"
#include "metrics/summary.hpp"
#include "metrics/work_done.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"

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

TEST(FrontEnd, ARunWithoutStepsHasNone) {
  EXPECT_FALSE(front_end_warning(streaming(0), {}, {}));
}

}  // namespace
}  // namespace ridgeline::sim
