#include <string>

#include <gtest/gtest.h>

#include "lab/studies/registry.hpp"
#include "lab/studies/study.hpp"

namespace ridgeline::studies {
namespace {

// Their figures: tests/e2e/test_fleet_studies.py.
TEST(LlmdGains, CompareWithMeasurementsAndSayHowTheyAreRefuted) {
  for (const Study& study :
       {study_llmd_latency(), study_llmd_eks(), study_llmd_04(), study_llmd_sticky()}) {
    EXPECT_EQ(study.reference, Reference::kMeasured) << study.id;
    EXPECT_FALSE(std::string(study.refuted_if).empty()) << study.id;
    EXPECT_TRUE(find_study(std::string(study.id)).has_value()) << study.id;
  }
}

}  // namespace
}  // namespace ridgeline::studies
