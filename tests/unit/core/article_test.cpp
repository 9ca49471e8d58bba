#include "core/article.hpp"

#include <gtest/gtest.h>

namespace ridgeline::core {
namespace {

TEST(Article, FollowsTheFirstLetter) {
  EXPECT_EQ(with_article("event-loss"), "an event-loss");
  EXPECT_EQ(with_article("Ingress"), "an Ingress");
  EXPECT_EQ(with_article("crash"), "a crash");
  EXPECT_EQ(with_article("unit"), "a unit");
  EXPECT_EQ(with_article(""), "a ");
}

}  // namespace
}  // namespace ridgeline::core
