#include "report/table/grid.hpp"

#include <array>
#include <cstddef>
#include <string>

#include <gtest/gtest.h>

#include "report/palette.hpp"

namespace ridgeline::report {
namespace {

TextStyle grid_style(int width) {
  TextStyle style;
  style.width = width;
  style.ascii = true;
  return style;
}

TEST(Grid, SetsColumnsApartWhateverTheirCells) {
  Grid grid({{"name", true}, {"ms"}, {"max", false, 6}});
  grid.add({"a", "1", "725 279 124"});
  grid.add({"longer", "24 319"});
  EXPECT_EQ(grid.render(grid_style(100)),
            "name        ms          max\n"
            "a            1  725 279 124\n"
            "longer  24 319\n");
}

TEST(Grid, CutsTheNamedColumnsWhereItMust) {
  Grid grid({{"name", true}, {"source", true}});
  grid.add({"attention", std::string(30, 's')});
  constexpr std::array<std::size_t, 1> kSource = {1};
  EXPECT_EQ(grid.render(grid_style(41), kSource),
            "name       source\nattention  " + std::string(30, 's') + "\n");
  EXPECT_EQ(grid.render(grid_style(23), kSource), "name       source\nattention  sssss..sssss\n");
  EXPECT_EQ(grid.render(grid_style(0), kSource), "name       source\nattention  sss..sss\n");
}

}  // namespace
}  // namespace ridgeline::report
