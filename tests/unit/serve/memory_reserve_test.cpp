#include "serve/memory_reserve.hpp"

#include <new>
#include <sys/resource.h>
#include <vector>

#include <gtest/gtest.h>

namespace ridgeline::serve {
namespace {

TEST(MemoryReserve, IsWholeWhereThereIsNone) {
  EXPECT_TRUE(MemoryReserve::is_whole());
  EXPECT_EQ(std::get_new_handler(), nullptr);
}

TEST(MemoryReserve, GivesWayOnceAndIsTakenAnew) {
  const MemoryReserve reserve;
  EXPECT_TRUE(MemoryReserve::is_whole());
  const std::new_handler handler = std::get_new_handler();
  ASSERT_NE(handler, nullptr);
  handler();  // As an allocation that finds no memory does.
  EXPECT_EQ(std::get_new_handler(), nullptr) << "the next one fails";
  EXPECT_TRUE(MemoryReserve::is_whole()) << "there is memory again";
  EXPECT_EQ(std::get_new_handler(), handler);
}

TEST(MemoryReserve, ALargeAllocationFailsAndASmallOneDoesNot) {
  const MemoryReserve reserve;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  const rlimit none{.rlim_cur = 1, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &none), 0);
  bool failed = false;
  std::vector<char> small;
  try {
    const std::vector<char> large(std::size_t{1} << 30U);
  } catch (const std::bad_alloc&) {
    failed = true;
    small.resize(std::size_t{4} << 20U);  // This takes memory that was set aside.
  }
  const bool is_short = !MemoryReserve::is_whole();
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_TRUE(failed);
  EXPECT_EQ(small.size(), std::size_t{4} << 20U);
  EXPECT_TRUE(is_short);
  EXPECT_TRUE(MemoryReserve::is_whole());
}

}  // namespace
}  // namespace ridgeline::serve
