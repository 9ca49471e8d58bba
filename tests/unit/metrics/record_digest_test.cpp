#include "metrics/record_digest.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/statistics/moments.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "records.hpp"

namespace ridgeline::metrics {
namespace {

using testing::finished;

std::string digest_of(const std::vector<domain::RequestRecord>& records,
                      const statistics::Fingerprint& gaps = {},
                      std::vector<std::int64_t> totals = {}) {
  RecordDigest digest;
  for (const auto& record : records) {
    digest.add(record);
  }
  return digest.hex(gaps, totals);
}

TEST(RecordDigest, DoesNotDependOnTheOrderOfReporting) {
  const auto a = finished(0, 0, 10, 40, 4);
  const auto b = finished(1, 1, 10, 40, 4);
  EXPECT_EQ(digest_of({a, b}), digest_of({b, a}));
  EXPECT_EQ(digest_of({a, b}).size(), 32U);
}

TEST(RecordDigest, EveryFieldCounts) {
  using Change = std::function<void(domain::RequestRecord&)>;
  const core::Duration tick = core::Duration::ticks(1);
  const std::vector<Change> changes = {[](auto&) {},
                                       [](auto& r) { r.id = core::RequestId(8); },
                                       [](auto& r) { r.outcome = domain::Outcome::kLengthCapped; },
                                       [](auto& r) { r.prompt_tokens += core::Tokens(1); },
                                       [](auto& r) { r.output_tokens += core::Tokens(1); },
                                       [](auto& r) { r.cached_tokens += core::Tokens(1); },
                                       [](auto& r) { r.preemptions += 1; },
                                       [&](auto& r) { r.arrival += tick; },
                                       [&](auto& r) { r.queued += tick; },
                                       [&](auto& r) { r.first_scheduled += tick; },
                                       [&](auto& r) { r.first_token += tick; },
                                       [&](auto& r) { r.last_token += tick; },
                                       // Two fields that trade their values.
                                       [](auto& r) { std::swap(r.prompt_tokens, r.output_tokens); },
                                       [](auto& r) { std::swap(r.first_token, r.last_token); }};
  std::set<std::string> seen;
  for (const auto& change : changes) {
    auto record = finished(7, 0, 10, 40, 4);
    change(record);
    seen.insert(digest_of({record}));
  }
  EXPECT_EQ(seen.size(), changes.size());
}

TEST(RecordDigest, TellsOftenFromOnceAndFromNever) {
  const auto record = finished(0, 0, 10, 40, 4);
  const std::set<std::string> seen = {
      digest_of({}), digest_of({record}), digest_of({record, record})};
  EXPECT_EQ(seen.size(), 3U);
}

TEST(RecordDigest, GapsAndTotalsCount) {
  const std::set<std::string> seen = {digest_of({}),
                                      digest_of({}, {.count = 1, .sum = 0, .squares = 0}),
                                      digest_of({}, {.count = 0, .sum = 1, .squares = 0}),
                                      digest_of({}, {.count = 0, .sum = 0, .squares = 1}),
                                      digest_of({}, {}, {0}),
                                      digest_of({}, {}, {1, 2}),
                                      digest_of({}, {}, {2, 1})};
  EXPECT_EQ(seen.size(), 7U);
}

}  // namespace
}  // namespace ridgeline::metrics
