#include "verbs/kernels_lookup_view.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/node_json.hpp"
#include "latency/measured/lookup_question.hpp"
#include "report/table/table.hpp"

namespace ridgeline::verbs {
namespace {

std::string table_of(const latency::measured::LookupAnswer& found) {
  return kernel_lookup_sheet(kernel_lookup_tree(found)).render(report::Face::kTerminal, {});
}

TEST(KernelLookupReport, SaysWhatStandsIn) {
  latency::measured::LookupAnswer answer;
  answer.file = "decode.csv";
  answer.line = 3;
  answer.missing = "32-8-128.csv";
  answer.heads_distance = 2.0;
  answer.lookup.mfu = 0.25;
  answer.lookup.outcome = latency::measured::LookupOutcome::kReplaced;
  const std::string text = table_of(answer);
  EXPECT_THAT(text, ::testing::HasSubstr("32-8-128.csv: decode.csv stands in"));
  EXPECT_THAT(text, ::testing::HasSubstr("heads     2 away"));
  EXPECT_THAT(document::json_text(kernel_lookup_tree(answer)),
              ::testing::HasSubstr("\"outcome\": \"the table says 0: another row stands in\""));
}

TEST(KernelLookupReport, AMadeTableIsSaidToBeMade) {
  latency::measured::LookupAnswer answer;
  answer.row = "m 8";
  answer.made = true;
  EXPECT_THAT(table_of(answer),
              ::testing::HasSubstr("m 8  (made by the kernel model, no file is read)"));
  answer.file = "data.csv";
  answer.line = 2;
  EXPECT_THAT(table_of(answer),
              ::testing::HasSubstr("m 8  (data.csv:2, made by the kernel model)"));
}

}  // namespace
}  // namespace ridgeline::verbs
