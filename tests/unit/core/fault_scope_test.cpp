#include "core/fault_scope.hpp"

#include <thread>

#include <gtest/gtest.h>

namespace ridgeline::core {
namespace {

TEST(FaultScope, CountsScopesOfItsThreadAlone) {
  EXPECT_FALSE(FaultScope::active());
  {
    const FaultScope outer;
    {
      const FaultScope inner;
    }
    EXPECT_TRUE(FaultScope::active());
    bool elsewhere = true;
    std::thread([&] { elsewhere = FaultScope::active(); }).join();
    EXPECT_FALSE(elsewhere);
  }
  EXPECT_FALSE(FaultScope::active());
}

}  // namespace
}  // namespace ridgeline::core
