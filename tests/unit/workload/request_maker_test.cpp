#include "workload/request_maker.hpp"

#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "workload/options.hpp"

namespace ridgeline::workload {
namespace {

core::SimTime second(int seconds) {
  return core::SimTime::at(core::Duration::microseconds(1'000'000 * std::int64_t{seconds}));
}

TEST(RequestMaker, NumbersRequestsAndClearsWhatTheLastOneHeld) {
  SyntheticOptions options;
  options.input_len = FixedLength{core::Tokens(10)};
  options.output_len = FixedLength{core::Tokens(3)};
  options.prefix = SharedPrefix{core::Tokens(64), 2, SharedPrefix::Choice::kUniform, 1.0};
  options.num_prompts = 2;
  RequestMaker maker(options);
  EXPECT_EQ(maker.size(), 2);
  domain::Request request;
  request.priority = 5;
  request.images = 1;
  request.turn = 4;
  request.prompt = {{9, core::Tokens(1)}, {8, core::Tokens(1)}};
  maker.make(second(1), request);
  EXPECT_EQ(request.id, core::RequestId(0));
  EXPECT_EQ(request.arrival, second(1));
  EXPECT_EQ(request.prompt_tokens, core::Tokens(74)) << "the prefix comes on top of input_len";
  EXPECT_EQ(request.max_tokens, core::Tokens(3));
  ASSERT_EQ(request.prompt.size(), 1U);
  EXPECT_EQ(request.prompt.front().length, core::Tokens(64));
  EXPECT_EQ(request.priority + request.images + request.turn, 0);
  EXPECT_TRUE(maker.wants(second(1)));
  EXPECT_EQ(maker.make(second(1)).id, core::RequestId(1));
  EXPECT_FALSE(maker.wants(second(1))) << "num_prompts are made";
  EXPECT_DEATH(maker.make(second(1)), "a request beyond the end of the workload");
}

TEST(RequestMaker, WantsNothingAtItsDurationOrLater) {
  SyntheticOptions options;
  options.duration = core::Duration::microseconds(2'000'000);
  const RequestMaker maker(options);
  EXPECT_TRUE(maker.wants(second(1)));
  EXPECT_FALSE(maker.wants(second(2)));
  EXPECT_FALSE(maker.size().has_value());
}

TEST(RequestMaker, NotesAnOverrunOnce) {
  SyntheticOptions options;
  options.num_prompts = 9;
  RequestMaker maker(options);
  maker.make(second(0));
  EXPECT_TRUE(maker.errors().empty());
  maker.note_overrun("the end of days");
  maker.note_overrun("another limit");
  ASSERT_EQ(maker.errors().size(), 1U);
  EXPECT_EQ(maker.errors()[0].message,
            "found 1 requests and more to come past the end of days, expected the workload to end "
            "before");
}

}  // namespace
}  // namespace ridgeline::workload
