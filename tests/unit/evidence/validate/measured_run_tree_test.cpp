#include "evidence/validate/measured_run_tree.hpp"

#include <gtest/gtest.h>

#include "document/node_path.hpp"
#include "evidence/validate/evidence.hpp"

namespace ridgeline::evidence::validate {
namespace {

TEST(MeasuredRun, HasWhatTheRecordHas) {
  using evidence::validate::Figure;
  using evidence::validate::Level;
  evidence::validate::Evidence record;
  record.measured.at(Figure::kTtft, Level::kP99) = 51.0;
  record.measured.at(Figure::kOutputThroughput, Level::kMean) = 1200.0;
  record.request_throughput = 4.0;  // As a run has it.
  record.completed_per_s = 5.0;     // The rate that the server kept up.
  const auto tree = measured_run_tree(record);
  EXPECT_EQ(document::node_at(tree, "summary.ttft_ms.p99").as_real(), 51.0);
  EXPECT_EQ(document::at_path(tree, "summary.ttft_ms.p50"), nullptr);
  EXPECT_EQ(document::node_at(tree, "summary.output_throughput").as_real(), 1200.0);
  EXPECT_EQ(document::node_at(tree, "summary.request_throughput").as_real(), 4.0);
}

}  // namespace
}  // namespace ridgeline::evidence::validate
