#include "workload/prefixes.hpp"

#include <cstdint>
#include <map>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "unit/workload/sample.hpp"
#include "workload/options.hpp"

namespace ridgeline::workload {
namespace {

constexpr int kPrefixDraws = 100'000;

std::map<std::uint64_t, double> frequencies(const SharedPrefix& prefix) {
  PrefixSampler sampler(prefix, 5, 0);
  std::map<std::uint64_t, double> out;
  for (int i = 0; i < kPrefixDraws; ++i) {
    const domain::Segment segment = sampler.draw();
    EXPECT_EQ(segment.length, prefix.prefix_len);
    out[segment.content] += 1.0 / kPrefixDraws;
  }
  return out;
}

void expect_share(double found, double probability) {
  EXPECT_NEAR(found, probability, kStandardErrors * frequency_error(probability, kPrefixDraws));
}

TEST(PrefixSampler, UniformUsesEachEquallyOften) {
  const auto found = frequencies({core::Tokens(256), 4, SharedPrefix::Choice::kUniform, 1.0});
  ASSERT_EQ(found.size(), 4U);
  for (const auto& [content, frequency] : found) {
    expect_share(frequency, 0.25);
  }
}

TEST(PrefixSampler, OnePrefixIsSharedByAll) {
  EXPECT_EQ(frequencies({core::Tokens(256), 1, SharedPrefix::Choice::kUniform, 1.0}).size(), 1U);
  EXPECT_EQ(frequencies({core::Tokens(256), 1, SharedPrefix::Choice::kZipf, 1.0}).size(), 1U);
}

TEST(PrefixSampler, ZipfFollowsItsLaw) {
  const auto found = frequencies({core::Tokens(256), 4, SharedPrefix::Choice::kZipf, 1.0});
  // 1 + 1/2 + 1/3 + 1/4 = 25/12.
  ASSERT_EQ(found.size(), 4U);
  expect_share(found.at(1), 12.0 / 25.0);
  expect_share(found.at(2), 6.0 / 25.0);
  expect_share(found.at(3), 4.0 / 25.0);
  expect_share(found.at(4), 3.0 / 25.0);
}

TEST(PrefixSampler, ASteepZipfUsesTheFirstOnly) {
  // 2^-100 is never seen.
  const auto found =
      frequencies({core::Tokens(256), 1'000'000'000, SharedPrefix::Choice::kZipf, 100.0});
  EXPECT_EQ(found.size(), 1U);
  EXPECT_TRUE(found.contains(1));
}

TEST(PrefixSampler, ContentIsNeitherUniqueNorOutput) {
  for (const auto& [content, frequency] :
       frequencies({core::Tokens(1), kMaxPrefixes, SharedPrefix::Choice::kUniform, 1.0})) {
    ASSERT_LT(content, domain::unique_content(core::RequestId(0)));
    ASSERT_LT(content, domain::output_content(core::RequestId(0)));
  }
}

}  // namespace
}  // namespace ridgeline::workload
