#include "verbs/validate_view.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/node_path.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/scores.hpp"
#include "report/chart/figure.hpp"
#include "report/chart/marks.hpp"
#include "report/format.hpp"
#include "report/html_page.hpp"
#include "report/palette.hpp"
#include "report/table/table.hpp"
#include "report/warning_lines.hpp"
#include "verbs/experiment_view.hpp"

namespace ridgeline::verbs {
namespace {

using document::MapBuilder;
using document::Node;
using evidence::validate::kFigureNames;
using report::figures::number_at;

/// Records named as outliers, at least and at most.
constexpr std::size_t kFewestOutliers = 8;
constexpr std::size_t kMostOutliers = 40;
constexpr std::size_t kNameWidth = 46;
constexpr auto kTerminal = report::Column::On::kTerminal;
constexpr auto kPages = report::Column::On::kPages;

report::Column column(std::string title,
                      std::string path,
                      report::Format format = report::Format::kText) {
  return {.title = std::move(title), .path = std::move(path), .format = format};
}

/// "89 / 93": by deployments and by records.
report::Column inside_column(std::string title, const std::string& band) {
  const auto cell = [band](const Node& row) {
    return fmt::format("{:.0f} / {:.0f}",
                       number_at(row, fmt::format("inside_{}_pct", band)),
                       number_at(row, fmt::format("inside_{}_records_pct", band)));
  };
  return {.title = std::move(title), .cell = cell, .right = true};
}

std::string place_of(const Node& score) {
  return report::text_at(score, "axis") + " " + report::text_at(score, "value");
}
std::string owner_of(const Node& row) {
  return node_at(row, "fitted").describe() == "true" ? "measured" : "unseen";
}

const report::TableView kScores{
    .title = "Absolute errors",
    .about = "In percent.",
    .columns = {
        {.title = "absolute error, %", .cell = place_of, .on = kTerminal, .most = kNameWidth},
        {.title = "axis", .path = "axis", .on = kPages},
        {.title = "value", .path = "value", .on = kPages},
        column("metric", "metric"),
        column("of", "statistic"),
        column("n", "n", report::Format::kFixed0),
        column("median", "median_abs_pct", report::Format::kFixed2),
        column("mean", "mean_abs_pct", report::Format::kFixed2),
        column("p95", "p95_abs_pct", report::Format::kFixed2),
        column("p99", "p99_abs_pct", report::Format::kFixed2),
        column("signed", "mean_signed_pct", report::Format::kSigned2)}};

const report::TableView kPeers{
    .title = "Others on the same records",
    .columns = {{.title = "simulator", .path = "simulator", .terminal = "on the same records, %"},
                column("metric", "metric"),
                {.title = "of", .path = "statistic", .on = kPages},
                column("n", "n", report::Format::kFixed0),
                column("median", "median_abs_pct", report::Format::kFixed1),
                column("mean", "mean_abs_pct", report::Format::kFixed1),
                column("ours, median", "our_median_abs_pct", report::Format::kFixed2),
                column("ours, mean", "our_mean_abs_pct", report::Format::kFixed2)}};

const report::TableView kStarts{
    .title = "Starts of servers",
    .missing = "-",
    .columns = {{.title = "record", .path = "record", .terminal = "starts of servers"},
                column("part", "part"),
                column("measured", "measured", report::Format::kSignificant),
                column("predicted", "predicted", report::Format::kSignificant),
                column("error, %", "error", report::Format::kSigned1)}};

const report::TableView kCoverage{
    .title = "Within the error bands",
    .columns = {column("error bands", "metric"),
                column("slice", "slice"),
                {.title = "its own", .cell = owner_of},
                column("deployments", "groups", report::Format::kFixed0),
                column("records", "records", report::Format::kFixed0),
                inside_column("in 90 %, %", "p90"),
                inside_column("in 50 %, %", "p50"),
                column("half width %", "median_half_width_pct", report::Format::kFixed0)}};

report::TableView lines_view() {
  report::TableView view;
  for (const char* key : {"id",
                          "family",
                          "model",
                          "gpu",
                          "tp",
                          "stage",
                          "standing",
                          "metric",
                          "statistic",
                          "measured",
                          "predicted",
                          "error_pct"}) {
    view.columns.push_back(column(key, key));
  }
  return view;
}

bool is(const Node& row, std::string_view key, std::string_view word) {
  return report::text_at(row, key) == word;
}

/// The rows of the axes that a person looks at first: all, family, model, gpu and, where the front
/// end decides some record, bound. A terminal has of these the means, and of e2e the p99; and the
/// kinds of work that are predicted worst.
report::Rows score_rows(const Node& tree, report::Face face) {
  report::Rows rows = report::rows_at(tree, "scores");
  const std::string metric = report::text_at(tree, "metric");
  if (const std::string by = report::text_at(tree, "by"); !by.empty() || !metric.empty()) {
    std::erase_if(rows, [&](const Node* row) {
      return !(is(*row, "axis", "all") || is(*row, "axis", by)) || !is(*row, "statistic", "mean") ||
             !(metric.empty() || is(*row, "metric", metric));
    });
    return rows;
  }
  const report::Rows all = rows;
  const bool has_bound = std::ranges::any_of(all, [](const Node* row) {
    return is(*row, "axis", "bound") && !is(*row, "value", "engine");
  });
  const auto is_one_of = [](const Node& row, std::initializer_list<std::string_view> axes) {
    return std::ranges::find(axes, report::text_at(row, "axis")) != axes.end();
  };
  const auto has_mean = [&](const Node& row) {
    return std::ranges::any_of(all, [&](const Node* other) {
      return is(*other, "statistic", "mean") &&
             is(*other, "metric", report::text_at(row, "metric")) &&
             is(*other, "axis", report::text_at(row, "axis")) &&
             is(*other, "value", report::text_at(row, "value"));
    });
  };
  std::erase_if(rows, [&](const Node* row) {
    const bool is_headline = is_one_of(*row, {"all", "family", "model", "gpu"}) ||
                             (has_bound && is(*row, "axis", "bound"));
    if (face != report::Face::kTerminal) {
      return !is_headline;
    }
    const bool is_mean = is(*row, "statistic", "mean");
    const bool is_e2e = is(*row, "metric", "e2e");
    const bool is_shown = is_mean || (is_e2e && is(*row, "statistic", "p99")) ||
                          (is(*row, "statistic", "p50") && !has_mean(*row));
    const bool is_work = is_mean && is_e2e && is_one_of(*row, {"phase", "batch", "context"});
    return !is_work && !(is_headline && is_shown);
  });
  return rows;
}

report::Rows peer_rows(const Node& tree, report::Face face) {
  report::Rows rows = report::rows_at(tree, "peers");
  std::erase_if(rows, [&](const Node* row) {
    return face == report::Face::kTerminal && !is(*row, "statistic", "mean");
  });
  return rows;
}

evidence::validate::Figure figure_named(std::string_view name) {
  const auto at = std::ranges::find(kFigureNames, name) - kFigureNames.begin();
  return static_cast<evidence::validate::Figure>(at);
}

bool is_start_part(std::string_view figure) {
  return is_of_start(figure_named(figure));
}

/// The starts of servers, part by part.
std::vector<Node> starts(const Node& tree) {
  std::vector<Node> parts;
  for (const Node* record : report::rows_at(tree, "records")) {
    for (const auto& [figure, levels, where] : members_at(*record, "measured")) {
      if (const Node* measured = levels.find("mean");
          measured != nullptr && is_start_part(figure)) {
        const auto beside = [&](std::string_view key) {
          return node_at(*record, fmt::format("{}.{}.mean", key, figure));
        };
        parts.push_back(MapBuilder()
                            .add("record", report::text_at(*record, "id"))
                            .add("part", figure)
                            .add("measured", *measured)
                            .add("predicted", beside("predicted"))
                            .add("error", beside("error_pct")));
      }
    }
  }
  return parts;
}

/// A record's numbers, one after the other; of one without a prediction what it is.
std::vector<Node> lines_of(const Node& tree) {
  std::vector<Node> lines;
  for (const Node* record : report::rows_at(tree, "records")) {
    const auto head = [&] {
      MapBuilder map;
      for (const char* key : {"id", "family", "model", "gpu", "tp", "stage", "standing"}) {
        map.add(key, node_at(*record, key));
      }
      return map;
    };
    const auto errors = members_at(*record, "error_pct");
    if (errors.empty()) {
      lines.push_back(head());
      continue;
    }
    for (const auto& [figure, levels, where] : errors) {
      for (const auto& [level, error, place] : members_at(levels, "")) {
        const std::string path = fmt::format("{}.{}", figure, level);
        lines.push_back(head()
                            .add("metric", figure)
                            .add("statistic", level)
                            .add("measured", node_at(node_at(*record, "measured"), path))
                            .add("predicted", node_at(node_at(*record, "predicted"), path))
                            .add("error_pct", error));
      }
    }
  }
  return lines;
}

struct Outlier {
  const Node* record = nullptr;
  std::string figure = {};
  double error = 0.0;
};

/// The scored records by the worst of their means.
std::vector<Outlier> worst_means(const Node& tree) {
  std::vector<Outlier> outliers;
  for (const Node* record : report::rows_at(tree, "records")) {
    Outlier worst{.record = record};
    if (is(*record, "standing", "scored")) {
      for (const auto& [figure, levels, where] : members_at(*record, "error_pct")) {
        const double error = number_at(levels, "mean");
        if (std::abs(error) > std::abs(worst.error) && !is_of_server(figure_named(figure))) {
          worst = {.record = record, .figure = figure, .error = error};
        }
      }
    }
    if (worst.error != 0.0) {
      outliers.push_back(worst);
    }
  }
  std::ranges::stable_sort(
      outliers, std::greater(), [](const Outlier& one) { return std::abs(one.error); });
  return outliers;
}

/// The records whose worst mean is off by more than kGrossError; where few are, the next worst too.
std::string outliers_text(const Node& tree, const report::TextStyle& style) {
  constexpr double kGross = evidence::validate::kGrossError;
  const std::vector<Outlier> outliers = worst_means(tree);
  const std::size_t gross = report::rows_at(tree, "outliers").size();
  const std::size_t shown =
      std::min(outliers.size(), std::clamp(gross, kFewestOutliers, kMostOutliers));
  std::string text = outliers.empty() ? ""
                                      : fmt::format("\nlargest errors; {} of {} over {:.0f} %\n",
                                                    gross,
                                                    report::counted(std::ssize(outliers), "record"),
                                                    kGross);
  for (std::size_t i = 0; i < shown; ++i) {
    text += fmt::format("  {:>+7.1f} % {:<6} {}\n",
                        outliers[i].error,
                        outliers[i].figure,
                        report::printable(report::text_at(*outliers[i].record, "id"), style.ascii));
  }
  if (gross > shown) {
    text += fmt::format("  and {} more over {:.0f} %: outliers in JSON\n", gross - shown, kGross);
  }
  return text;
}

/// The records that were not scored, those of one reason on one line.
std::string not_scored_text(const Node& tree, const report::TextStyle& style) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const Node* record : report::rows_at(tree, "records")) {
    if (is(*record, "standing", "scored")) {
      continue;
    }
    std::string reason = fmt::format(
        "{}: {}", report::text_at(*record, "standing"), report::text_at(*record, "reason"));
    auto known = std::ranges::find(reasons, reason, [](const auto& pair) { return pair.first; });
    if (known == reasons.end()) {
      known = reasons.emplace(known, std::move(reason), std::vector<std::string>());
    }
    known->second.push_back(report::text_at(*record, "id"));
  }
  std::string text;
  for (const auto& [reason, ids] : reasons) {
    text += fmt::format("  {:>4} {} ({}{})\n",
                        ids.size(),
                        report::printable(reason, style.ascii),
                        report::printable(ids.front(), style.ascii),
                        ids.size() > 1 ? ", ..." : "");
  }
  return text.empty() ? text : "\nnot among the scored\n" + text;
}

/// "207 records: 194 scored, 13 saturated, ...": what became of them.
std::string standings_text(const Node& tree) {
  std::string text;
  for (const auto& [standing, node, where] : members_at(tree, "counts")) {
    const std::int64_t count = node.is_number() ? std::llround(node.as_real()) : 0;
    text += text.empty() ? report::counted(count, "record") + ":"
                         : fmt::format("{} {} {}", text.ends_with(':') ? "" : ",", count, standing);
  }
  return text;
}

/// Names of a server's start end in their units.
std::string_view unit_of(std::string_view figure) {
  return is_start_part(figure)                 ? "of starts"
         : figure == "output_throughput"       ? "tokens/s"
         : figure == "watts_per_gpu"           ? "W"
         : figure == "joules_per_output_token" ? "J"
                                               : "ms";
}

/// A record's mean of one figure, measured and predicted.
struct Point {
  std::string id;
  double measured = 0.0;
  double predicted = 0.0;
  double error = 0.0;
  bool is_scored = true;
};

/// Those that a logarithmic axis has, the worst predicted first.
std::vector<Point> points_of(const Node& tree, const std::string& figure) {
  std::vector<Point> points;
  for (const Node* record : report::rows_at(tree, "records")) {
    const std::string mean = figure + ".mean";
    const Node& error = node_at(node_at(*record, "error_pct"), mean);
    const double measured = number_at(*record, "measured." + mean);
    const double predicted = number_at(*record, "predicted." + mean);
    if (error.is_number() && measured > 0.0 && predicted > 0.0) {
      points.push_back({.id = report::text_at(*record, "id"),
                        .measured = measured,
                        .predicted = predicted,
                        .error = error.as_real(),
                        .is_scored = is(*record, "standing", "scored")});
    }
  }
  std::ranges::stable_sort(
      points, std::greater(), [](const Point& point) { return std::abs(point.error); });
  return points;
}

void draw_point(const Point& point,
                bool is_named,
                const report::figures::Scale& x,
                const report::figures::Scale& y,
                report::figures::Canvas& canvas) {
  constexpr double kMark = 3.5;  ///< Half a side.
  const report::figures::Spot at = {.x = x.pixel(point.measured), .y = y.pixel(point.predicted)};
  canvas.bar({.x = at.x - kMark, .y = at.y - kMark},
             {.x = at.x + kMark, .y = at.y + kMark},
             point.is_scored ? "fa" : "fb",
             fmt::format("{}: measured {:.4g}, predicted {:.4g}, {:+.1f} %",
                         point.id,
                         point.measured,
                         point.predicted,
                         point.error));
  if (is_named) {
    const bool is_right = at.x > (x.start + x.end) / 2.0;
    canvas.text({.x = at.x + (is_right ? -6.0 : 6.0), .y = at.y + 3.0},
                is_right ? "end" : "start",
                "quiet",
                fmt::format("{} {:+.0f} %", point.id, point.error));
  }
}

/// Predicted over measured means of one figure, on axes of one logarithmic range.
report::figures::Figure scatter(const Node& tree, const std::string& name) {
  constexpr double kTop = 20.0;
  constexpr double kBottom = 420.0;
  constexpr std::size_t kNamed = 5;       ///< Points with their names beside them.
  constexpr std::size_t kMostRows = 100;  ///< Rows of the table.
  report::figures::Figure figure{
      .id = name,
      .title = fmt::format("{} mean, {}: predicted over measured", name, unit_of(name)),
      .caption = "Orange: saturated or contradicted. Dashed: 10 % off. The worst are named.",
      .head = {"record", "measured", "predicted", "error, %"}};
  const std::vector<Point> points = points_of(tree, name);
  if (points.empty()) {
    return figure;
  }
  double lowest = points.front().measured;
  double highest = lowest;
  for (const Point& point : points) {
    lowest = std::min({lowest, point.measured, point.predicted});
    highest = std::max({highest, point.measured, point.predicted});
  }
  report::figures::Canvas canvas(report::figures::kPictureWidth, kBottom + 44.0);
  const auto x = report::figures::Scale::logarithmic(
      lowest, highest, report::figures::kPlotLeft, report::figures::kPlotRight);
  const auto y = report::figures::Scale::logarithmic(lowest, highest, kBottom, kTop);
  canvas.axis_left(y, report::figures::kPlotLeft, report::figures::kPlotRight);
  canvas.axis_below(x, kBottom, kTop, "measured");
  for (const double factor : {1.0, 1.1, 1.0 / 1.1}) {
    const double low = std::max(x.low, x.low / factor);
    const double high = std::min(x.high, x.high / factor);
    canvas.line({.x = x.pixel(low), .y = y.pixel(low * factor)},
                {.x = x.pixel(high), .y = y.pixel(high * factor)},
                factor == 1.0 ? "frame" : "target");
  }
  for (std::size_t i = points.size(); i-- > 0;) {
    draw_point(points[i], i < kNamed, x, y, canvas);
  }
  for (std::size_t i = 0; i < std::min(points.size(), kMostRows); ++i) {
    figure.rows.push_back({points[i].id,
                           report::significant(points[i].measured),
                           report::significant(points[i].predicted),
                           fmt::format("{:+.1f}", points[i].error)});
  }
  figure.description = fmt::format("{}.", report::counted(std::ssize(points), "record"));
  figure.draw(canvas);
  return figure;
}

std::string opening(const Node& tree, report::Face face) {
  if (face == report::Face::kTerminal) {
    return {};
  }
  const std::string standings = standings_text(tree);
  if (face == report::Face::kMarkdown) {
    return fmt::format("# Predicted and measured\n\n{}. Absolute errors in percent.\n\n",
                       standings);
  }
  std::string page =
      report::page_opening("Predicted and measured") + fmt::format("<p>{}.</p>\n", standings);
  for (const char* name : kFigureNames) {
    if (const report::figures::Figure figure = scatter(tree, name); !figure.marks.empty()) {
      page += report::figure_section(figure);
    }
  }
  return page;
}

std::string coverage_text(const Node& tree, report::Face face, const report::TextStyle& style) {
  const std::string none = report::text_at(tree, "no_coverage");
  const report::TableView& view = kCoverage;
  if (none.empty()) {
    return report::section(view, report::rows_at(tree, "coverage"), face, style);
  }
  return face == report::Face::kTerminal ? fmt::format("\nerror bands: none: {}\n", none)
         : face == report::Face::kMarkdown
             ? fmt::format("\n## {}\n\nNone: {}.\n", view.title, none)
             : fmt::format("<h2>{}</h2>\n<p>None: {}.</p>\n", view.title, none);
}

AddSections& added_by() {
  static AddSections add = nullptr;
  return add;
}

}  // namespace

void add_to_validations(AddSections add) {
  added_by() = add;
}

std::string validation_text(const Node& tree, report::Face face, const report::TextStyle& style) {
  if (face == report::Face::kCsv) {
    return report::render(lines_view(), report::rows_of(lines_of(tree)), face, style);
  }
  const AddedSections added =
      added_by() == nullptr ? AddedSections{} : added_by()(tree, face, style);
  const report::Rows scores = score_rows(tree, face);
  std::string text = opening(tree, face) + (face == report::Face::kHtml
                                                ? report::section(kScores, scores, face, style)
                                                : report::render(kScores, scores, face, style));
  if (const double derived = number_at(tree, "derived_e2e"); derived > 0.0) {
    text += fmt::format(
        "{}e2e of {:.0f} records is TTFT + (output tokens - 1) x TPOT: they have no E2E.{}\n",
        face == report::Face::kHtml ? "<p>" : "\n",
        derived,
        face == report::Face::kHtml ? "</p>" : "");
  }
  text += sides_text(tree, face, style);
  const std::vector<Node> parts = starts(tree);
  text += report::section(kStarts, report::rows_of(parts), face, style) +
          report::section(kPeers, peer_rows(tree, face), face, style) + added.behind_peers +
          coverage_text(tree, face, style) + added.behind_coverage;
  if (face == report::Face::kTerminal) {
    const core::Warnings warnings = document::warnings_of(node_at(tree, "warnings"));
    return text + read_text(tree, style) + outliers_text(tree, style) +
           not_scored_text(tree, style) +
           (warnings.empty() ? "" : "\n" + report::warning_lines(warnings, style)) +
           fmt::format("\n{}\n", standings_text(tree));
  }
  return face == report::Face::kHtml ? text + report::page_closing("") : text;
}

}  // namespace ridgeline::verbs
