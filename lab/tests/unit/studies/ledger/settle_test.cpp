#include "lab/studies/ledger/settle.hpp"

#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "lab/studies/ledger/ledger.hpp"

namespace ridgeline::studies {
namespace {

Ledger ledger_of(const std::string& claims) {
  return read_ledger(document::parse_yaml(
                         "title: t\nabout: a\ndocuments: [{id: d, title: D}]\n"
                         "rows: [{id: R, document: d, section: s, command: give, claims: [" +
                             claims + "]}]\n",
                         "l.yaml")
                         .value())
      .value();
}

CommandOutput give(const std::vector<std::string>& words) {
  const std::string all = fmt::format("{}", fmt::join(words, " "));
  static const std::map<std::string, CommandOutput> kOutputs = {
      {"give --format json",
       {.exit = 0,
        .out = R"({"x": 2.004, "yes": true, "no": false, "verdict": "refuted",
                   "rows": [{"k": 1, "v": 2.5, "w": [1, 2]}, {"k": 2, "v": 3.5, "w": [3, 4]}]})",
        .err = ""}},
      {"fail", {.exit = 2, .out = "", .err = "error: gpu: missing\nhint: h\n"}},
      {"fail --format json", {.exit = 2, .out = "", .err = "error: gpu: missing\nhint: h\n"}},
      {"read tables --format json", {.exit = 0, .out = R"({"x": 7})", .err = ""}}};
  const auto found = kOutputs.find(all);
  return found == kOutputs.end() ? CommandOutput{.exit = 70, .out = "", .err = all} : found->second;
}

SettledClaim settled(const Ledger& ledger, const LedgerData& data = {}) {
  return settle(ledger, {}, data, give).rows.front().claims.front();
}

std::string status(const std::string& claim, const LedgerData& data = {}) {
  const Ledger ledger = ledger_of(claim);
  const SettledClaim found = settled(ledger, data);
  return fmt::format("{}|{}|{}", name(found.status), found.computed, found.reason);
}

TEST(Settle, NumbersToThePrintedDigits) {
  EXPECT_EQ(status("{said: s, at: x, value: 2.00, digits: 2}"), "reproduced|2.00|");
  EXPECT_EQ(status("{said: s, at: x, value: 2.1, digits: 1, derived: 2.0}"), "corrected|2.0|");
  EXPECT_EQ(status("{said: s, at: x, digits: 1, derived: 2.0}"), "derived|2.0|");
  EXPECT_EQ(status("{said: s, at: x, value: 2.1, digits: 1}"), "open|2.0|not the value stated");
  EXPECT_EQ(status("{said: s, at: x, value: 2.1, digits: 1, derived: 2.2}"),
            "open|2.0|neither the value said nor the one derived");
  EXPECT_EQ(status("{said: s, at: y, value: 2}"), "open||the output has no 'y' of 'y'");
}

TEST(Settle, StatementsAndVerdicts) {
  EXPECT_EQ(status("{kind: statement, said: s, at: yes}"), "reproduced|yes|");
  EXPECT_EQ(status("{kind: statement, said: s, at: no}"), "refuted|no|");
  EXPECT_EQ(status("{kind: statement, said: s, at: x, value: 3, derived: 2}"), "refuted|2|");
  EXPECT_EQ(status("{kind: verdict, said: s, at: verdict, value: refuted}"), "confirmed|refuted|");
  EXPECT_EQ(status("{kind: verdict, said: s, at: verdict, value: confirmed}"), "refuted|refuted|");
}

TEST(Settle, AnAnswerStatesTheNumber) {
  EXPECT_EQ(status("{kind: question, said: s, at: x, value: 2.0, digits: 1, answer: it is 2.0}"),
            "answered|2.0|");
  EXPECT_EQ(status("{kind: question, said: s, at: x, value: 2.0, digits: 1, answer: it is 3}"),
            "open|2.0|the answer does not state it");
  EXPECT_EQ(status("{kind: question, said: s, at: x, value: 2, answer: it is 12.2 or 2.5}"),
            "open|2|the answer does not state it");
  EXPECT_EQ(status("{kind: question, said: s, at: '{x} + 9998', value: 10000, "
                   "answer: 'it is 10,000.'}"),
            "answered|10000|");
  EXPECT_EQ(status("{kind: follow-up, said: s, at: x, value: 2}"), "works|2|");
  EXPECT_EQ(status("{kind: follow-up, said: s, at: x, value: 2, against: a server}"), "done|2|");
}

TEST(Settle, TablesCellByCell) {
  const std::string table =
      "{{kind: table, said: s, at: rows, columns: [k, v, w], decimals: [0, 1, 0], "
      "rows: [[1, 2.5, [1, 2]], [{}, {}, [3, 4]]]}}";
  const Ledger equal = ledger_of(fmt::format(fmt::runtime(table), 2, 3.5));
  EXPECT_EQ(settled(equal).status, Status::kReproduced);
  EXPECT_EQ(settled(equal).cells, 6);
  EXPECT_EQ(settled(equal).equal_cells, 6);
  const Ledger other = ledger_of(fmt::format(fmt::runtime(table), 2, 3.6));
  EXPECT_EQ(settled(other).status, Status::kOpen);
  EXPECT_EQ(settled(other).computed, "5 of 6 cells equal");
  const Ledger stated = ledger_of(
      "{kind: follow-up, said: s, at: rows, columns: [k, v], decimals: [0, 1], "
      "rows: [[1, 2.5], [2, 3.5]]}");
  EXPECT_EQ(settled(stated).status, Status::kWorks);
  EXPECT_EQ(settled(stated).cells, 0);
  const Ledger rows = ledger_of(fmt::format(fmt::runtime(table), 3, 3.5));
  EXPECT_EQ(settled(rows).reason, "the computed table has other rows");
}

TEST(Settle, WhatNeedsDataIsSkippedAndNeverReproduced) {
  const std::string claim = "{said: s, at: x, value: 7, command: read DIR}";
  EXPECT_EQ(status(claim), "skipped||needs tables");
  EXPECT_EQ(status(claim, {.bench_data = "tables", .measured = ""}), "reproduced|7|");
  EXPECT_EQ(status("{said: s, at: x, value: 7, command: read FILE}"),
            "skipped||needs measured runs");
  const Ledger ledger = ledger_of(claim);
  const Settlement all = settle(ledger, {}, {}, give);
  EXPECT_TRUE(all.surprises(false).empty());
  EXPECT_EQ(all.surprises(true).size(), 1U);
}

TEST(Settle, CommandsThatFail) {
  EXPECT_EQ(status("{said: s, at: x, value: 7, command: fail}"),
            "open||exit 2: error: gpu: missing");
  EXPECT_EQ(status("{kind: follow-up, said: s, exit: 2, says: 'gpu: missing', command: fail}"),
            "answered|gpu: missing|");
  EXPECT_EQ(status("{kind: follow-up, said: s, exit: 2, says: 'tp: missing', command: fail}"),
            "open||the command does not say so");
}

TEST(Settle, SeveralCommandsMakeAList) {
  EXPECT_EQ(status("{said: s, at: '{1/x} - {0/x}', value: 5, command: give && read DIR}",
                   {.bench_data = "tables", .measured = ""}),
            "reproduced|5|");
}

TEST(Settle, ReasonsInPlaceOfNumbers) {
  EXPECT_EQ(status("{said: s, unpublished: u}"), "not reproducible||u");
  EXPECT_EQ(status("{said: s, open: o}"), "open||o");
}

TEST(Settle, OnlyTheDocumentsNamed) {
  const Ledger ledger = ledger_of("{said: s, at: x, value: 2}");
  EXPECT_TRUE(settle(ledger, {"other"}, {}, give).rows.empty());
  EXPECT_EQ(settle(ledger, {"d"}, {}, give).count(Status::kReproduced), 1);
}

}  // namespace
}  // namespace ridgeline::studies
