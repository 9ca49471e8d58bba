#include <string>

#include <gtest/gtest.h>

#include "studies/campaign.hpp"
#include "studies/registry.hpp"
#include "studies/study.hpp"

namespace ridgeline::studies {
namespace {

// Its figures: tests/e2e/test_fleet_studies.py.
TEST(StudyLlmd37, IsOfAPublishedCampaign) {
  const Study study = study_llmd_37();
  const Campaign campaign = published_campaign(std::string(study.id));
  EXPECT_EQ(campaign.instances, 4);
  EXPECT_EQ(campaign.model, "llama-3.1-70b");
  EXPECT_FALSE(study.needs_tables);
}

}  // namespace
}  // namespace ridgeline::studies
