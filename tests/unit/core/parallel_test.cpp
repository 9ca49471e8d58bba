#include "core/parallel.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/fault_scope.hpp"

namespace ridgeline::core {
namespace {

TEST(Parallel, DoesEveryJobOnce) {
  for (const std::int64_t threads : {1, 2, 7}) {
    std::vector<std::atomic<int>> times(100);
    for_each_job(times.size(), threads, [&](std::size_t i) { ++times[i]; });
    for (const auto& count : times) {
      EXPECT_EQ(count, 1);
    }
  }
  for_each_job(0, 4, [](std::size_t) { FAIL(); });
}

TEST(Parallel, AnExceptionLeavesWhenEveryThreadHasEnded) {
  for (const std::int64_t threads : {1, 4}) {
    std::atomic<int> running = 0;
    std::string text;
    try {
      for_each_job(50, threads, [&](std::size_t i) {
        ++running;
        if (i == 3) {
          --running;
          throw std::runtime_error("job 3");
        }
        --running;
      });
    } catch (const std::runtime_error& thrown) {
      text = thrown.what();
    }
    EXPECT_EQ(text, "job 3");
    EXPECT_EQ(running, 0);
  }
}

TEST(Parallel, ThreadsAreInsideTheScopeOfTheCaller) {
  const auto inside_everywhere = [] {
    std::atomic<int> inside = 0;
    for_each_job(64, 4, [&](std::size_t) {
      std::this_thread::yield();
      inside += FaultScope::active() ? 1 : 0;
    });
    return inside.load();
  };
  EXPECT_EQ(inside_everywhere(), 0);
  {
    const FaultScope scope;
    EXPECT_EQ(inside_everywhere(), 64);
  }
  EXPECT_FALSE(FaultScope::active());
}

}  // namespace
}  // namespace ridgeline::core
