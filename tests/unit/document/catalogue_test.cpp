#include "document/catalogue.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "document/document.hpp"
#include "document/embedded_file.hpp"

namespace ridgeline::document {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

void read_fruit(const EmbeddedFile& file, Catalogue::Entry& entry) {
  entry.names = {core::lower_case(entry.name), "the-" + core::lower_case(entry.name)};
  entry.document = Node::string(std::string(file.text), {});
}

Catalogue fruit() {
  static const std::vector<EmbeddedFile> kFiles = {{.name = "Pear.txt", .text = "green"},
                                                   {.name = "README.md", .text = "no fruit"},
                                                   {.name = "Apple.txt", .text = "red"}};
  return {{.field = "fruit",
           .what = "a fruit",
           .extension = ".txt",
           .hint = "look around",
           .plain = core::lower_case,
           .read = read_fruit},
          kFiles};
}

core::Result<Node> no_path(const std::string& path) {
  return Node::string("path " + path, {});
}

TEST(Catalogue, ANameInAnySpellingMeansItsDocument) {
  EXPECT_THAT(fruit().names(), ElementsAre("Apple", "Pear"));
  EXPECT_EQ(fruit().find("APPLE", no_path)->as_string(), "red");
  EXPECT_EQ(fruit().find("the-pear", no_path)->as_string(), "green");
}

TEST(Catalogue, WhatIsNoNameMayBeAPath) {
  EXPECT_EQ(fruit().find("/", no_path)->as_string(), "path /");
}

TEST(Catalogue, WhatIsNeitherGivesTheNearest) {
  const core::Error typing = fruit().find("aple", no_path).error().front();
  EXPECT_EQ(typing.field, "fruit");
  EXPECT_THAT(typing.message, HasSubstr("neither a fruit of the catalogue"));
  EXPECT_THAT(typing.hint, HasSubstr("'apple'"));
  EXPECT_EQ(fruit().find("", no_path).error().front().hint, "look around");
}

}  // namespace
}  // namespace ridgeline::document
