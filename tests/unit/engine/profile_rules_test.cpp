#include <cstddef>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "engine/profiles.hpp"

namespace ridgeline::engine {
namespace {

TEST(Rules, MakeEachProfileOfTheOneBeforeIt) {
  for (std::size_t i = 1; i < profiles().size(); ++i) {
    Profile profile = profiles()[i - 1];
    for (const Rule& rule : rules()) {
      profile = *with_rule(std::move(profile), rule.name, value_of(rule, profiles()[i]));
    }
    profile.name = profiles()[i].name;
    EXPECT_EQ(profile, profiles()[i]) << "a member of Profile is no rule";
  }
}

TEST(Rules, RefuseAnUnknownNameAndAnotherKind) {
  const auto refused = [](const char* name, const document::Node& value) {
    return with_rule({}, name, value).error().front();
  };
  EXPECT_EQ(refused("thin_windows", document::bool_node(true)).hint,
            "did you mean 'thins_windows'?");
  EXPECT_THAT(refused("thins_windows", document::integer_node(1)).message,
              testing::HasSubstr("expected true or false"));
  EXPECT_THAT(refused("non_torch_gib", document::bool_node(true)).message,
              testing::HasSubstr("expected a number"));
  EXPECT_THAT(refused("graph_sizes", document::text_node("all")).message,
              testing::HasSubstr("every-8-then-16"));
}

}  // namespace
}  // namespace ridgeline::engine
