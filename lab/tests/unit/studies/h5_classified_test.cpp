#include <map>
#include <string>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "lab/studies/h5_measured.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/study.hpp"

namespace ridgeline::studies {
namespace {

Outcome with_statements(bool holds) {
  Outcome out;
  out.tables = {{"mixed_steps", {}}, {"prefill", {}}, {"branch_edge", {}}, {"statements", {}}};
  for (const char* id : {"H5.3", "H5.9"}) {
    out.tables[3].rows.push_back(statement(id, "said", holds, "computed"));
  }
  return out;
}

TEST(H5Classified, ClassesFollowWhatHolds) {
  for (const bool holds : {true, false}) {
    Outcome out = with_statements(holds);
    h5::add_classification(out);
    const StudyTable& findings = out.tables[4];
    ASSERT_EQ(findings.rows.size(), 2U);
    EXPECT_EQ(findings.rows[0].find("class")->as_string(), holds ? "confirmation" : "correction");
    EXPECT_EQ(findings.rows[1].find("class")->as_string(),
              holds ? "supported question" : "open question");
    EXPECT_EQ(findings.rows[0].find("finding")->as_string(), "computed");
  }
}

TEST(H5Classified, TheStudysFactsSayWhetherServersWereMeasured) {
  Outcome out = with_statements(true);
  out.by_rule = Verdict::kPartlyConfirmed;
  out.skipped.push_back({.part = "servers", .needs = "--measured FILE"});
  h5::add_classification(out);
  std::map<std::string, std::string> facts;
  for (const document::Node& row : out.tables[5].rows) {
    facts[row.find("name")->as_string()] = row.find("value")->as_string();
  }
  EXPECT_EQ(facts.at("status"), "partly confirmed");
  EXPECT_EQ(facts.at("tier"), "the model alone");
  EXPECT_EQ(facts.size(), 8U);
}

}  // namespace
}  // namespace ridgeline::studies
