#include "scenario/sections/tenants.hpp"

#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "document/document.hpp"

namespace ridgeline::scenario {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

document::Node tenants_node(const std::string& text) {
  return *document::parse_yaml(text, "tenants.yaml");
}

std::vector<std::string> problems_of_tenants(const std::string& text) {
  std::vector<std::string> lines;
  if (const auto tenants = read_tenants(tenants_node(text)); !tenants) {
    for (const core::Error& error : tenants.error()) {
      lines.push_back(core::to_string(error));
    }
  }
  return lines;
}

TEST(ReadTenants, TakesEachWithItsDefaults) {
  const auto tenants = read_tenants(
      tenants_node("[{name: gold, share: 3, priority: 1, slo: {ttft: 500ms, e2e: 9s}, request_ttl: "
                   "2s, requests_per_minute: 7, tokens_per_minute: 8}, {name: batch}]"));
  ASSERT_TRUE(tenants.has_value());
  const domain::Tenant& gold = tenants->front();
  EXPECT_EQ(gold.name, "gold");
  EXPECT_EQ(gold.share, 3.0);
  EXPECT_EQ(gold.priority, 1);
  EXPECT_EQ(gold.ttft, core::Duration::milliseconds(500));
  EXPECT_EQ(gold.e2e, core::Duration::seconds(9));
  EXPECT_EQ(gold.request_ttl, core::Duration::seconds(2));
  EXPECT_EQ(gold.requests_per_minute, 7);
  EXPECT_EQ(gold.tokens_per_minute, 8);
  EXPECT_EQ(tenants->back().share, 1.0);
  EXPECT_EQ(tenants->back().priority, std::nullopt);
  EXPECT_EQ(tenants->back().tpot, std::nullopt);
}

TEST(ReadTenants, AutoListsNone) {
  EXPECT_TRUE(tenants_are_open(tenants_node("auto")));
  EXPECT_TRUE(tenants_are_open(tenants_node("[auto]")));
  EXPECT_FALSE(tenants_are_open(tenants_node("[{name: auto}]")));
  EXPECT_FALSE(tenants_are_open(std::nullopt));
  EXPECT_TRUE(read_tenants(tenants_node("auto"))->empty());
}

TEST(ReadTenants, NamesEveryProblem) {
  EXPECT_THAT(problems_of_tenants(
                  "[{name: a, share: 0}, {share: 1}, {name: a}, {name: b, slo: {tfft: 1s}}]"),
              ElementsAre(HasSubstr("cluster.tenants[0].share: 0 is out of range"),
                          HasSubstr("cluster.tenants[1].name: is missing"),
                          HasSubstr("cluster.tenants[2].name: 'a' is listed twice"),
                          HasSubstr("cluster.tenants[3].slo.tfft: unknown key")));
  EXPECT_THAT(problems_of_tenants("[]"), ElementsAre(HasSubstr("found an empty list")));
  EXPECT_THAT(problems_of_tenants("[gold]"), ElementsAre(HasSubstr("cluster.tenants[0]: ")));
}

}  // namespace
}  // namespace ridgeline::scenario
