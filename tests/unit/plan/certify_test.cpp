#include "plan/certify.hpp"

#include <gtest/gtest.h>

namespace ridgeline::plan {
namespace {

TEST(ClopperPearson, WhatWindowsThatAllPassCertify) {
  // 0.05^(1/10) and 0.05^(1/29).
  EXPECT_NEAR(clopper_pearson(10, 10, 0.95), 0.741, 0.001);
  EXPECT_NEAR(clopper_pearson(29, 29, 0.95), 0.902, 0.001);
  EXPECT_EQ(clopper_pearson(0, 10, 0.95), 0.0);
}

}  // namespace
}  // namespace ridgeline::plan
