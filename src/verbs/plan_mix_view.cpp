#include "verbs/plan_mix_view.hpp"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/node_path.hpp"
#include "report/chart/figure.hpp"
#include "report/format.hpp"
#include "report/html_page.hpp"
#include "report/table/sheet.hpp"
#include "report/table/table.hpp"

namespace ridgeline::verbs {
namespace {

using document::MapBuilder;
using document::Node;
using report::text_at;
using report::figures::number_at;

bool counts_gpus(const Node& tree) {
  return text_at(tree, "question.objective") == "gpus";
}

std::string cost_text(const Node& tree, double cost) {
  return counts_gpus(tree) ? fmt::format("{:.0f} GPUs", cost) : fmt::format("{:.2f} USD/h", cost);
}

/// "2 × h100 TP2"
std::string replicas_text(const Node& some) {
  return fmt::format("{:.0f} × {}", number_at(some, "replicas"), text_at(some, "deployment"));
}

std::vector<std::string> texts_of(const report::Rows& rows) {
  std::vector<std::string> texts;
  for (const Node* const row : rows) {
    texts.push_back(row->as_string());
  }
  return texts;
}

std::vector<std::string> class_names(const Node& tree) {
  std::vector<std::string> names;
  for (const Node* const one : report::rows_at(tree, "question.classes")) {
    names.push_back(text_at(*one, "name"));
  }
  return names;
}

std::string headline_of(const Node& tree) {
  std::vector<std::string> classes;
  for (const Node* const one : report::rows_at(tree, "question.classes")) {
    classes.push_back(
        fmt::format("{} {:.4g} req/s", text_at(*one, "name"), number_at(*one, "rate_rps")));
  }
  return fmt::format("{}; {}; {} at ≥ {:.3g} %",
                     fmt::join(classes, ", "),
                     fmt::join(texts_of(report::rows_at(tree, "question.slo")), ", "),
                     counts_gpus(tree) ? "fewest GPUs" : "least USD/h",
                     number_at(tree, "question.confidence") * 100.0);
}

report::TableView pools_view(const Node& tree) {
  report::TableView view{
      .missing = "",
      .columns = {{.title = "", .path = "place", .right = true},
                  {.title = "pool", .path = "pool", .shrink = 1},
                  {.title = "GPUs", .path = "gpus", .format = report::Format::kFixed0}}};
  const auto add = [&](std::string title, std::string path) {
    view.columns.push_back({.title = std::move(title), .path = std::move(path), .right = true});
  };
  add(counts_gpus(tree) ? "" : "USD/h", "usd_per_hour");
  view.columns.push_back({.title = "serves", .path = "serves", .shrink = 2});
  add("req/s", "rate");
  const std::vector<std::string> targets = texts_of(report::rows_at(tree, "question.slo"));
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const std::size_t limit = targets[i].find(" <= ");
    add(limit == std::string::npos ? "over" : targets[i].substr(0, limit),
        fmt::format("target {}", i + 1));
  }
  add("sure", "sure");
  return view;
}

std::vector<Node> pool_rows(const Node& tree) {
  const std::vector<std::string> classes = class_names(tree);
  std::vector<Node> rows;
  for (const Node* const pool : report::rows_at(tree, "mix.pools")) {
    MapBuilder row;
    row.add("place", fmt::format("{}", rows.size() + 1))
        .add("pool", replicas_text(*pool))
        .add("gpus", node_at(*pool, "gpus"))
        .add("usd_per_hour",
             counts_gpus(tree) ? std::string() : fmt::format("{:.2f}", number_at(*pool, "cost")))
        .add("serves", served_text(report::figures::numbers_at(*pool, "shares"), classes))
        .add("rate", report::significant(number_at(*pool, "rate_rps")));
    const report::Rows results = report::rows_at(*pool, "slo");
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Node& value = node_at(*results[i], "value");
      row.add(fmt::format("target {}", i + 1),
              value.is_null() ? report::percent(number_at(*results[i], "exceed_share"))
                              : fmt::format("{} ms", report::significant(value.as_real())));
    }
    row.add("sure",
            node_at(*pool, "bound").is_null()
                ? fmt::format("{:.0f} %", number_at(*pool, "p_feasible") * 100.0)
                : "at best");
    rows.push_back(row);
  }
  return rows;
}

/// What the mix costs, what one deployment for all classes would, and which pools are bounds.
void add_costs(const Node& tree, report::Sheet& sheet) {
  std::string compared = fmt::format("mix {}", cost_text(tree, number_at(tree, "mix.cost")));
  if (const Node& alone = node_at(tree, "mix.alone"); !alone.is_null()) {
    compared += fmt::format("; one deployment for all classes, by the same estimate: {}, {}",
                            replicas_text(alone),
                            cost_text(tree, number_at(alone, "cost")));
  }
  sheet.sentence(std::move(compared));
  const report::Rows pools = report::rows_at(tree, "mix.pools");
  for (std::size_t i = 0; i < pools.size(); ++i) {
    if (const std::string bound = text_at(*pools[i], "bound"); !bound.empty()) {
      sheet.sentence(fmt::format("pool {} at best: {}", i + 1, bound));
    }
  }
}

}  // namespace

std::string served_text(const std::vector<double>& shares,
                        const std::vector<std::string>& classes) {
  std::vector<std::string> serves;
  for (std::size_t c = 0; c < shares.size(); ++c) {
    if (shares[c] > 0.0) {
      serves.push_back(fmt::format("{:.0f} % of {}", shares[c] * 100.0, classes[c]));
    }
  }
  return fmt::format("{}", fmt::join(serves, ", "));
}

report::Sheet mix_sheet(const Node& tree) {
  report::Sheet sheet("Mix");
  sheet.sentence(headline_of(tree)).gap();
  if (node_at(tree, "partial").describe() == "true") {
    sheet.row("Interrupted before the mix was certified.");
    return sheet;
  }
  if (std::vector<Node> rows = pool_rows(tree); !rows.empty()) {
    sheet.table(pools_view(tree), std::move(rows)).gap();
  }
  if (const std::string failure = text_at(tree, "mix.failure"); !failure.empty()) {
    sheet.sentence(failure);
  } else {
    add_costs(tree, sheet);
  }
  sheet.sentence(
      fmt::format("{} compared, {} simulated",
                  report::counted(std::ssize(report::rows_at(tree, "candidates")), "deployment"),
                  report::counted(static_cast<std::int64_t>(number_at(tree, "requests_simulated")),
                                  "request")));
  const report::Rows files = report::rows_at(tree, "mix.files");
  if (!files.empty()) {
    sheet.gap();
  }
  for (const std::string& file : texts_of(files)) {
    sheet.row(file);
  }
  const core::Warnings warnings = document::warnings_of(node_at(tree, "warnings"));
  return std::move(warnings.empty() ? sheet : sheet.gap().warnings(warnings));
}

}  // namespace ridgeline::verbs
