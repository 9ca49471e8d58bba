#include "serve/fault.hpp"

#include <string>

#include <gtest/gtest.h>

namespace ridgeline::serve {
namespace {

TEST(Fault, IsReadFromKeysAndValues) {
  std::string wrong;
  const auto error = read_fault(
      {{"kind", "error"}, {"share", "0.5"}, {"status", "429"}, {"retry_after", "2"}}, wrong);
  ASSERT_TRUE(error) << wrong;
  EXPECT_EQ(error->kind, Fault::Kind::kError);
  EXPECT_DOUBLE_EQ(error->share, 0.5);
  EXPECT_EQ(error->status, 429);
  EXPECT_EQ(error->retry_after, 2);
  const auto death = read_fault({{"kind", "die"}, {"at", "2s"}, {"for", "500ms"}}, wrong);
  ASSERT_TRUE(death) << wrong;
  EXPECT_EQ(name(death->kind), "die");
  EXPECT_DOUBLE_EQ(death->at.to_seconds(), 2.0);
  EXPECT_DOUBLE_EQ(death->lasts.to_seconds(), 0.5);
}

TEST(Fault, SaysWhatIsWrong) {
  std::string wrong;
  EXPECT_FALSE(read_fault({{"kind", "melt"}}, wrong));
  EXPECT_EQ(wrong, "kind=melt");
  EXPECT_FALSE(read_fault({{"share", "0.1"}}, wrong));
  EXPECT_EQ(wrong, "it has no kind");
  EXPECT_FALSE(read_fault({{"kind", "error"}, {"status", "200"}}, wrong));
  EXPECT_EQ(wrong, "status=200");
  EXPECT_FALSE(read_fault({{"kind", "stall"}, {"share", "nan"}}, wrong));
  EXPECT_FALSE(read_fault({{"kind", "stall"}, {"for", "soon"}}, wrong));
}

}  // namespace
}  // namespace ridgeline::serve
