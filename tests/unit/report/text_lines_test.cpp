#include "report/text_lines.hpp"

#include <gtest/gtest.h>

namespace ridgeline::report {
namespace {

TEST(Wrapped, PutsAsManyPiecesOnALineAsFit) {
  // "label aaaa   bbbb" takes 17 columns.
  const std::vector<Piece> pieces = {{.text = "aaaa"}, {.text = "bbbb"}, {.text = "cc"}};
  EXPECT_EQ(wrapped("label ", pieces, {.width = 17, .indent = 2}), "label aaaa   bbbb\n  cc\n");
  EXPECT_EQ(wrapped("label ", pieces, {.width = 16, .indent = 2}), "label aaaa\n  bbbb   cc\n");
}

TEST(Wrapped, NeverBreaksAPieceNorLeavesAnEmptyLine) {
  EXPECT_EQ(wrapped("", {{.text = "much too long"}, {.text = "b"}}, {.width = 4}),
            "much too long\nb\n");
}

TEST(Wrapped, ColourTakesNoColumns) {
  const std::vector<Piece> pieces = {{.text = "aa", .colour = "<green>"}, {.text = "bb"}};
  EXPECT_EQ(wrapped("", pieces, {.width = 7, .reset = "</>"}), "<green>aa</>   bb\n");
}

TEST(Words, SkipsRepeatedSpaces) {
  const auto pieces = words("  a  bc ");
  ASSERT_EQ(pieces.size(), 2U);
  EXPECT_EQ(pieces[0].text, "a");
  EXPECT_EQ(pieces[1].text, "bc");
  EXPECT_TRUE(words("").empty());
}

}  // namespace
}  // namespace ridgeline::report
