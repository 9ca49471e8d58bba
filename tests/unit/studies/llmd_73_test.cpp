#include <string>

#include <gtest/gtest.h>

#include "studies/campaign.hpp"
#include "studies/registry.hpp"
#include "studies/study.hpp"

namespace ridgeline::studies {
namespace {

// Its figures are printed by `study run llmd-73`: too slow for a test.
TEST(StudyLlmd73, IsOfAPublishedCampaign) {
  const Study study = study_llmd_73();
  const Campaign campaign = published_campaign(std::string(study.id));
  EXPECT_EQ(campaign.instances, 8);
  EXPECT_EQ(campaign.model, "qwen3-32b");
  EXPECT_FALSE(study.needs_tables);
}

}  // namespace
}  // namespace ridgeline::studies
