#include "scenario/sections/sections.hpp"

#include <gtest/gtest.h>

#include "scenario/options.hpp"

namespace ridgeline::scenario {
namespace {

TEST(ClusterSections, EachHasOptionsBelowCluster) {
  for (const SectionEntry& section : cluster_sections()) {
    ASSERT_FALSE(section.options().empty());
    for (const Option& option : section.options()) {
      EXPECT_TRUE(option.path.starts_with("cluster.")) << option.path;
      EXPECT_NE(find_option(option.path), nullptr) << option.path;
    }
  }
}

}  // namespace
}  // namespace ridgeline::scenario
