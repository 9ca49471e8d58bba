#include <string>

#include <gtest/gtest.h>

#include "lab/records/campaign.hpp"
#include "lab/studies/registry.hpp"
#include "lab/studies/study.hpp"

namespace ridgeline::studies {
namespace {

using records::Campaign;
using records::published_campaign;

// Their figures: tests/e2e/test_fleet_studies.py.
TEST(LlmdCampaigns, AreThePublishedOnes) {
  for (const Study& study : {study_llmd_37(), study_llmd_73()}) {
    const Campaign campaign = published_campaign(std::string(study.id));
    EXPECT_EQ(campaign.instances, study.id == "llmd-37" ? 4 : 8);
    EXPECT_EQ(campaign.model, study.id == "llmd-37" ? "llama-3.1-70b" : "qwen3-32b");
    EXPECT_FALSE(study.needs_tables);
  }
}

}  // namespace
}  // namespace ridgeline::studies
