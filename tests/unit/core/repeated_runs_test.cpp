#include "core/repeated_runs.hpp"

#include <array>
#include <cstdint>
#include <map>

#include <gtest/gtest.h>

#include "core/rng.hpp"
#include "core/run_columns.hpp"

namespace ridgeline::core {
namespace {

/// Repeats by run, whatever they were cut into.
using Tally = std::map<std::array<std::int64_t, 3>, std::int64_t>;

void tally(const RunColumns& runs, Tally& to) {
  for (std::size_t i = 0; i < runs.size; ++i) {
    to[{runs.first[i], runs.growth[i], runs.count[i]}] += runs.repeat[i];
  }
}

/// Exchanges blocks of runs that draw(rng, block) adds, and expects that none of them is lost.
template <class Draw>
RepeatedRuns exchange_drawn(int blocks, const Draw& draw) {
  RngStream rng(3, 0, "repeated runs");
  RepeatedRuns repeated;
  Tally given;
  Tally got;
  for (int block = 0; block < blocks; ++block) {
    RunColumns runs;
    while (!runs.full()) {
      draw(rng, runs);
    }
    tally(runs, given);
    RunColumns out;
    repeated.exchange(runs, out);
    EXPECT_LE(out.size, RunColumns::kMost);
    tally(out, got);
  }
  std::size_t held = 0;
  repeated.for_each_block([&](const RunColumns& runs) {
    tally(runs, got);
    held += runs.size;
  });
  EXPECT_EQ(held, repeated.size());
  EXPECT_EQ(got, given);
  return repeated;
}

/// Of so many kinds.
RepeatedRuns exchange_many(std::uint64_t kinds, std::int64_t repeat) {
  return exchange_drawn(200, [&](RngStream& rng, RunColumns& runs) {
    const auto kind = static_cast<std::int64_t>(rng.below(kinds));
    runs.add(7'000'000'000 + 1'000 * kind, kind % 3, 2 + kind % 5, repeat);
  });
}

TEST(RepeatedRuns, KeepsFewKindsOnce) {
  const RepeatedRuns repeated = exchange_many(10, 3);
  EXPECT_TRUE(repeated.is_on());
  EXPECT_EQ(repeated.size(), 10U);
}

TEST(RepeatedRuns, TurnsOffWhereRunsSeldomComeAgain) {
  EXPECT_FALSE(exchange_many(1'000'000, 1).is_on());
}

/// Runs that differ in one number alone, some of which stand in one another's place.
TEST(RepeatedRuns, TellsRunsApart) {
  const RepeatedRuns repeated = exchange_drawn(20, [](RngStream& rng, RunColumns& runs) {
    const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(rng.below(n)); };
    runs.add(7'000'000'000 + below(2), below(3), 2 + below(2), 1 + below(2));
  });
  EXPECT_LE(repeated.size(), 8U);  // As many places as firsts, counts and repeats make.
}

/// A run's repeats stay within those of a short run: 12,800 times 2^20 are more than 2^31.
TEST(RepeatedRuns, PutsOutWhatCameTooOften) {
  const RepeatedRuns repeated = exchange_many(1, std::int64_t{1} << 20);
  repeated.for_each_block([](const RunColumns& runs) {
    for (std::size_t i = 0; i < runs.size; ++i) {
      EXPECT_LE(runs.repeat[i], std::int64_t{1} << ShortRuns::kRepeatBits);
    }
  });
}

}  // namespace
}  // namespace ridgeline::core
