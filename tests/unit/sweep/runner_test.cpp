#include "sweep/runner.hpp"

#include <atomic>
#include <filesystem>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "sweep/measure.hpp"
#include "sweep/merge.hpp"
#include "sweep/store.hpp"
#include "sweep/sweep.hpp"

namespace ridgeline::sweep {
namespace {

core::Result<Sweep> small_sweep(const std::string& rates = "2,4,8") {
  return read_sweep(
      {.overrides = {{.path = "model", .text = "llama-3.1-8b"},
                     {.path = "gpu", .text = "h100"},
                     {.path = "workload.num_prompts", .text = "20"},
                     {.path = "workload.input_len", .text = "64"},
                     {.path = "workload.output_len", .text = "16"}},
       .axes = {"workload.request_rate=" + rates, "engine.tensor_parallel_size=1,3"}});
}

std::string folder(const std::string& name) {
  std::string path = testing::TempDir() + "sweep_runner_" + name;
  std::filesystem::remove_all(path);
  return path;
}

core::Result<Tally> run(const Sweep& sweep, const Store& store, Shard shard, std::int64_t jobs) {
  const std::atomic<bool> interrupt = false;
  return run_shard(sweep,
                   run_measure(),
                   store,
                   {.shard = shard, .jobs = jobs, .clock = [] { return 0.0; }},
                   interrupt);
}

std::string merged(const Store& store) {
  auto contents = store.read();
  std::ostringstream out;
  EXPECT_TRUE(contents && merge_ndjson(*contents, out));
  return out.str();
}

TEST(Runner, ShardsAndThreadsChangeNothing) {
  const auto sweep = small_sweep();
  ASSERT_TRUE(sweep) << core::to_string(sweep.error().front());
  const auto description = sweep->description(run_measure().settings, "1");
  const auto one = Store::open(folder("one"), description);
  const auto three = Store::open(folder("three"), description);
  ASSERT_TRUE(one && three);
  const auto tally = run(*sweep, *one, {}, 1);
  ASSERT_TRUE(tally);
  EXPECT_EQ(tally->done, 6);
  // Three GPUs do not divide 32 heads: refused, which is a result.
  EXPECT_THAT(tally->by_status, testing::ElementsAre(3, 0, 3, 0));
  for (std::int64_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(run(*sweep, *three, {.index = i, .count = 3}, 2));
  }
  EXPECT_EQ(merged(*one), merged(*three));
  const auto again = run(*sweep, *three, {}, 2);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->found, 6);
  EXPECT_EQ(again->done, 0);
}

TEST(Runner, StopsWhenInterrupted) {
  const auto sweep = small_sweep();
  ASSERT_TRUE(sweep);
  const auto store =
      Store::open(folder("stopped"), sweep->description(run_measure().settings, "1"));
  ASSERT_TRUE(store);
  const std::atomic<bool> interrupt = true;
  const auto tally =
      run_shard(*sweep, run_measure(), *store, {.clock = [] { return 0.0; }}, interrupt);
  ASSERT_TRUE(tally);
  EXPECT_EQ(tally->done, 0);
}

TEST(Sweep, ASamePointHasOneIdInAnySweep) {
  const auto wide = small_sweep("2,4,8");
  const auto narrow = small_sweep("4");
  ASSERT_TRUE(wide && narrow);
  const auto settings = run_measure().settings;
  EXPECT_EQ(wide->resolve(wide->axes().point(2), settings).id,
            narrow->resolve(narrow->axes().point(0), settings).id);
  EXPECT_NE(wide->digest(settings), narrow->digest(settings));
}

TEST(Sweep, AScenarioThatNoPointCanReadIsRefused) {
  const auto sweep = read_sweep({.axes = {"gpu=h100,h200"}});
  ASSERT_FALSE(sweep);
  EXPECT_EQ(sweep.error().front().field, "model");
}

}  // namespace
}  // namespace ridgeline::sweep
