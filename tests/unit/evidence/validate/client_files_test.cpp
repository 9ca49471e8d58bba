#include "evidence/validate/client_files.hpp"

#include <gtest/gtest.h>

namespace ridgeline::evidence::validate {
namespace {

TEST(ClientFiles, RequestsLieBesideTheStatistics) {
  EXPECT_EQ(requests_file("inference-perf", "out/summary_lifecycle_metrics.json"),
            "out/per_request_lifecycle_metrics.json");
  EXPECT_EQ(requests_file("inference-perf", "out/i.json"), "out/i_per_request.json");
  EXPECT_EQ(requests_file("aiperf", "out/profile_export_aiperf.json"), "out/profile_export.jsonl");
  EXPECT_EQ(requests_file("aiperf", "a.json"), "a.jsonl");
  EXPECT_EQ(requests_file("aiperf", "a"), "a.jsonl");
  EXPECT_EQ(requests_file("guidellm", "g.json"), "");
}

}  // namespace
}  // namespace ridgeline::evidence::validate
