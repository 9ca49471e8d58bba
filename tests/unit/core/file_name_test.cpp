#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "core/result.hpp"

namespace ridgeline::core {
namespace {

TEST(FileName, IsEmptyUntilItIsNamed) {
  EXPECT_TRUE(FileName().empty());
  EXPECT_TRUE(FileName("").empty());
  EXPECT_EQ(FileName(), "");
  EXPECT_FALSE(FileName("a.yaml").empty());
}

TEST(FileName, IsATextLikeAnyOther) {
  const FileName name = std::string("a.yaml");
  const std::string& text = name;
  const std::string_view view = name;
  EXPECT_EQ(text, "a.yaml");
  EXPECT_EQ(view, "a.yaml");
  EXPECT_EQ(name, FileName("a.yaml"));
  EXPECT_FALSE(name == "b.yaml");
}

TEST(FileName, CopiesShareTheirText) {
  const Location where{.file = "a/path/longer/than/a/string/holds/in/itself.yaml", .line = 3};
  const Location copy = where;
  EXPECT_EQ(copy.file.text().data(), where.file.text().data());
}

}  // namespace
}  // namespace ridgeline::core
