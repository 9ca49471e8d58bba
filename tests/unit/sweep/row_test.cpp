#include "sweep/row.hpp"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "unit/sweep/documents.hpp"

namespace ridgeline::sweep {
namespace {

Row row() {
  return {.ordinal = 12,
          .id = "0123",
          .point = yaml("{gpu: h100}"),
          .result = yaml("{a: 1, text: 'b,\"run_info\":{\"wall_time_s\":'}"),
          .errors = {},
          .wall_time_s = 0.5};
}

std::string_view without_break(const std::string& line) {
  return std::string_view(line).substr(0, line.size() - 1);
}

TEST(Row, IsReadBackWithoutWhatMayDiffer) {
  const std::string line = line_of(row());
  ASSERT_TRUE(line.ends_with("}}\n"));
  const auto view = read_line(without_break(line));
  ASSERT_TRUE(view);
  EXPECT_EQ(view->ordinal, 12);
  EXPECT_EQ(view->id, "0123");
  EXPECT_EQ(view->status, Status::kOk);
  EXPECT_EQ(view->wall_time_s, 0.5);
  Row slower = row();
  slower.wall_time_s = 7.25;
  const std::string other = line_of(slower);
  EXPECT_EQ(read_line(without_break(other))->without_run_info, view->without_run_info);
}

TEST(Row, NoPartOfALineIsARow) {
  const std::string line = line_of(row());
  for (std::size_t length = 0; length + 1 < line.size(); ++length) {
    EXPECT_FALSE(read_line(std::string_view(line).substr(0, length))) << length;
  }
}

TEST(Row, NoCharacterOfALineChangesUnseen) {
  std::string line(without_break(line_of(row())));
  EXPECT_TRUE(read_line(line)->has_checksum);
  for (char& c : line) {
    const char whole = c;
    c = c == '1' ? '2' : '1';
    EXPECT_FALSE(read_line(line)) << line;
    c = whole;
  }
}

TEST(Row, OfAnEarlierVersionHasNoChecksum) {
  const std::string line = line_of(row());
  const auto view = read_line(line.substr(0, line.find(",\"checksum\"")) + "}}");
  ASSERT_TRUE(view);
  EXPECT_FALSE(view->has_checksum);
  EXPECT_EQ(view->ordinal, 12);
}

TEST(Row, SaysWhyThereIsNoResult) {
  Row bad = row();
  bad.errors = {
      {.code = core::ErrorCode::kInfeasible, .field = "model", .message = "does not fit"}};
  const std::string infeasible = line_of(bad);
  EXPECT_THAT(infeasible, testing::HasSubstr("\"reason\":\"model: does not fit\""));
  EXPECT_EQ(read_line(without_break(infeasible))->status, Status::kInfeasible);
  bad.errors.push_back({.code = core::ErrorCode::kUsage, .message = "wrong"});
  const std::string refused = line_of(bad);
  EXPECT_EQ(read_line(without_break(refused))->status, Status::kRefused);
  bad.errors.push_back({.code = core::ErrorCode::kInternal, .message = "ours"});
  const std::string failed = line_of(bad);
  EXPECT_EQ(read_line(without_break(failed))->status, Status::kFailed);
}

TEST(OutcomeOf, IsTheGravestThatIsNoAnswer) {
  // ok, infeasible, refused, failed
  EXPECT_EQ(outcome_of({3, 0, 0, 0}), Status::kOk);
  EXPECT_EQ(outcome_of({3, 2, 0, 0}), Status::kOk);
  EXPECT_EQ(outcome_of({3, 2, 1, 0}), Status::kRefused);
  EXPECT_EQ(outcome_of({3, 2, 1, 1}), Status::kFailed);
  EXPECT_EQ(outcome_of({0, 2, 1, 0}), Status::kInfeasible);
  EXPECT_EQ(outcome_of({0, 0, 1, 0}), Status::kInfeasible);
  EXPECT_EQ(outcome_of({0, 0, 0, 1}), Status::kFailed);
}

}  // namespace
}  // namespace ridgeline::sweep
