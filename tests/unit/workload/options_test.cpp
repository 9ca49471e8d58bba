#include "workload/options.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "workload/limits.hpp"

namespace ridgeline::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

SyntheticOptions sound() {
  SyntheticOptions options;
  options.num_prompts = 100;
  return options;
}

std::vector<std::string> problems(const SyntheticOptions& options) {
  std::vector<std::string> out;
  for (const auto& error : check_options(options)) {
    out.push_back(core::to_string(error));
  }
  EXPECT_EQ(make_synthetic(options).has_value(), out.empty());
  return out;
}

std::vector<std::string> arrival_problems(const Arrivals& arrivals) {
  SyntheticOptions options = sound();
  options.arrivals = arrivals;
  return problems(options);
}

std::vector<std::string> input_problems(const Length& length) {
  SyntheticOptions options = sound();
  options.input_len = length;
  return problems(options);
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(CheckOptions, TakesWhatIsSound) {
  EXPECT_THAT(problems(sound()), IsEmpty());
  EXPECT_THAT(arrival_problems(AllAtOnce{}), IsEmpty());
  EXPECT_THAT(arrival_problems(GammaArrivals{core::Rate(1e9), 1e6}), IsEmpty());
  EXPECT_THAT(arrival_problems(ClosedLoop{kMaxConcurrency, {}}), IsEmpty());
}

TEST(CheckOptions, NeedsAnEnd) {
  SyntheticOptions options;
  EXPECT_THAT(problems(options),
              ElementsAre("workload.num_prompts: neither num_prompts nor duration is given, "
                          "expected an end"));
  options.duration = core::Duration::seconds(1);
  EXPECT_THAT(problems(options), IsEmpty());
  options.arrivals = AllAtOnce{};
  EXPECT_THAT(problems(options),
              ElementsAre("workload.num_prompts: not given, expected a number of requests to "
                          "send all at once"));
}

TEST(CheckOptions, RefusesEndsOutOfRange) {
  SyntheticOptions options;
  options.num_prompts = 0;
  options.duration = core::Duration();
  EXPECT_THAT(problems(options),
              ElementsAre("workload.num_prompts: 0 is out of range, expected 1 to 4294967295",
                          "workload.duration: 0 s is out of range, expected 1e-12 to 9200000 s"));
  options.num_prompts = kMaxRequests + 1;
  options.duration = core::Duration::max();
  EXPECT_THAT(problems(options), SizeIs(2));
}

TEST(CheckOptions, RefusesStreamsThatLeaveTheRange) {
  SyntheticOptions options;
  options.num_prompts = 1'000'000;
  options.arrivals = PoissonArrivals{core::Rate(0.1)};
  EXPECT_THAT(problems(options),
              ElementsAre("workload.num_prompts: 1000000 requests at 0.1 per second take "
                          "10000000 s, expected at most 9200000 s"));
  options.num_prompts.reset();
  options.duration = core::Duration::seconds(1'000'000);
  options.arrivals = ConstantArrivals{core::Rate(10'000.0)};
  EXPECT_THAT(problems(options),
              ElementsAre("workload.duration: 1000000 s at 10000 per second are 10000000000 "
                          "requests, expected at most 4294967295"));
}

TEST(CheckOptions, RefusesRatesOutOfRange) {
  for (const double rate : {0.0, -1.0, kInfinity, std::nan(""), 1e-7, 1e10}) {
    EXPECT_THAT(arrival_problems(PoissonArrivals{core::Rate(rate)}),
                ElementsAre(HasSubstr("workload.request_rate: ")));
    EXPECT_THAT(arrival_problems(ConstantArrivals{core::Rate(rate)}),
                ElementsAre(HasSubstr("workload.request_rate: ")));
    EXPECT_THAT(arrival_problems(GammaArrivals{core::Rate(rate), 1.0}),
                ElementsAre(HasSubstr("workload.request_rate: ")));
  }
  EXPECT_THAT(
      arrival_problems(PoissonArrivals{core::Rate(-1.0)}),
      ElementsAre("workload.request_rate: -1 is out of range, expected 1e-06 to 1000000000"));
}

TEST(CheckOptions, RefusesBurstinessOutOfRange) {
  for (const double burstiness : {0.0, -1.0, kInfinity, std::nan(""), 1e-4, 1e7}) {
    EXPECT_THAT(arrival_problems(GammaArrivals{core::Rate(1.0), burstiness}),
                ElementsAre(HasSubstr("is out of range, expected 0.001 to 1000000")));
  }
}

TEST(CheckOptions, RefusesClosedLoopsOutOfRange) {
  EXPECT_THAT(
      arrival_problems(ClosedLoop{0, {ThinkTime::Kind::kConstant, core::Duration::ticks(-1)}}),
      ElementsAre("workload.max_concurrency: 0 is out of range, expected 1 to 1000000",
                  "workload.think_time: -1e-12 s is out of range, expected 0 to 9200000 s"));
  EXPECT_THAT(arrival_problems(ClosedLoop{kMaxConcurrency + 1, {}}), SizeIs(1));
}

TEST(CheckOptions, RefusesLengthsOutOfRange) {
  EXPECT_THAT(input_problems(FixedLength{core::Tokens(0)}),
              ElementsAre("workload.input_len: 0 is out of range, expected 1 to 100000000"));
  EXPECT_THAT(input_problems(FixedLength{core::Tokens(kMaxTokensPerRequest + 1)}), SizeIs(1));
  EXPECT_THAT(input_problems(UniformLength{core::Tokens(10), core::Tokens(9)}),
              ElementsAre("workload.input_len.min: 10 is above max, expected at most 9"));
  EXPECT_THAT(input_problems(UniformLength{core::Tokens(-5), core::Tokens(9)}),
              ElementsAre("workload.input_len.min: -5 is out of range, expected 1 to 100000000"));
  EXPECT_THAT(input_problems(NormalLength{kInfinity, std::nan("")}),
              ElementsAre("workload.input_len.mean: inf is out of range, expected 1 to 100000000",
                          "workload.input_len.std: nan is out of range, expected 0 to 100000000"));
  EXPECT_THAT(input_problems(LognormalLength{0.0, -1.0}), SizeIs(2));
  EXPECT_THAT(input_problems(LognormalLength{1.0, 1.0, core::Tokens(1), core::Tokens(0)}),
              SizeIs(1));
}

TEST(CheckOptions, RefusesHistogramsThatAreNone) {
  EXPECT_THAT(input_problems(EmpiricalLength{}),
              ElementsAre(HasSubstr("workload.input_len.bins: 0 weights")));
  EXPECT_THAT(input_problems(EmpiricalLength{{{core::Tokens(5), 0.0}}}), SizeIs(1));
  EXPECT_THAT(input_problems(EmpiricalLength{{{core::Tokens(5), 1.0}, {core::Tokens(6), -1.0}}}),
              ElementsAre(HasSubstr("weight 1 is -1")));
  EXPECT_THAT(
      input_problems(EmpiricalLength{{{core::Tokens(5), 1.0}, {core::Tokens(0), 1.0}}}),
      ElementsAre("workload.input_len.bins[1]: 0 is out of range, expected 1 to 100000000"));
}

TEST(CheckOptions, RefusesPrefixesOutOfRange) {
  SyntheticOptions options = sound();
  options.prefix = SharedPrefix{core::Tokens(0), 0, SharedPrefix::Choice::kZipf, -1.0};
  EXPECT_THAT(problems(options),
              ElementsAre("workload.prefix_len: 0 is out of range, expected 1 to 100000000",
                          "workload.num_prefixes: 0 is out of range, expected 1 to 1000000000",
                          "workload.zipf_exponent: -1 is out of range, expected 0 to 100"));
}

TEST(CheckOptions, TellsEverythingAtOnce) {
  SyntheticOptions options;
  options.arrivals = GammaArrivals{core::Rate(0.0), 0.0};
  options.input_len = FixedLength{core::Tokens(0)};
  options.output_len = FixedLength{core::Tokens(0)};
  EXPECT_THAT(problems(options), SizeIs(5));
}

}  // namespace
}  // namespace ridgeline::workload
