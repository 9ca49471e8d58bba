#include "workload/structured_outputs.hpp"

#include <cstdint>
#include <map>
#include <memory>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "domain/request.hpp"
#include "workload/options.hpp"
#include "workload/source.hpp"

namespace ridgeline::workload {
namespace {

constexpr std::int64_t kRequests = 10'000;

/// How many requests have which schema; none: the largest id.
std::map<std::uint32_t, std::int64_t> counts(const StructuredOutputOptions& options) {
  SyntheticOptions synthetic;
  synthetic.arrivals = AllAtOnce{};
  synthetic.num_prompts = kRequests;
  StructuredOutputs source(*make_synthetic(synthetic), options);
  std::map<std::uint32_t, std::int64_t> found;
  domain::Request request;
  for (bool reuse = false; source.next_arrival(); reuse = !reuse) {
    if (reuse) {
      source.pop_into(request);
    } else {
      request = source.pop();
    }
    ++found[request.grammar.value()];
  }
  return found;
}

TEST(StructuredOutputs, AShareOfTheRequestsHasOneOfSoManySchemas) {
  const auto found = counts({.ratio = 0.3, .schemas = 4, .seed = 1});
  ASSERT_EQ(found.size(), 5U);
  constexpr double kEach = 0.3 * kRequests / 4;
  constexpr double kFourSigma = 110.0;  // sqrt(10000 * 0.075 * 0.925) = 26.3
  for (std::uint32_t schema = 0; schema < 4; ++schema) {
    EXPECT_NEAR(static_cast<double>(found.at(schema)), kEach, kFourSigma) << schema;
  }
}

TEST(StructuredOutputs, AllOrNone) {
  EXPECT_EQ(counts({.ratio = 1.0}), (std::map<std::uint32_t, std::int64_t>{{0, kRequests}}));
  EXPECT_EQ(counts({.ratio = 0.0}).begin()->first, core::GrammarId().value());
}

TEST(StructuredOutputs, FollowTheSeed) {
  EXPECT_EQ(counts({.ratio = 0.5, .schemas = 9, .seed = 1}),
            counts({.ratio = 0.5, .schemas = 9, .seed = 1}));
  EXPECT_NE(counts({.ratio = 0.5, .schemas = 9, .seed = 1}),
            counts({.ratio = 0.5, .schemas = 9, .seed = 2}));
}

}  // namespace
}  // namespace ridgeline::workload
