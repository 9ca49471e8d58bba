#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/pages/ledger/ledger_report.hpp"
#include "lab/tests/unit/pages/example_ledger.hpp"

namespace ridgeline::report {
namespace {

using ::testing::HasSubstr;

TEST(LedgerMarkdown, ClaimsInTablesAndQuestionsWithAnswers) {
  const auto ledger = testing::example_ledger();
  const std::string page = ledger_markdown(testing::example_settlement(ledger));
  EXPECT_THAT(page, HasSubstr("# The documents\n\nWhat came of them.\n"));
  EXPECT_THAT(page,
              HasSubstr("| A.1.1 | a \\| b &lt; 2.0 | 2.0 | reproduced | `ridgeline give DIR` |\n"
                        "| A.1.2 | other | 2.0 | corrected: a reason | the same |\n"));
  EXPECT_THAT(page,
              HasSubstr("## Questions\n\nOurs.\n\n**Q.1 How many?** It is 2.0. `ridgeline give "
                        "DIR`\n"));
}

}  // namespace
}  // namespace ridgeline::report
