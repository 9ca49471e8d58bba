#include "report/terminal_plot.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/palette.hpp"
#include "unit/verbs/run/a_run.hpp"
#include "verbs/run/result_tree.hpp"

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
  const std::string plot = terminal_plot(verbs::result_tree(verbs::fixtures::a_run()), style);
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

TEST(TallBars, FillFromBelow) {
  // A half and a whole of sixteen dots beside each other.
  const auto bars = tall_bars({1.0, 2.0}, false);
  ASSERT_EQ(bars.size(), 4U);
  EXPECT_EQ(bars[0], "\u28b8");  // The right column alone.
  EXPECT_EQ(bars[1], "\u28b8");
  EXPECT_EQ(bars[2], "\u28ff");
  EXPECT_EQ(bars[3], "\u28ff");
  EXPECT_EQ(tall_bars({1.0, 2.0}, true)[1], " #");
  EXPECT_EQ(tall_bars({1.0, 2.0}, true)[3], "##");
  EXPECT_EQ(tall_bars({0.0}, true)[3], " ");
}

TEST(TerminalPlot, TallTakesFourLinesEach) {
  TextStyle style;
  style.ascii = true;
  const std::string line = terminal_plot(verbs::result_tree(verbs::fixtures::a_run()), style);
  const std::string tall =
      terminal_plot(verbs::result_tree(verbs::fixtures::a_run()), style, PlotHeight::kTall);
  const auto lines = [](const std::string& text) { return std::ranges::count(text, '\n'); };
  EXPECT_EQ(lines(tall) - 1, 4 * (lines(line) - 1));  // The axis stands once.
  EXPECT_THAT(tall, HasSubstr("target 50.0"));
}

TEST(TerminalPlot, WithoutSeriesThereIsNone) {
  verbs::RunResult run = verbs::fixtures::a_run();
  run.series.reset();
  EXPECT_EQ(terminal_plot(verbs::result_tree(run), {}), "");
}

}  // namespace
}  // namespace ridgeline::report
