#include <gtest/gtest.h>

#include "report/chart/figure.hpp"
#include "unit/verbs/run/a_run.hpp"

namespace ridgeline::report::figures {
namespace {

TEST(GpuMemoryFigure, HasARowPerPart) {
  const auto& result = verbs::fixtures::a_result();
  const Figure figure = gpu_memory(result);
  EXPECT_EQ(figure.rows.size(), result.find("gpu_memory")->members().size() - 1);
  EXPECT_EQ(figure.rows.front()[0], "weights");
  EXPECT_NE(figure.description.find("kv cache"), std::string::npos);
}

TEST(GpuMemoryFigure, AResultWithoutItHasNoPicture) {
  EXPECT_TRUE(gpu_memory(document::Node()).marks.empty());
}

}  // namespace
}  // namespace ridgeline::report::figures
