#include "workload/open_loop.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "workload/options.hpp"

namespace ridgeline::workload {
namespace {

/// Request i at i / 4 s.
SyntheticOptions four_a_second() {
  SyntheticOptions options;
  options.arrivals = ConstantArrivals{core::Rate(4.0)};
  options.input_len = FixedLength{core::Tokens(10)};
  options.output_len = FixedLength{core::Tokens(3)};
  return options;
}

TEST(OpenLoopSource, ArrivalsFollowTheScheduleWhateverBecomesOfThem) {
  SyntheticOptions options = four_a_second();
  options.num_prompts = 3;
  OpenLoopSource source(options);
  EXPECT_EQ(source.size(), 3);
  for (int i = 0; i < 3; ++i) {
    const core::SimTime at = core::SimTime::at(core::Duration::microseconds(250'000 * i));
    ASSERT_EQ(source.next_arrival(), at);
    const domain::Request request = source.pop();
    EXPECT_EQ(request.arrival, at);
    EXPECT_EQ(request.prompt_tokens, core::Tokens(10));
    EXPECT_EQ(request.output_tokens, core::Tokens(3));
  }
  EXPECT_FALSE(source.next_arrival().has_value());
  EXPECT_TRUE(source.errors().empty());
}

/// At 0, 0.25, 0.5 and 0.75 s; the one at 1 s is not sent.
TEST(OpenLoopSource, EndsBeforeItsDuration) {
  SyntheticOptions options = four_a_second();
  options.duration = core::Duration::microseconds(1'000'000);
  OpenLoopSource source(options);
  EXPECT_FALSE(source.size().has_value());
  int sent = 0;
  while (source.next_arrival()) {
    source.pop();
    ++sent;
  }
  EXPECT_EQ(sent, 4);
}

/// With a request in 10^6 s each, ten reach the 9,200,000 s of simulated time.
TEST(OpenLoopSource, ArrivalsPastTheRangeOfTimeAreAnError) {
  SyntheticOptions options = four_a_second();
  options.arrivals = ConstantArrivals{core::Rate(1e-6)};
  options.num_prompts = 20;
  OpenLoopSource source(options);
  int sent = 0;
  while (source.next_arrival()) {
    source.pop();
    ++sent;
  }
  EXPECT_EQ(sent, 10);
  ASSERT_EQ(source.errors().size(), 1U);
  EXPECT_EQ(source.errors()[0].code, core::ErrorCode::kInfeasible);
  EXPECT_THAT(source.errors()[0].message,
              testing::HasSubstr("10 requests and more to come past the range of simulated time"));
}

}  // namespace
}  // namespace ridgeline::workload
