#include "routing/parameters.hpp"

#include <array>
#include <cstdint>
#include <set>
#include <string_view>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "routing/registry.hpp"

namespace ridgeline::routing {
namespace {

constexpr auto kTable = std::to_array<Parameter>({
    {.name = "weight", .standard = 0.5, .lowest = 0.0, .highest = 1.0, .help = "", .source = ""},
    {.name = "count", .standard = std::int64_t{3}, .help = "", .source = ""},
    {.name = "on", .standard = true, .help = "", .source = ""},
    {.name = "word", .standard = std::string_view("least"), .help = "", .source = ""},
});

TEST(Parameters, AStatedValueReplacesTheTables) {
  RouterSetup setup;
  EXPECT_EQ(setup.number(kTable, "weight"), 0.5);
  EXPECT_EQ(setup.integer(kTable, "count"), 3);
  EXPECT_TRUE(setup.truth(kTable, "on"));
  EXPECT_EQ(setup.word(kTable, "word"), "least");
  setup.parameters = {{.name = "weight", .value = document::Node::integer(1, {})},
                      {.name = "on", .value = document::Node::boolean(false, {})}};
  EXPECT_EQ(setup.number(kTable, "weight"), 1.0);
  EXPECT_FALSE(setup.truth(kTable, "on"));
}

TEST(Parameters, EachStandsOnceInItsTableWithARangeAndASource) {
  for (const RouterEntry& entry : routers()) {
    std::set<std::string_view> names;
    for (const Parameter& parameter : entry.table()) {
      EXPECT_TRUE(names.insert(parameter.name).second) << entry.name << ": " << parameter.name;
      EXPECT_FALSE(parameter.help.empty() || parameter.source.empty()) << parameter.name;
      const bool is_number = parameter.kind() == "integer" || parameter.kind() == "number";
      EXPECT_EQ(is_number, parameter.lowest < parameter.highest) << parameter.name;
    }
  }
}

}  // namespace
}  // namespace ridgeline::routing
