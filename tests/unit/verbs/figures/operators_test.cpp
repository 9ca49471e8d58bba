#include <gtest/gtest.h>

#include "document/node_path.hpp"
#include "report/chart/figure.hpp"
#include "unit/verbs/run/a_run.hpp"

namespace ridgeline::report::figures {
namespace {

TEST(Operators, NamesEveryOneInItsTable) {
  const auto& result = verbs::fixtures::a_result();
  const Figure figure = operators(result);
  const auto parts = document::at_path(result, "mean_steps.decode.parts")->items().size() +
                     document::at_path(result, "mean_steps.prompt.parts")->items().size();
  const auto of_worst =
      worst_differs(result)
          ? document::at_path(result, "findings.worst.decode.parts")->items().size() +
                document::at_path(result, "findings.worst.prompt.parts")->items().size()
          : 0;
  EXPECT_EQ(figure.rows.size(), parts + of_worst);
  EXPECT_NE(figure.marks.find("gate_up_proj"), std::string::npos);
  EXPECT_NE(figure.description.find("longest: "), std::string::npos);
}

TEST(Operators, AResultWithoutThemHasNoPicture) {
  EXPECT_TRUE(operators(document::Node()).marks.empty());
}

}  // namespace
}  // namespace ridgeline::report::figures
