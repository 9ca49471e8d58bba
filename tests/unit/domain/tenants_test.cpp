#include "domain/tenants.hpp"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "domain/label_set.hpp"

namespace ridgeline::domain {
namespace {

TEST(Tenants, AreTheListedOnesAndThenThoseThatCome) {
  LabelSets sets;
  const auto set_of = [&](std::int32_t tenant, std::int32_t priority) {
    LabelSet set;
    set.of(Label::kTenant) = tenant;
    set.of(Label::kPriority) = priority;
    return sets.number_of(set);
  };
  Tenants tenants({{.name = "gold", .share = 3.0}, {.name = "batch"}}, &sets, [](std::int32_t one) {
    return one == 7 ? std::string("gold") : "tenant " + std::to_string(one);
  });
  EXPECT_EQ(tenants.num_listed(), 2);
  EXPECT_EQ(tenants[tenants.of(set_of(7, 0))].share, 3.0);
  EXPECT_EQ(tenants.of(set_of(7, 1)), TenantId(0));  // Another set of the same tenant.
  const TenantId other = tenants.of(set_of(9, 0));
  EXPECT_EQ(tenants[other].name, "tenant 9");
  EXPECT_EQ(tenants.of(set_of(9, 0)), other);
  const TenantId none = tenants.of(set_of(LabelSet::kNoLabel, 0));
  EXPECT_TRUE(tenants.is_without_tenant(none));
  EXPECT_FALSE(tenants.is_without_tenant(other));
  EXPECT_EQ(tenants.of(core::LabelSetId()), none);
  EXPECT_EQ(tenants.size(), 4);
}

TEST(Tenants, AreOneWithoutLabels) {
  Tenants tenants;
  EXPECT_EQ(tenants.of(core::LabelSetId()), tenants.of(core::LabelSetId(3)));
  EXPECT_EQ(tenants.size(), 1);
}

}  // namespace
}  // namespace ridgeline::domain
