#include "lab/studies/ledger/ledger.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::studies {
namespace {

core::Result<Ledger> read_claims(const std::string& claim) {
  return read_ledger(
      document::parse_yaml("title: t\nabout: a\ndocuments: [{id: d, title: D}]\n"
                           "rows: [{id: R, document: d, section: s, command: c, claims: [" +
                               claim + "]}]\n",
                           "l.yaml")
          .value());
}

std::string ledger_problem(const std::string& claim) {
  const auto read = read_claims(claim);
  return read ? "none" : core::to_string(read.error().front());
}

TEST(Ledger, ClaimsOfARowAreNumbered) {
  const auto one = read_claims("{said: 'x', at: y, value: 1}").value();
  EXPECT_EQ(one.rows[0].claims[0].id, "R");
  EXPECT_EQ(one.rows[0].claims[0].command, "c");
  const auto two = read_claims("{said: 'x', at: y}, {said: 'z', at: y, command: e DIR}").value();
  EXPECT_EQ(two.rows[0].claims[1].id, "R.2");
  EXPECT_TRUE(two.rows[0].claims[1].needs_tables());
  EXPECT_FALSE(two.rows[0].claims[1].needs_measured());
  EXPECT_FALSE(two.rows[0].claims[0].needs_tables());
}

TEST(Ledger, ExpectsWhatAnEqualValueGives) {
  EXPECT_EQ(read_claims("{said: x, at: y}").value().rows[0].claims[0].expected,
            Status::kReproduced);
  EXPECT_EQ(read_claims("{kind: verdict, said: x, at: y}").value().rows[0].claims[0].expected,
            Status::kConfirmed);
  EXPECT_EQ(read_claims("{said: x, at: y, expected: open}").value().rows[0].claims[0].expected,
            Status::kOpen);
}

TEST(Ledger, NamesWhatAClaimLacks) {
  EXPECT_NE(ledger_problem("{said: x}").find("lacks `at`, `says` or `exit`"), std::string::npos);
  EXPECT_NE(ledger_problem("{kind: question, said: x, at: y}").find("lacks an answer"),
            std::string::npos);
  EXPECT_NE(ledger_problem("{kind: table, said: x, at: y}").find("lacks columns and rows"),
            std::string::npos);
  EXPECT_NE(ledger_problem("{said: x, open: a, unpublished: b}").find("not both"),
            std::string::npos);
  EXPECT_NE(ledger_problem("{said: x, at: y, sayd: z}").find("R.sayd"), std::string::npos);
  EXPECT_NE(ledger_problem("{said: x, at: y, expected: fine}").find("R.expected"),
            std::string::npos);
  EXPECT_NE(ledger_problem(
                "{kind: table, said: x, at: y, columns: [a, b], decimals: [0, 0], rows: [[1]]}")
                .find("R.rows"),
            std::string::npos);
}

TEST(Ledger, PrintsAsTheDocumentsDo) {
  EXPECT_EQ(printed(0.2296951, {.decimals = 6}), "0.229695");
  EXPECT_EQ(printed(5.0, {.decimals = 6}), "5.000000");
  EXPECT_EQ(printed(-0.001, {.decimals = 2}), "0.00");
  EXPECT_EQ(printed(4.17767e15, {.significant = 4}), "4.178e+15");
}

TEST(Ledger, TheOriginalDocumentsAreWhole) {
  const auto original = original_ledger();
  ASSERT_TRUE(original.has_value()) << core::to_string(original.error().front());
  std::set<std::string> ids;
  for (const LedgerRow& row : original->rows) {
    EXPECT_TRUE(ids.insert(row.id).second) << row.id;
  }
  EXPECT_EQ(original->documents.size(), 6U);
}

}  // namespace
}  // namespace ridgeline::studies
