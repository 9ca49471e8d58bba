#include "core/packed_runs.hpp"

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace ridgeline::core {
namespace {

using Limits = std::numeric_limits<std::int64_t>;

/// In blocks of that many.
void expect_runs_back(const std::vector<ValueRun>& runs, std::size_t block_size) {
  PackedRuns packed;
  RunColumns block;
  for (const ValueRun& run : runs) {
    block.add(run.first, run.growth, run.count, run.repeat);
    if (block.size == block_size) {
      packed.add(block);
      block.size = 0;
    }
  }
  if (block.size > 0) {
    packed.add(block);
  }
  ASSERT_EQ(packed.size(), runs.size());
  std::size_t i = 0;
  packed.for_each_block([&](const RunColumns& read) {
    EXPECT_LE(read.size, block_size);
    for (std::size_t k = 0; k < read.size; ++k, ++i) {
      ASSERT_LT(i, runs.size());
      EXPECT_EQ(read.at(k).first, runs[i].first) << i;
      EXPECT_EQ(read.at(k).growth, runs[i].growth) << i;
      EXPECT_EQ(read.at(k).count, runs[i].count) << i;
      EXPECT_EQ(read.at(k).repeat, runs[i].repeat) << i;
    }
  });
  EXPECT_EQ(i, runs.size());
}

void expect_runs_back(const std::vector<ValueRun>& runs) {
  for (const std::size_t block_size : {std::size_t{1}, std::size_t{7}, RunColumns::kMost}) {
    expect_runs_back(runs, block_size);
  }
}

TEST(PackedRuns, NothingComesOfNothing) {
  expect_runs_back({});
}

TEST(PackedRuns, GivesBackSinglesAndSeveralsInOrder) {
  expect_runs_back({{.first = 9'000'000'000, .growth = 0, .count = 1, .repeat = 17},
                    {.first = 9'000'100'000, .growth = 5'000'000, .count = 40, .repeat = 17},
                    {.first = 31'000'000'000, .growth = 0, .count = 1, .repeat = 18},
                    {.first = 9'200'000'000, .growth = -7, .count = 2, .repeat = 18},
                    {.first = 31'000'000'001, .growth = 0, .count = 1, .repeat = 18}});
}

TEST(PackedRuns, GivesBackWhatDoesNotFitInOneNumber) {
  constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
  std::vector<ValueRun> runs = {
      {.first = Limits::max(), .growth = 0, .count = 1, .repeat = 1},
      {.first = Limits::min(), .growth = 0, .count = 1, .repeat = kMost},
      {.first = -1, .growth = 1, .count = kMost, .repeat = 1},
      {.first = Limits::min(), .growth = Limits::max(), .count = 3, .repeat = 1},
      {.first = 0, .growth = Limits::min(), .count = 2, .repeat = 1}};
  // Each field just within its bits and just beyond, with the others small.
  for (const unsigned bits : {9U, 10U, 11U, 17U, 18U, 19U, 28U, 29U, 30U, 31U}) {
    const std::int64_t power = std::int64_t{1} << bits;
    const auto small = static_cast<std::uint32_t>(power);
    for (const std::int64_t off : {-1, 0, 1}) {
      const auto number = static_cast<std::uint32_t>(small + off);
      runs.push_back({.first = 5, .growth = 0, .count = 1, .repeat = number});
      runs.push_back({.first = 5, .growth = 3, .count = number, .repeat = 2});
      runs.push_back({.first = 5, .growth = power + off, .count = 2, .repeat = 2});
      runs.push_back({.first = 5, .growth = -power - off, .count = 2, .repeat = 2});
    }
  }
  for (const unsigned bits : {32U, 33U, 34U, 35U, 36U, 48U, 49U, 50U, 51U, 52U}) {
    const std::int64_t power = std::int64_t{1} << bits;
    runs.push_back({.first = 5, .growth = 0, .count = 1, .repeat = 1});
    runs.push_back({.first = 5, .growth = 0, .count = 1, .repeat = 1});
    runs.push_back({.first = 5 + power, .growth = 0, .count = 1, .repeat = 1});
    runs.push_back({.first = 5, .growth = 0, .count = 1, .repeat = 1});
    runs.push_back({.first = 5 - power, .growth = 0, .count = 1, .repeat = 1});
  }
  expect_runs_back(runs);
}

TEST(PackedRuns, GoesOnBehindAPieceOfMemory) {
  std::mt19937_64 random(1);
  std::vector<ValueRun> runs;
  for (int i = 0; i < 20'000; ++i) {
    // Of all magnitudes, so that runs of every length end pieces.
    const auto any = [&](unsigned most) { return random() >> (64 - most + random() % most); };
    ValueRun run{.first = static_cast<std::int64_t>(any(60)),
                 .growth = static_cast<std::int64_t>(any(40)),
                 .count = static_cast<std::uint32_t>(any(20)) + 1,
                 .repeat = static_cast<std::uint32_t>(any(12)) + 1};
    runs.push_back(run);
  }
  expect_runs_back(runs);
}

}  // namespace
}  // namespace ridgeline::core
