#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "workload/options.hpp"
#include "workload/source.hpp"

namespace ridgeline::workload {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Every distribution is one, so that a stream that moves shows.
SyntheticOptions varied() {
  SyntheticOptions options;
  options.arrivals = PoissonArrivals{core::Rate(10.0)};
  options.input_len = UniformLength{core::Tokens(1), core::Tokens(100'000)};
  options.output_len = LognormalLength{500.0, 300.0};
  options.prefix = SharedPrefix{core::Tokens(64), 1000, SharedPrefix::Choice::kUniform, 1.0};
  options.num_prompts = 500;
  options.seed = 3;
  return options;
}

std::vector<domain::Request> pulled(const SyntheticOptions& options, std::size_t most = 1'000'000) {
  auto source = make_synthetic(options);
  EXPECT_TRUE(source.has_value());
  std::vector<domain::Request> requests;
  while (requests.size() < most) {
    const auto arrival = (*source)->next_arrival();
    if (!arrival) {
      break;
    }
    requests.push_back((*source)->pop());
    EXPECT_EQ(requests.back().arrival, *arrival);
  }
  EXPECT_THAT((*source)->errors(), IsEmpty());
  return requests;
}

template <class Field>
auto column(const std::vector<domain::Request>& requests, Field field) {
  std::vector<decltype(field(requests.front()))> out;
  for (const auto& request : requests) {
    out.push_back(field(request));
  }
  return out;
}
auto arrivals_of(const std::vector<domain::Request>& requests) {
  return column(requests, [](const auto& request) { return request.arrival.count(); });
}
auto own_inputs_of(const std::vector<domain::Request>& requests) {
  return column(requests, [](const auto& request) {
    return request.prompt_tokens.value() -
           (request.prompt.empty() ? 0 : request.prompt.front().length.value());
  });
}
auto outputs_of(const std::vector<domain::Request>& requests) {
  return column(requests, [](const auto& request) { return request.output_tokens.value(); });
}
auto prefixes_of(const std::vector<domain::Request>& requests) {
  return column(requests, [](const auto& request) { return request.prompt[0].content; });
}

TEST(OpenLoop, GivesNumPromptsRequestsInOrder) {
  const auto requests = pulled(varied());
  ASSERT_THAT(requests, SizeIs(500));
  for (std::size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(requests[i].id.value(), i);
    EXPECT_EQ(requests[i].max_tokens, requests[i].output_tokens);
    EXPECT_FALSE(requests[i].lora.valid());
    EXPECT_FALSE(requests[i].session.valid());
    EXPECT_EQ(requests[i].priority, 0);
  }
  const auto arrivals = arrivals_of(requests);
  EXPECT_TRUE(std::is_sorted(arrivals.begin(), arrivals.end()));
}

TEST(OpenLoop, EndsBeforeItsDuration) {
  SyntheticOptions options;
  options.arrivals = ConstantArrivals{core::Rate(4.0)};
  options.duration = core::Duration::milliseconds(1'000);
  // At 0, 0.25, 0.5 and 0.75 s; the one at 1 s is not sent.
  EXPECT_THAT(pulled(options), SizeIs(4));
  options.duration = core::Duration::milliseconds(1'000) + core::Duration::ticks(1);
  EXPECT_THAT(pulled(options), SizeIs(5));
  options.num_prompts = 3;
  EXPECT_THAT(pulled(options), SizeIs(3));
}

TEST(OpenLoop, KnowsItsSizeWhenOnlyACountEndsIt) {
  SyntheticOptions options = varied();
  EXPECT_EQ((*make_synthetic(options))->size(), 500);
  options.duration = core::Duration::seconds(1);
  EXPECT_EQ((*make_synthetic(options))->size(), std::nullopt);
  EXPECT_FALSE((*make_synthetic(options))->is_closed_loop());
}

TEST(OpenLoop, IsLazy) {
  // Four billion requests: stored, they would need hundreds of GiB.
  SyntheticOptions options = varied();
  options.arrivals = PoissonArrivals{core::Rate(1e6)};
  options.num_prompts = 4'000'000'000;
  EXPECT_THAT(pulled(options, 1000), SizeIs(1000));
}

TEST(OpenLoop, AskingDoesNotDraw) {
  auto source = make_synthetic(varied());
  const auto first = (*source)->next_arrival();
  EXPECT_EQ((*source)->next_arrival(), first);
  EXPECT_EQ((*source)->pop().arrival, first);
}

TEST(OpenLoop, TheSameSeedGivesTheSameRequests) {
  const auto first = pulled(varied());
  const auto second = pulled(varied());
  EXPECT_EQ(arrivals_of(first), arrivals_of(second));
  EXPECT_EQ(own_inputs_of(first), own_inputs_of(second));
  EXPECT_EQ(outputs_of(first), outputs_of(second));
  EXPECT_EQ(prefixes_of(first), prefixes_of(second));
}

TEST(OpenLoop, SeedAndReplicationChangeEverything) {
  const auto base = pulled(varied());
  SyntheticOptions seeded = varied();
  seeded.seed = 4;
  SyntheticOptions replicated = varied();
  replicated.replication = 1;
  for (const auto& options : {seeded, replicated}) {
    const auto other = pulled(options);
    EXPECT_NE(arrivals_of(base), arrivals_of(other));
    EXPECT_NE(own_inputs_of(base), own_inputs_of(other));
    EXPECT_NE(outputs_of(base), outputs_of(other));
    EXPECT_NE(prefixes_of(base), prefixes_of(other));
  }
}

TEST(OpenLoop, ArrivalsDoNotMoveTheRest) {
  const auto base = pulled(varied());
  for (const Arrivals& arrivals : {Arrivals(PoissonArrivals{core::Rate(20.0)}),
                                   Arrivals(GammaArrivals{core::Rate(10.0), 0.3}),
                                   Arrivals(AllAtOnce{})}) {
    SyntheticOptions options = varied();
    options.arrivals = arrivals;
    const auto other = pulled(options);
    EXPECT_NE(arrivals_of(base), arrivals_of(other));
    EXPECT_EQ(own_inputs_of(base), own_inputs_of(other));
    EXPECT_EQ(outputs_of(base), outputs_of(other));
    EXPECT_EQ(prefixes_of(base), prefixes_of(other));
  }
}

TEST(OpenLoop, InputLengthsDoNotMoveTheRest) {
  const auto base = pulled(varied());
  SyntheticOptions options = varied();
  options.input_len = FixedLength{core::Tokens(5)};
  const auto other = pulled(options);
  EXPECT_NE(own_inputs_of(base), own_inputs_of(other));
  EXPECT_EQ(arrivals_of(base), arrivals_of(other));
  EXPECT_EQ(outputs_of(base), outputs_of(other));
  EXPECT_EQ(prefixes_of(base), prefixes_of(other));
}

TEST(OpenLoop, WithoutAPrefixTheRestStays) {
  const auto base = pulled(varied());
  SyntheticOptions options = varied();
  options.prefix.reset();
  const auto other = pulled(options);
  EXPECT_EQ(arrivals_of(base), arrivals_of(other));
  EXPECT_EQ(own_inputs_of(base), own_inputs_of(other));
  EXPECT_EQ(outputs_of(base), outputs_of(other));
  for (const auto& request : other) {
    EXPECT_THAT(request.prompt, IsEmpty());
  }
}

TEST(OpenLoop, ThePrefixComesOnTopOfTheInput) {
  SyntheticOptions options = varied();
  options.input_len = FixedLength{core::Tokens(100)};
  for (const auto& request : pulled(options)) {
    ASSERT_THAT(request.prompt, SizeIs(1));
    EXPECT_EQ(request.prompt[0].length.value(), 64);
    EXPECT_EQ(request.prompt_tokens.value(), 164);
  }
}

TEST(OpenLoop, SaysThatItLeftTheRangeOfTime) {
  // Nine gaps of 10^6 s on average would fit; half of the seeds need more for nine requests. Find
  // one.
  SyntheticOptions options;
  options.arrivals = PoissonArrivals{core::Rate(1e-6)};
  options.num_prompts = 9;
  for (options.seed = 0; options.seed < 100; ++options.seed) {
    auto source = make_synthetic(options);
    std::int64_t count = 0;
    while ((*source)->next_arrival()) {
      (*source)->pop();
      ++count;
    }
    ASSERT_EQ((*source)->errors().empty(), count == 9);
    if (count < 9) {
      EXPECT_THAT((*source)->errors()[0].message,
                  ::testing::HasSubstr("the range of simulated time"));
      return;
    }
  }
  FAIL() << "no seed left the range";
}

TEST(OpenLoopDeathTest, PopAfterTheEndIsABug) {
  SyntheticOptions options;
  options.num_prompts = 1;
  auto source = make_synthetic(options);
  (*source)->pop();
  EXPECT_DEATH((*source)->pop(), "stream that has ended");
}

}  // namespace
}  // namespace ridgeline::workload
