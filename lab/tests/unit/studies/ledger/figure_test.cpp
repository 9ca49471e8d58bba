#include "lab/studies/ledger/figure.hpp"

#include <string>

#include <gtest/gtest.h>

#include "document/document.hpp"

namespace ridgeline::studies {
namespace {

document::Node figure_tree() {
  return document::parse_json(R"({"a": {"b": [3, 5]},
      "rows": [{"k": 1, "s": "x", "v": 10}, {"k": 2, "s": "x", "v": 30}, {"k": 2, "s": "y", "v": 5}],
      "name": "n"})",
                              "tree")
      .value();
}

double figure_number(const char* at) {
  return find_figure(figure_tree(), at).value().as_real();
}

std::string figure_problem(const char* at) {
  const auto found = find_figure(figure_tree(), at);
  return found ? "none" : found.error().front().message;
}

TEST(Figure, FollowsPaths) {
  EXPECT_EQ(figure_number("a/b/1"), 5.0);
  EXPECT_EQ(find_figure(figure_tree(), "name").value().as_string(), "n");
  EXPECT_EQ(figure_number("rows/k=2/v"), 30.0);
  EXPECT_EQ(figure_number("rows/k=2&s=y/v"), 5.0);
}

TEST(Figure, GathersLists) {
  EXPECT_EQ(figure_number("rows/length"), 3.0);
  EXPECT_EQ(figure_number("rows/sum(v)"), 45.0);
  EXPECT_EQ(figure_number("rows/max(v)"), 30.0);
  EXPECT_EQ(figure_number("rows/min(v)"), 5.0);
  EXPECT_EQ(figure_number("rows/count(s=x)"), 2.0);
  EXPECT_EQ(figure_number("rows/all(s=x)/length"), 2.0);
  EXPECT_EQ(figure_number("rows/all(k=2)/max(v)"), 30.0);
}

TEST(Figure, AddsAndCompares) {
  EXPECT_EQ(figure_number("100 * ({rows/0/v} / {a/b/1} - 1)"), 100.0);
  EXPECT_EQ(figure_number("2 * 3 + 8 / 4 - 1"), 7.0);
  EXPECT_NEAR(figure_number("989.5e12 * 4.222"), 4.178e15, 1e12);
  EXPECT_TRUE(find_figure(figure_tree(), "{a/b/0} < {a/b/1}").value().as_bool());
  EXPECT_FALSE(find_figure(figure_tree(), "{a/b/0} = {a/b/1}").value().as_bool());
}

TEST(Figure, NamesWhatIsMissing) {
  EXPECT_EQ(figure_problem("a/c"), "the output has no 'c' of 'a/c'");
  EXPECT_EQ(figure_problem("rows/k=7/v"), "the output has no 'k=7' of 'rows/k=7/v'");
  EXPECT_EQ(figure_problem("a/b/2"), "the output has no '2' of 'a/b/2'");
  EXPECT_EQ(figure_problem("rows/sum(w)"), "the output has no 'sum(w)' of 'rows/sum(w)'");
  EXPECT_EQ(figure_problem("1 + {name}"), "found \"n\", expected a number");
  EXPECT_EQ(figure_problem("1 + (2 * 3"), "expected ')'");
  EXPECT_EQ(figure_problem("1 * 2 3"), "unexpected '3'");
  EXPECT_EQ(figure_problem("1 * x"), "expected a number at 'x'");
}

}  // namespace
}  // namespace ridgeline::studies
