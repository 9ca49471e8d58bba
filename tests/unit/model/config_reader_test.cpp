#include "model/config_reader.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::model {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class ConfigReaderTest : public testing::Test {
 protected:
  explicit ConfigReaderTest()
      : document_(*document::parse_json(
            "{\"width\": 5,\n\"text\": \"yes\",\n\"list\": [1, 2],\n\"flag\": true,\n"
            "\"nothing\": null,\n\"_source\": \"a page\"}",
            "c.json")),
        reader_(document_, errors_, provenance_) {}

  document::Node document_;
  core::Errors errors_;
  ConfigReader::Provenance provenance_;
  ConfigReader reader_;
};

TEST_F(ConfigReaderTest, ReadsValuesAndRemembersWhereTheyStood) {
  EXPECT_EQ(reader_.required_integer("width", {1, 9}), 5);
  EXPECT_EQ(reader_.string("text"), "yes");
  EXPECT_THAT(reader_.integers("list", {0, 9}), ElementsAre(1, 2));
  EXPECT_TRUE(reader_.boolean("flag", false));
  reader_.finish();
  EXPECT_TRUE(errors_.empty());
  EXPECT_THAT(provenance_,
              ElementsAre(Pair("width", "c.json:1"),
                          Pair("text", "c.json:2"),
                          Pair("list", "c.json:3"),
                          Pair("flag", "c.json:4")));
}

TEST_F(ConfigReaderTest, AbsentAndNullGiveNothingAndNoProblem) {
  EXPECT_FALSE(reader_.integer("nothing", {1, 9}).has_value());
  EXPECT_FALSE(reader_.integer("absent", {1, 9}).has_value());
  EXPECT_TRUE(reader_.integers("absent", {1, 9}).empty());
  EXPECT_EQ(reader_.node("nothing"), nullptr);
  EXPECT_TRUE(reader_.states("nothing"));
  EXPECT_FALSE(reader_.states("absent"));
  EXPECT_TRUE(errors_.empty());
  EXPECT_TRUE(reader_.boolean("absent", true));
  EXPECT_THAT(provenance_, ElementsAre(Pair("absent", "default of the family: true")));
}

TEST_F(ConfigReaderTest, ProblemsNameTheirField) {
  EXPECT_EQ(reader_.required_integer("width", {6, 9}), 0);
  EXPECT_EQ(reader_.required_integer("absent", {6, 9}), 0);
  reader_.not_modelled("text", "a thing");
  std::vector<std::string> fields;
  for (const core::Error& error : errors_) {
    fields.push_back(error.field);
  }
  EXPECT_THAT(fields, ElementsAre("model.width", "model.absent", "model.text"));
  EXPECT_EQ(errors_.back().message, "a thing is not modelled yet");
  EXPECT_EQ(errors_.back().where.line, 2);
}

TEST_F(ConfigReaderTest, KeysOfOursHaveNoProvenance) {
  EXPECT_EQ(reader_.string("_source"), "a page");
  EXPECT_TRUE(provenance_.empty());
}

TEST_F(ConfigReaderTest, UnaskedKeysMatterOnlyFromTheCommandLine) {
  const core::Location where{.file = std::string(kCommandLine)};
  std::vector<document::Node::Member> members = document_.members();
  members.push_back({.key = "widht", .value = document::Node::integer(3, where), .where = where});
  const document::Node patched = document::Node::map(members, document_.where());
  ConfigReader reader(patched, errors_, provenance_);
  reader.required_integer("width", {1, 9});
  reader.finish();
  ASSERT_EQ(errors_.size(), 1U);
  EXPECT_EQ(errors_.front().field, "model.widht");
  EXPECT_EQ(errors_.front().hint, "did you mean 'width'?");
}

TEST(Describe, GivesAsMuchOfAPlaceAsIsKnown) {
  EXPECT_EQ(describe({.file = "a.json", .line = 7}), "a.json:7");
  EXPECT_EQ(describe({.file = "a.json"}), "a.json");
  EXPECT_EQ(describe({}), "input");
}

}  // namespace
}  // namespace ridgeline::model
