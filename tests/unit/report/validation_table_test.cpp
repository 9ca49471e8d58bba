#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evidence/validate/scores.hpp"
#include "evidence/validate/validate.hpp"
#include "report/palette.hpp"
#include "report/validation.hpp"
#include "support/small_validation.hpp"

namespace ridgeline::report {
namespace {

using test::small_validation;

TEST(ValidationTable, TableNamesOutliersAndWhatWasLeftOut) {
  const std::string table = validation_table(small_validation(), {});
  EXPECT_THAT(table, ::testing::HasSubstr("a<b,c"));
  EXPECT_THAT(table, ::testing::HasSubstr("unpredicted: no such network"));
  EXPECT_THAT(table,
              ::testing::HasSubstr(
                  "2 records: 1 scored, 0 saturated, 0 contradicted, 1 unpredicted, 0 unreadable"));
}

TEST(ValidationTable, HasTheBoundWhereTheFrontEndDecidesSomeRecord) {
  auto validation = small_validation();
  for (const auto& text : {validation_table(validation, {}),
                           validation_markdown(validation),
                           validation_html(validation)}) {
    EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("bound")));
  }
  validation.records.front().prediction->front_end_near = true;
  validation.scores = evidence::validate::score(validation.records);
  for (const auto& text : {validation_table(validation, {}),
                           validation_markdown(validation),
                           validation_html(validation)}) {
    EXPECT_THAT(text, ::testing::HasSubstr("front end near"));
  }
}

}  // namespace
}  // namespace ridgeline::report
