#include "lab/studies/lab.hpp"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "document/document.hpp"

namespace ridgeline::studies {
namespace {

TEST(Lab, RowsKeepTheirOrderAndKinds) {
  const document::Node node = row("batch",
                                  std::int64_t{4},
                                  "ratio",
                                  1.5,
                                  "kv",
                                  std::vector<std::int64_t>{1, 2},
                                  "name",
                                  "x",
                                  "ok",
                                  true);
  ASSERT_EQ(node.members().size(), 5U);
  EXPECT_EQ(node.members()[0].key, "batch");
  EXPECT_EQ(node.members()[0].value.as_integer(), 4);
  EXPECT_DOUBLE_EQ(node.find("ratio")->as_real(), 1.5);
  EXPECT_EQ(node.find("kv")->items()[1].as_integer(), 2);
  EXPECT_TRUE(node.find("ok")->as_bool());
}

TEST(Lab, RoundsTheValueItselfNotAMultiple) {
  EXPECT_DOUBLE_EQ(rounded(0.652174'4, 6), 0.652174);
  // The double nearest to 1.005 is below it.
  EXPECT_DOUBLE_EQ(rounded(1.005, 2), 1.0);
  EXPECT_DOUBLE_EQ(rounded(-2.345678, 3), -2.346);
}

}  // namespace
}  // namespace ridgeline::studies
