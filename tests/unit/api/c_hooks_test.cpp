#include "api/c_hooks.hpp"

#include <cstddef>

#include <gtest/gtest.h>

#include "ridgeline.h"
#include "ridgeline/ridgeline.hpp"

namespace ridgeline::api {
namespace {

int asked(void* user) {
  ++*static_cast<int*>(user);
  return 1;
}

TEST(CHooks, FieldsBehindTheCallersSizeAreNotRead) {
  rl_hooks given{};
  int polls = 0;
  given.user = &polls;
  given.poll = asked;
  given.size = offsetof(rl_hooks, poll);
  EXPECT_EQ(known_fields(&given).poll, nullptr);
  EXPECT_EQ(known_fields(&given).user, &polls);
  given.size = sizeof(given);
  EXPECT_EQ(known_fields(&given).poll, asked);
  EXPECT_EQ(known_fields(nullptr).user, nullptr);
}

TEST(CHooks, AnInterruptIsAFlagOrAnAnswer) {
  EXPECT_FALSE(hooks_of(rl_hooks{}).interrupted);
  volatile int flag = 0;
  int polls = 0;
  rl_hooks given{};
  given.user = &polls;
  given.interrupt = &flag;
  EXPECT_FALSE(hooks_of(given).interrupted());
  flag = 1;
  EXPECT_TRUE(hooks_of(given).interrupted());
  flag = 0;
  given.poll = asked;
  EXPECT_TRUE(hooks_of(given).interrupted());
  EXPECT_EQ(polls, 1);
}

}  // namespace
}  // namespace ridgeline::api
