#include "report/offload.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "metrics/offload_summary.hpp"

namespace ridgeline::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

metrics::OffloadSummary some_tiers() {
  return {.block_tokens = 16,
          .query_tokens = 40'000,
          .hit_tokens = 10'000,
          .hit_rate = 0.25,
          .loads = 12,
          .load_ms = 30.5,
          .recomputed = 2,
          .tiers = {{.tier = "host",
                     .capacity_blocks = 5000,
                     .peak_blocks = 4000,
                     .hit_tokens = 10'000,
                     .loads = 12,
                     .bytes_read = 2'500'000'000,
                     .read_ms = 20.25,
                     .bytes_written = 5'000'000'000,
                     .blocks_written = 2500,
                     .blocks_evicted = 7,
                     .blocks_refused = 3,
                     .read_utilisation = 0.125,
                     .write_utilisation = 0.25}}};
}

TEST(KvTierReport, ATreeHasEveryNumber) {
  const document::Node tree = offload_tree(some_tiers());
  EXPECT_EQ(tree.find("hit_rate")->as_real(), 0.25);
  EXPECT_EQ(tree.find("recomputed")->as_integer(), 2);
  const document::Node& host = tree.find("tiers")->items().front();
  EXPECT_EQ(host.find("tier")->as_string(), "host");
  EXPECT_EQ(host.find("blocks_refused")->as_integer(), 3);
  EXPECT_EQ(host.find("write_utilisation")->as_real(), 0.25);
  EXPECT_TRUE(offload_tree({}).find("load_ms")->is_null());
}

TEST(KvTierReport, LinesSayWhatWasFoundAndWhere) {
  const std::string text = offload_lines(some_tiers(), {});
  for (const char* part : {"10 000 of 40 000 tokens not on the GPUs loaded (25.0 %)",
                           "12 requests",
                           "30.5 ms each",
                           "2 computed as sooner",
                           "2.50 GB read",
                           "20.2 ms a load",
                           "peak 4 000 of 5 000 blocks",
                           "7 evicted",
                           "3 found no room",
                           "link 12.5 % read, 25.0 % written"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(offload_lines({}, {}), Not(HasSubstr("each")));
}

}  // namespace
}  // namespace ridgeline::report
