#include "verbs/trace_view.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workload/trace_stats.hpp"
#include "workload/trace_tree.hpp"

namespace ridgeline::verbs {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

workload::TraceStats two_sizes() {
  workload::TraceStats stats{.format = "mooncake", .requests = 1200, .duration_s = 60.0};
  stats.request_rate = 20.0;
  stats.input_tokens.mean = 1234.5;
  stats.tenants = {{.name = "gold", .requests = 1000}, {.name = "batch", .requests = 200}};
  stats.reuse = {.block_tokens = 16, .blocks = 5000, .ideal = 0.5};
  stats.reuse.by_cache_size = {{.blocks = 1, .tokens = 16, .hit_rate = 0.1},
                               {.blocks = 2, .tokens = 32, .hit_rate = 0.495}};
  return stats;
}

TEST(TraceTable, SaysWhatTheTreeHolds) {
  const std::string text =
      trace_sheet(workload::trace_tree(two_sizes())).render(report::Face::kTerminal, {});
  EXPECT_THAT(text, HasSubstr("mooncake: 1 200 requests in 1 m 00 s\n"));
  EXPECT_THAT(text, HasSubstr("rate          20.0 req/s, \u2013 at its peak"));
  EXPECT_THAT(text, HasSubstr("input            1 234"));
  EXPECT_THAT(text, HasSubstr("prefix reuse  50.0 % of 5 000 blocks of 16 tokens at best"));
  EXPECT_THAT(text, HasSubstr("              32  49.5 %"));
  EXPECT_THAT(text, HasSubstr("tenants       gold 1 000, batch 200\n"));
  EXPECT_THAT(text, Not(HasSubstr("sessions")));
}

}  // namespace
}  // namespace ridgeline::verbs
