#include "report/chart/marks.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridgeline::report::figures {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Marks, AScaleMapsItsEndsAndKeepsWhatIsOutside) {
  const Scale scale{.low = 10.0, .high = 20.0, .start = 100.0, .end = 0.0};
  EXPECT_DOUBLE_EQ(scale.pixel(10.0), 100.0);
  EXPECT_DOUBLE_EQ(scale.pixel(15.0), 50.0);
  EXPECT_DOUBLE_EQ(scale.pixel(99.0), 0.0);
  const Scale log{.low = 1.0, .high = 100.0, .start = 0.0, .end = 10.0, .log = true};
  EXPECT_NEAR(log.pixel(10.0), 5.0, 1e-12);
  EXPECT_DOUBLE_EQ(log.pixel(0.0), 0.0);
}

TEST(Marks, TicksAreRoundNumbers) {
  EXPECT_THAT((Scale{.low = 0.0, .high = 10.0}).ticks(5),
              ElementsAre(0.0, 2.0, 4.0, 6.0, 8.0, 10.0));
  EXPECT_THAT((Scale{.low = 3.0, .high = 70.0, .log = true}).ticks(5),
              ElementsAre(5.0, 10.0, 20.0, 50.0));
  EXPECT_DOUBLE_EQ(Scale::from_zero(7.3, 0.0, 1.0).high, 8.0);
  EXPECT_GT(Scale::from_zero(0.0, 0.0, 1.0).high, 0.0);
}

TEST(Marks, AStepLineIsFlatWithinAWindow) {
  Canvas canvas(100.0, 100.0);
  const Scale x{.low = 0.0, .high = 3.0, .start = 0.0, .end = 30.0};
  const Scale y{.low = 0.0, .high = 10.0, .start = 100.0, .end = 0.0};
  canvas.step(std::vector<double>{1.0, 1.0, 5.0}, 1.0, x, y, "la");
  EXPECT_EQ(canvas.marks(), "<path class=\"la\" d=\"M0 90h20v-40h10\"/>\n");
}

TEST(Marks, ABandIsClosed) {
  Canvas canvas(100.0, 100.0);
  const Scale x{.low = 0.0, .high = 2.0, .start = 0.0, .end = 20.0};
  const Scale y{.low = 0.0, .high = 10.0, .start = 100.0, .end = 0.0};
  const std::vector<double> lower = {0.0, 2.0};
  const std::vector<double> upper = {4.0, 4.0};
  canvas.band(lower, upper, 1.0, x, y, "ba");
  EXPECT_EQ(canvas.marks(), "<path class=\"ba\" d=\"M0 60h20v20h-10v20h-10z\"/>\n");
}

TEST(Marks, RelativeStepsDoNotDrift) {
  Canvas canvas(100.0, 100.0);
  std::vector<Spot> spots;
  for (int i = 0; i <= 1000; ++i) {
    spots.push_back({.x = i * 0.04, .y = 0.0});
  }
  canvas.path(spots, "la");
  // The end is at 40, whatever was rounded on the way: the steps sum to 400 tenths.
  double sum = 0.0;
  const std::string& marks = canvas.marks();
  for (std::size_t at = marks.find('h', marks.find("d=\"M")); at != std::string::npos;
       at = marks.find('h', at + 1)) {
    sum += std::stod(marks.substr(at + 1));
  }
  EXPECT_NEAR(sum, 40.0, 1e-9);
}

TEST(Marks, TextIsEscaped) {
  Canvas canvas(100.0, 100.0);
  canvas.text({.x = 1.0, .y = 2.0}, "start", "", "<img onerror=x>");
  EXPECT_THAT(canvas.marks(), HasSubstr("&lt;img onerror=x&gt;"));
  canvas.bar({.x = 0.0, .y = 0.0}, {.x = 1.0, .y = 1.0}, "fa", "a \"hint\"");
  EXPECT_THAT(canvas.marks(), HasSubstr("<title>a &quot;hint&quot;</title>"));
}

TEST(Marks, AWhiskerHasThreeMarks) {
  Canvas canvas(100.0, 100.0);
  canvas.whisker(10.0, 20.0, 30.0, 50.0, "la");
  EXPECT_THAT(canvas.marks(), HasSubstr("M20 10h30"));
  EXPECT_THAT(canvas.marks(), HasSubstr("M30 6v8"));
}

TEST(Marks, NumbersOnAnAxisAreShort) {
  EXPECT_EQ(tick_text(0.05), "0.05");
  EXPECT_EQ(tick_text(2000.0), "2000");
  EXPECT_EQ(tick_text(20'000.0), "20k");
  EXPECT_EQ(tick_text(2.5e6), "2.5M");
}

}  // namespace
}  // namespace ridgeline::report::figures
