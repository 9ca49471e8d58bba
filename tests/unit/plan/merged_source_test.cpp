#include "plan/merged_source.hpp"

#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "workload/options.hpp"
#include "workload/source.hpp"

namespace ridgeline::plan {
namespace {

std::unique_ptr<workload::Source> evenly(double rate, std::int64_t input) {
  workload::SyntheticOptions options;
  options.arrivals = workload::ConstantArrivals{core::Rate(rate)};
  options.input_len = workload::FixedLength{core::Tokens(input)};
  options.num_prompts = 100;
  auto source = workload::make_synthetic(options);
  EXPECT_TRUE(source.has_value());
  return std::move(*source);
}

TEST(MergedSource, RequestsComeInTheOrderOfArrivalNumberedAnew) {
  std::vector<std::unique_ptr<workload::Source>> sources;
  sources.push_back(evenly(1.0, 10));
  sources.push_back(evenly(3.0, 20));
  MergedSource merged(std::move(sources), 40);
  core::SimTime last;
  int of_second = 0;
  for (unsigned i = 0; i < 40; ++i) {
    const auto arrival = merged.next_arrival();
    ASSERT_TRUE(arrival);
    const domain::Request request = merged.pop();
    EXPECT_EQ(request.arrival, *arrival);
    EXPECT_GE(request.arrival, last);
    EXPECT_EQ(request.id.value(), i);
    last = request.arrival;
    of_second += request.prompt_tokens == core::Tokens(20) ? 1 : 0;
  }
  EXPECT_NEAR(of_second, 30, 1);
  EXPECT_FALSE(merged.next_arrival());
}

}  // namespace
}  // namespace ridgeline::plan
