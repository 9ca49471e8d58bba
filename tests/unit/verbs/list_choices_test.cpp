#include "verbs/list_choices.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "verbs/schema_text.hpp"

namespace ridgeline::verbs {
namespace {

TEST(Choices, EveryKindHasNamesAndSummaries) {
  EXPECT_EQ(choice_kinds().size(), 12U);
  for (const ChoiceKind& kind : choice_kinds()) {
    const auto choices = kind.list();
    ASSERT_TRUE(choices) << kind.name;
    ASSERT_FALSE(choices->empty()) << kind.name;
    const document::Node tree = choices_tree(*choices);
    ASSERT_EQ(tree.items().size(), choices->size());
    for (const document::Node& item : tree.items()) {
      EXPECT_FALSE(item.find("name")->as_string().empty()) << kind.name;
      EXPECT_FALSE(item.find("summary")->as_string().empty()) << kind.name;
    }
  }
}

TEST(Choices, FactsStandBesideTheName) {
  const std::vector<std::string> words = {"models"};
  const auto models = (*find_choice_kind(words))->list();
  ASSERT_TRUE(models);
  for (const Choice& model : *models) {
    if (model.name == "llama-3.1-8b") {
      const document::Node tree = choices_tree({model});
      // Meta's model card: 8.03 B.
      EXPECT_NEAR(tree.items().front().find("parameters_total")->as_real(), 8.03e9, 0.005e9);
    }
  }
}

TEST(Choices, AnUnknownKindNamesTheNearest) {
  const std::vector<std::string> words = {"modles"};
  const auto kind = find_choice_kind(words);
  ASSERT_FALSE(kind);
  EXPECT_EQ(kind.error().front().hint, "did you mean 'models'?");
  EXPECT_FALSE(find_choice_kind({}));
}

TEST(SchemaText, EveryNameHasASchema) {
  EXPECT_THAT(schema_names(), ::testing::IsSupersetOf({"scenario", "result", "step"}));
  for (const std::string& name : schema_names()) {
    const auto text = schema_text(name);
    ASSERT_TRUE(text) << name;
    EXPECT_THAT(*text, ::testing::HasSubstr("json-schema.org")) << name;
  }
  EXPECT_FALSE(schema_text("resutl"));
}

}  // namespace
}  // namespace ridgeline::verbs
