#include "openai/tools.hpp"

#include <gtest/gtest.h>

namespace ridgeline::openai {
namespace {

TEST(Tools, HaveNamesAndParameters) {
  EXPECT_EQ(name_of_tool(R"({"name":"f","parameters":{"type":"object"}})"), "f");
  EXPECT_EQ(parameters_of_tool(R"({"name":"f","parameters":{"type":"object"}})"),
            R"({"type":"object"})");
  EXPECT_EQ(parameters_of_tool(R"({"name":"f"})"), "{}");
  EXPECT_EQ(name_of_tool("{}"), "");
}

}  // namespace
}  // namespace ridgeline::openai
