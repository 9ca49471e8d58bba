#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evidence/validate/validate.hpp"
#include "report/csv_cells.hpp"
#include "report/palette.hpp"
#include "report/validation.hpp"
#include "support/small_validation.hpp"

namespace ridgeline::report {
namespace {

using test::small_validation;

TEST(ValidationHtml, CsvQuotesAndHtmlEscapes) {
  EXPECT_THAT(validation_csv(small_validation()), ::testing::HasSubstr("\"a<b,c\",own"));
  EXPECT_EQ(csv_cell("say \"a\""), "\"say \"\"a\"\"\"");
  const std::string page = validation_html(small_validation());
  EXPECT_THAT(page, ::testing::HasSubstr("a&lt;b,c: measured 200, predicted 220, +10.0 %"));
  EXPECT_THAT(page, ::testing::Not(::testing::HasSubstr("a<b")));
}

TEST(ValidationHtml, NothingScoredIsNoCrash) {
  evidence::validate::Validation empty;
  EXPECT_THAT(validation_table(empty, {}), ::testing::HasSubstr("0 records"));
  EXPECT_THAT(validation_html(empty), ::testing::HasSubstr("</html>"));
}

}  // namespace
}  // namespace ridgeline::report
