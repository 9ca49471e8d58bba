#include <string>

#include <gtest/gtest.h>

#include "lab/studies/registry.hpp"
#include "lab/studies/study.hpp"

namespace ridgeline::studies {
namespace {

// Its figures: tests/e2e/test_fleet_studies.py.
TEST(Distserve, ComparesWithAFormulaAndSaysHowItIsRefuted) {
  const Study study = study_distserve();
  EXPECT_EQ(study.reference, Reference::kArithmetic);
  EXPECT_FALSE(std::string(study.refuted_if).empty());
  EXPECT_TRUE(find_study(std::string(study.id)).has_value());
}

}  // namespace
}  // namespace ridgeline::studies
