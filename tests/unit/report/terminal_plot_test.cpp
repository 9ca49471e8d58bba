#include "report/terminal_plot.hpp"

#include <cstddef>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "figures/a_run.hpp"
#include "report/palette.hpp"

namespace ridgeline::report {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Le;

TEST(Sparkline, IsAsHighAsItsValues) {
  EXPECT_EQ(sparkline({0.0, 4.0, 8.0}, false), "\u2581\u2584\u2588");
  EXPECT_EQ(sparkline({0.0, 5.0, 10.0}, true), " =@");
  EXPECT_EQ(sparkline({0.0, 0.0}, false), "\u2581\u2581");
  EXPECT_EQ(sparkline({}, false), "");
}

TEST(TerminalPlot, HasALinePerQuestion) {
  TextStyle style;
  style.ascii = true;
  const std::string plot = terminal_plot(testing::a_run(), style);
  for (const char* const name : {"TTFT ms", "TPOT ms", "running", "waiting", "KV %", "0 s"}) {
    EXPECT_THAT(plot, HasSubstr(name));
  }
  EXPECT_THAT(plot, HasSubstr("target 50.0"));
  std::size_t begin = 0;
  for (std::size_t end = plot.find('\n'); end != std::string::npos; end = plot.find('\n', begin)) {
    EXPECT_LE(end - begin, 100U) << plot;
    begin = end + 1;
  }
  EXPECT_THAT(plot, Each(Le('\x7e')));
}

TEST(TerminalPlot, WithoutSeriesThereIsNone) {
  RunResult run = testing::a_run();
  run.series.reset();
  EXPECT_EQ(terminal_plot(run, {}), "");
}

}  // namespace
}  // namespace ridgeline::report
