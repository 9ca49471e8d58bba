#include "core/system_library.hpp"

#include <gtest/gtest.h>

namespace ridgeline::core {
namespace {

TEST(SystemLibrary, ItsFunctionsCanBeCalled) {
  SystemLibrary library("libm.so.6", "libc6", "this test needs");
  double (*power)(double, double) = nullptr;
  library.find("pow", power);
  ASSERT_TRUE(library.check());
  EXPECT_EQ(power(2.0, 3.0), 8.0);
}

TEST(SystemLibrary, OneThatIsNotThereIsNamedWithItsPackage) {
  SystemLibrary library("libnone.so.1", "libnone1", "this test needs");
  void (*function)() = nullptr;
  library.find("none", function);
  EXPECT_EQ(function, nullptr);
  const auto checked = library.check();
  ASSERT_FALSE(checked);
  EXPECT_EQ(to_string(checked.error().front()),
            "this test needs libnone.so.1, which is not there (apt install libnone1)");
}

TEST(SystemLibrary, TheFirstFunctionThatItLacksIsNamed) {
  SystemLibrary library("libm.so.6", "libc6", "this test needs");
  void (*function)() = nullptr;
  library.find("no_such_function", function);
  library.find("nor_this_one", function);
  const auto checked = library.check();
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().front().message, "libm.so.6 has no no_such_function");
}

TEST(SystemLibrary, WhatDoesNotStartCanBeRefused) {
  SystemLibrary library("libm.so.6", "libc6", "this test needs");
  library.refuse("libm.so.6 does not start");
  const auto checked = library.check();
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().front().message, "libm.so.6 does not start");
}

}  // namespace
}  // namespace ridgeline::core
