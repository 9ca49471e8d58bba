#include "routing/characters.hpp"

#include <array>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "routing/parameters.hpp"

namespace ridgeline::routing {
namespace {

TEST(Characters, AreTokensBySomeMean) {
  constexpr std::array kTable = {chars_per_token_parameter()};
  EXPECT_EQ(tokens_of_characters(128, {}, kTable), 32);
  EXPECT_EQ(tokens_of_characters(1, {}, kTable), 1);
  const RouterSetup setup{
      .parameters = {{.name = "chars_per_token", .value = document::Node::real(3.2, {})}}};
  EXPECT_EQ(tokens_of_characters(128, setup, kTable), 40);
}

}  // namespace
}  // namespace ridgeline::routing
