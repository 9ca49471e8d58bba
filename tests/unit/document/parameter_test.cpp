#include "document/parameter.hpp"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "document/document.hpp"

namespace ridgeline::document {
namespace {

constexpr auto kTable = std::to_array<Parameter>({
    {.name = "page_size",
     .standard = std::int64_t{1},
     .lowest = 1,
     .highest = 64,
     .help = "pages",
     .source = "here"},
    {.name = "share", .standard = 0.5, .lowest = 0, .highest = 1, .help = "part", .source = "here"},
    {.name = "policy", .standard = std::string_view("fcfs"), .help = "order", .source = "here"},
    {.name = "mixed", .standard = false, .help = "mixed steps", .source = "here"},
    {.name = "pool",
     .standard = std::int64_t{0},
     .help = "tokens",
     .source = "here",
     .unset = "what fits"},
});

TEST(Parameter, SaysItsKindAndDefault) {
  EXPECT_EQ(kTable[0].kind(), "integer");
  EXPECT_EQ(kTable[1].kind(), "number");
  EXPECT_EQ(kTable[2].kind(), "text");
  EXPECT_EQ(kTable[3].kind(), "true or false");
  EXPECT_EQ(kTable[0].default_text(), "1");
  EXPECT_EQ(kTable[3].default_text(), "false");
  EXPECT_EQ(kTable[4].default_text(), "what fits");
  EXPECT_EQ(kTable[2].standard_node().as_string(), "fcfs");
  EXPECT_TRUE(kTable[4].standard_node().is_null());
}

TEST(ParameterValues, AreTheStatedOnesElseTheTables) {
  const std::vector<NamedValue> stated = {{.name = "page_size", .value = Node::integer(16, {})},
                                          {.name = "mixed", .value = Node::boolean(true, {})}};
  const ParameterValues values(kTable, stated);
  EXPECT_EQ(values.integer("page_size"), 16);
  EXPECT_TRUE(values.truth("mixed"));
  EXPECT_EQ(values.number("share"), 0.5);
  EXPECT_EQ(values.word("policy"), "fcfs");
  EXPECT_EQ(values.stated("pool"), nullptr);
}

}  // namespace
}  // namespace ridgeline::document
