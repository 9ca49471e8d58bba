#include "api/guard.hpp"

#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/check.hpp"
#include "core/fault.hpp"
#include "core/result.hpp"

namespace ridgeline::api {
namespace {

using testing::HasSubstr;

TEST(Guard, WorkThatEndsWellHasNoError) {
  bool done = false;
  EXPECT_FALSE(guarded([&] { done = true; }));
  EXPECT_TRUE(done);
}

TEST(Guard, AFailedCheckIsAnErrorAndTheNextCallIsFine) {
  for (int i = 0; i < 3; ++i) {
    const auto error = guarded([] { RIDGELINE_CHECK(1 + 1 == 3, "arithmetic"); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code, core::ErrorCode::kInternal);
    EXPECT_THAT(error->message, HasSubstr("1 + 1 == 3"));
    EXPECT_THAT(error->message, HasSubstr("arithmetic"));
    EXPECT_FALSE(guarded([] {}));
  }
}

TEST(Guard, ExceptionsAndLackOfMemoryAreErrors) {
  EXPECT_EQ(guarded([] { throw std::bad_alloc(); })->message, "out of memory");
  EXPECT_EQ(guarded([] { core::out_of_memory("a test"); })->message, "out of memory");
  EXPECT_THAT(guarded([] { throw std::runtime_error("text"); })->message, HasSubstr("text"));
  EXPECT_EQ(guarded([] { throw 3; })->code, core::ErrorCode::kInternal);
}

TEST(Guard, EachThreadHasItsOwn) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([i] {
      for (int j = 0; j < 100; ++j) {
        const auto error = guarded([&] { RIDGELINE_CHECK(i % 2 == 0, "odd threads fail"); });
        EXPECT_EQ(error.has_value(), i % 2 == 1);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

TEST(GuardDeathTest, OutsideAGuardedCallTheProcessEndsAsBefore) {
  EXPECT_FALSE(guarded([] {}));
  EXPECT_DEATH(core::raise_fault({.text = "nothing guards this"}), "nothing guards this");
}

TEST(Guard, ResultsPassThrough) {
  const auto seven = guarded_result([]() -> core::Result<int> { return 7; });
  ASSERT_TRUE(seven);
  EXPECT_EQ(*seven, 7);
  const auto failed = guarded_result(
      []() -> core::Result<int> { return core::fail(core::ErrorCode::kUsage, "no"); });
  EXPECT_EQ(failed.error().front().code, core::ErrorCode::kUsage);
}

}  // namespace
}  // namespace ridgeline::api
