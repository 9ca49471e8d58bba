#include "verbs/plan_files.hpp"

#include <gtest/gtest.h>

#include "deploy/registry.hpp"

namespace ridgeline::verbs {
namespace {

TEST(PlanTargets, ADeploymentGetsItsEnginesOwnUnlessTheyAreStated) {
  const auto vllm = deploy::find_target("vllm");
  const auto kubernetes = deploy::find_target("kubernetes");
  ASSERT_TRUE(vllm && kubernetes);
  const PlanTargets stated{.named = {*kubernetes}, .are_stated = true};
  EXPECT_EQ(stated.of("vllm@0.15").front(), *kubernetes);
  const PlanTargets usual{.named = {*kubernetes}};
  EXPECT_EQ(usual.of("vllm@0.15").front(), *vllm);
}

TEST(PlanTargets, RoutersAreThoseThatAllHave) {
  EXPECT_TRUE(routers_of({}).names.empty());
  const PlanTargets one{.named = {*deploy::find_target("kubernetes")}};
  EXPECT_EQ(routers_of(one).of, "kubernetes");
  EXPECT_EQ(routers_of(one).names.size(), one.named.front()->abilities.routers.size());
}

}  // namespace
}  // namespace ridgeline::verbs
