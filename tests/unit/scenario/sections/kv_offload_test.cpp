#include "scenario/sections/kv_offload.hpp"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/store/eviction.hpp"
#include "scenario/options.hpp"
#include "scenario/sections/kv_offload_section.hpp"

namespace ridgeline::scenario {
namespace {

using testing::HasSubstr;

TEST(KvOffloadSettings, TiersAreInBytesAndBytesPerSecond) {
  KvOffloadSection section;
  EXPECT_FALSE(section.has_tier());
  section.cpu_bytes_to_use = "1GiB";
  section.shared_bytes_to_use = "2TB";
  section.shared_read_bandwidth = "12.5GB/s";
  section.shared_eviction_policy = "arc";
  section.store_bandwidth = "100GB/s";
  EXPECT_TRUE(section.has_tier());
  const auto all = kv_tiers(section);
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(all->tiers[0].bytes, 1 << 30);
  EXPECT_EQ(all->tiers[0].read_rate, 50'000'000'000);
  EXPECT_EQ(all->tiers[0].eviction, "lru");
  EXPECT_EQ(all->tiers[1].bytes, 0);
  EXPECT_EQ(all->tiers[2].bytes, 2'000'000'000'000);
  EXPECT_EQ(all->tiers[2].read_rate, 12'500'000'000);
  EXPECT_EQ(all->tiers[2].eviction, "arc");
  EXPECT_EQ(all->store_rate, 100'000'000'000);
}

TEST(KvOffloadSettings, ASizeHasAUnitAndIsNotZero) {
  KvOffloadSection section;
  section.cpu_bytes_to_use = "0GiB";
  EXPECT_EQ(kv_tiers(section).error().front().field, "cluster.kv_offload.cpu_bytes_to_use");
  EXPECT_THAT(kv_tiers(section).error().front().message, HasSubstr("expected 1B to 1000TB"));
  section.cpu_bytes_to_use = "100";
  EXPECT_THAT(kv_tiers(section).error().front().message, HasSubstr("bytes with its unit"));
  section.cpu_bytes_to_use = "1GiB";
  section.disk_bytes_to_use = "1TiB";
  section.disk_write_bandwidth = "5";
  EXPECT_EQ(kv_tiers(section).error().front().field, "cluster.kv_offload.disk_write_bandwidth");
  EXPECT_THAT(kv_tiers(section).error().front().message, HasSubstr("a rate with its unit"));
}

/// The choices that the options state are those of the registry.
TEST(KvOffloadSettings, PoliciesAreThoseOfTheRegistry) {
  for (const char* path : {"cluster.kv_offload.eviction_policy",
                           "cluster.kv_offload.disk_eviction_policy",
                           "cluster.kv_offload.shared_eviction_policy"}) {
    const Option* const option = find_option(path);
    ASSERT_NE(option, nullptr);
    EXPECT_TRUE(std::ranges::equal(
        option->choices, store::evictions(), {}, {}, &store::EvictionEntry::name))
        << path;
  }
}

}  // namespace
}  // namespace ridgeline::scenario
