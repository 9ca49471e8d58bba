#include "plan/objectives.hpp"

#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "plan/cost.hpp"
#include "plan/question.hpp"

namespace ridgeline::plan {
namespace {

using testing::ElementsAre;

TEST(Objectives, AFlagGoesBeforeTheFile) {
  const auto file = document::parse_yaml("[watts, gpus]", "q.yaml");
  ASSERT_TRUE(file.has_value());
  QuestionWords words;
  Question question;
  question.accept_bounds = true;
  core::Errors errors;
  read_aims({.words = words, .objective = *file, .cost = std::nullopt}, question, errors);
  EXPECT_THAT(question.objectives, ElementsAre(Objective::kWatts, Objective::kGpus));
  words.objective = "gpus";
  read_aims({.words = words, .objective = *file, .cost = std::nullopt}, question, errors);
  EXPECT_THAT(question.objectives, ElementsAre(Objective::kGpus));
  EXPECT_TRUE(errors.empty());
}

TEST(Objectives, NothingIsPricedWhereSomethingIsWrong) {
  const QuestionWords words{.objective = "dollars"};
  Question question;
  core::Errors errors;
  read_aims({.words = words, .objective = std::nullopt, .cost = std::nullopt}, question, errors);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors.front().field, "--objective");
  EXPECT_FALSE(question.cost.prices.has_value());
}

}  // namespace
}  // namespace ridgeline::plan
