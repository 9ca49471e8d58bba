#include "verbs/run/csv.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "unit/verbs/run/example_result.hpp"
#include "verbs/run/result_tree.hpp"

namespace ridgeline::verbs {
namespace {

using fixtures::example_result;
using fixtures::rejected_result;

/// Name and value of each column; the examples need no quotes.
std::vector<std::pair<std::string, std::string>> columns(const std::string& csv) {
  const auto split = [](const std::string& line) {
    std::vector<std::string> cells(1);
    for (const char c : line) {
      if (c == ',') {
        cells.emplace_back();
      } else {
        cells.back() += c;
      }
    }
    return cells;
  };
  const std::size_t middle = csv.find('\n');
  const auto names = split(csv.substr(0, middle));
  const auto values = split(csv.substr(middle + 1, csv.size() - middle - 2));
  EXPECT_EQ(names.size(), values.size());
  std::vector<std::pair<std::string, std::string>> pairs;
  for (std::size_t i = 0; i < std::min(names.size(), values.size()); ++i) {
    pairs.emplace_back(names[i], values[i]);
  }
  return pairs;
}

std::string cell(const std::string& csv, const std::string& name) {
  for (const auto& [column, value] : columns(csv)) {
    if (column == name) {
      return value;
    }
  }
  return "no such column";
}

TEST(SummaryCsv, IsAHeaderAndARow) {
  const std::string csv = run_csv(result_tree(example_result()));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 2);
  EXPECT_EQ(csv.back(), '\n');
  EXPECT_EQ(columns(csv).front().first, "completed");
  EXPECT_EQ(columns(csv).back(), std::pair(std::string("digest"), std::string("9f3c17aa")));
}

TEST(SummaryCsv, JoinsNestedKeysWithDots) {
  const std::string csv = run_csv(result_tree(example_result()));
  EXPECT_EQ(cell(csv, "completed"), "1000");
  EXPECT_EQ(cell(csv, "failed.rejected"), "3");
  EXPECT_EQ(cell(csv, "tpot_ms.mean"), "24.25");
  EXPECT_EQ(cell(csv, "server.e2e_ms.p99"), "6805");
  EXPECT_EQ(cell(csv, "slo.tpot.met"), "false");
  EXPECT_EQ(cell(csv, "kv_cache.prefix_hit_rate"), "0.382");
}

TEST(SummaryCsv, HoldsEverySettingSoThatRowsDiffer) {
  RunResult result = example_result();
  const core::Location nowhere;
  result.config = document::Node::map(
      {{.key = "model", .value = document::Node::string("a,b", nowhere), .where = nowhere},
       {.key = "set",
        .value = document::Node::map({{.key = "model.num_hidden_layers",
                                       .value = document::Node::integer(4, nowhere),
                                       .where = nowhere}},
                                     nowhere),
        .where = nowhere}},
      nowhere);
  const std::string csv = run_csv(result_tree(result));
  EXPECT_TRUE(csv.find(",config.model,") != std::string::npos) << csv;
  EXPECT_TRUE(csv.find(",config.engine.max_num_seqs,") != std::string::npos) << csv;
  EXPECT_TRUE(csv.find(",\"a,b\",") != std::string::npos) << csv;
  EXPECT_TRUE(csv.ends_with(",{model.num_hidden_layers: 4},9f3c17aa\n")) << csv;
}

TEST(SummaryCsv, LeavesAbsentNumbersEmpty) {
  const std::string csv = run_csv(result_tree(rejected_result(2)));
  EXPECT_EQ(cell(csv, "duration_s"), "");
  EXPECT_EQ(cell(csv, "ttft_ms.p99"), "");
  EXPECT_EQ(cell(csv, "failed.rejected"), "2");
}

TEST(SummaryCsv, QuotesWhatNeedsIt) {
  RunResult result = example_result();
  result.digest = "a,\"b\"\n";
  const std::string csv = run_csv(result_tree(result));
  EXPECT_TRUE(csv.ends_with(",\"a,\"\"b\"\"\n\"\n")) << csv;
}

// Rows with one rank and with several go into one table.
TEST(SummaryCsv, HasTheDeploymentsColumnsInEveryRow) {
  RunResult result = example_result();
  const std::string one = run_csv(result_tree(result));
  result.deployment.emplace();
  result.deployment->data_parallel_size = 8;
  result.deployment->request_throughput = 12.5;
  const std::string eight = run_csv(result_tree(result));
  EXPECT_EQ(one.substr(0, one.find('\n')), eight.substr(0, eight.find('\n')));
  EXPECT_EQ(cell(one, "deployment.request_throughput"), "");
  EXPECT_EQ(cell(eight, "deployment.request_throughput"), "12.5");
  EXPECT_EQ(cell(eight, "deployment.data_parallel_size"), "8");
}

}  // namespace
}  // namespace ridgeline::verbs
