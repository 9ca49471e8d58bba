#include "cluster/disaggregation/registry.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/disaggregation/decider.hpp"
#include "core/units.hpp"

namespace ridgeline::disaggregation {
namespace {

using core::Tokens;
using testing::HasSubstr;

TEST(Registry, ADeciderHasItsSystemsDefaults) {
  const DeciderEntry& llm_d = **find_decider("prefix-based-pd-decider");
  EXPECT_TRUE(llm_d.make(llm_d.defaults)->disaggregates({.tokens = Tokens(16)}));
  EXPECT_FALSE(llm_d.make(llm_d.defaults)->disaggregates({.tokens = Tokens(15)}));
  const DeciderEntry& dynamo = **find_decider("isl-bounding");
  EXPECT_FALSE(dynamo.make(dynamo.defaults)
                   ->disaggregates({.tokens = Tokens(2000), .cached_on_decode = Tokens(700)}));
}

TEST(Registry, ANameThatIsNotThereNamesTheNearest) {
  const auto missing = find_decider("alwys");
  ASSERT_FALSE(missing.has_value());
  EXPECT_THAT(missing.error().front().hint, HasSubstr("always"));
}

TEST(Registry, EverySystemHasADecider) {
  for (const SystemEntry& system : systems()) {
    EXPECT_TRUE(find_decider(std::string(system.decider)).has_value()) << system.name;
  }
  EXPECT_EQ((*find_system("production-stack"))->order, LegOrder::kPrefillFirst);
}

}  // namespace
}  // namespace ridgeline::disaggregation
