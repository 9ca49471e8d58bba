#include "lab/pages/records.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/node_path.hpp"
#include "lab/scoring/ablation.hpp"
#include "lab/scoring/evidence_words.hpp"
#include "lab/scoring/findings.hpp"
#include "lab/scoring/left_out_bands.hpp"
#include "lab/scoring/left_out_row.hpp"
#include "lab/scoring/ranking.hpp"
#include "latency/accuracy/bands.hpp"
#include "report/chart/figure.hpp"
#include "report/format.hpp"
#include "report/html_page.hpp"
#include "report/palette.hpp"
#include "report/table/table.hpp"

namespace ridgeline::report {
namespace {

using document::list_of;
using document::MapBuilder;
using document::Node;
using figures::number_at;

constexpr auto kTerminal = Column::On::kTerminal;

Column column(std::string title, std::string path, Format format = Format::kText) {
  return {.title = std::move(title), .path = std::move(path), .format = format};
}

Node pair_node(const std::optional<scoring::ScoreRow>& row) {
  return row ? MapBuilder()
                   .add("median_abs_pct", row->median_abs)
                   .add("mean_abs_pct", row->mean_abs)
                   .build()
             : Node();
}

Node ablation_node(const scoring::AblationRow& row) {
  return MapBuilder()
      .add("variant", row.variant)
      .add("records", row.records)
      .add("e2e", pair_node(row.e2e))
      .add("ttft", pair_node(row.ttft))
      .add("tpot", pair_node(row.tpot));
}

Node left_out_node(const scoring::LeftOutRow& row) {
  MapBuilder map;
  map.add("value", row.value).add("records", row.records);
  for (std::size_t i = 0; i < row.seen.size(); ++i) {
    constexpr std::array<std::string_view, 3> kNames = {"e2e", "ttft", "tpot"};
    map.add(kNames[i], pair_node(row.seen[i]))
        .add(fmt::format("{}_without", kNames[i]), pair_node(row.unseen[i]));
  }
  if (row.fitted.empty()) {
    return map.add("changed_most", row.changed_most).add("changed_pct", row.largest_change_pct);
  }
  return map.add("fitted", row.fitted);
}

Node ranking_row_node(const scoring::RankingRow& row) {
  return MapBuilder()
      .add("group", row.group)
      .add("points", row.points)
      .add("deployments", row.deployments)
      .add("picks", row.picks)
      .add("violations", row.violations)
      .add("violations_pct", row.violations_pct())
      .add("worst_over_pct", row.worst_over_pct)
      .add("regret_mean_pct", row.mean_regret_pct)
      .add("regret_p90_pct", row.p90_regret_pct)
      .add("regret_max_pct", row.max_regret_pct)
      .add("one_sided", row.one_sided);
}

Node ranking_node(const scoring::Ranking& ranking) {
  return MapBuilder()
      .add("tpot_limits_ms", list_of(scoring::kTpotLimits, document::number_node))
      .add("ttft_limits_ms", list_of(scoring::kTtftLimits, document::number_node))
      .add("by_confidence",
           list_of(ranking.by_confidence,
                   [](const scoring::RankingAt& at) -> Node {
                     return MapBuilder()
                         .add("confidence", at.confidence)
                         .add("all", ranking_row_node(at.all))
                         .add("groups", list_of(at.groups, ranking_row_node));
                   }))
      .add("calibration",
           list_of(ranking.bins,
                   [](const scoring::SureBin& bin) -> Node {
                     return MapBuilder()
                         .add("from", bin.from)
                         .add("to", bin.to)
                         .add("picks", bin.picks)
                         .add("said", bin.said)
                         .add("held", bin.held)
                         .add("deployments", bin.deployments)
                         .add("held_by_deployment", bin.held_by_deployment)
                         .add("calibrated", bin.calibrated());
                   }))
      .add("small_groups", ranking.small_groups)
      .add("bands", ranking.by == scoring::BandsOf::kShipped ? "shipped" : "left_out")
      .add("without_band", ranking.without_band);
}

/// "0.52 / 1.20": median and mean, of what stands at a key.
Column pair_column(std::string title, const std::string& key) {
  const auto cell = [key](const Node& row) {
    const Node& pair = node_at(row, key);
    return pair.is_null() ? std::string("-")
                          : fmt::format("{:.2f} / {:.2f}",
                                        number_at(pair, "median_abs_pct"),
                                        number_at(pair, "mean_abs_pct"));
  };
  return {.title = std::move(title), .cell = cell, .right = true};
}

std::string changed(const Node& row) {
  return row.find("fitted") != nullptr
             ? text_at(row, "fitted")
             : fmt::format(
                   "{} {:+.0f} %", text_at(row, "changed_most"), number_at(row, "changed_pct"));
}
const TableView kAblation{.title = "What each element is worth",
                          .about = "Median / mean of the absolute error of the mean.",
                          .columns = {column("variant", "variant"),
                                      column("records", "records", Format::kFixed0),
                                      pair_column("e2e", "e2e"),
                                      pair_column("ttft", "ttft"),
                                      pair_column("tpot", "tpot")}};

const TableView kLeftOut{
    .title = "Left out",
    .about =
        "Median / mean of the absolute error of the mean; without it: with constants refitted "
        "to all others' runs.",
    .columns = {column("left out", "value"),
                column("records", "records", Format::kFixed0),
                pair_column("e2e", "e2e"),
                pair_column("without it", "e2e_without"),
                pair_column("ttft", "ttft"),
                pair_column("without it", "ttft_without"),
                pair_column("tpot", "tpot"),
                pair_column("without it", "tpot_without"),
                {.title = "changed most", .cell = changed, .on = kTerminal}}};

constexpr std::size_t kGroupWidth = 52;

std::int64_t count_at(const Node& row, std::string_view key) {
  return std::llround(number_at(row, key));
}

std::string row_text(const Node& row, const TextStyle& style) {
  const std::int64_t broken = count_at(row, "violations");
  return fmt::format(
      "{} {:>6} {:>5} {:>9} {:>6.2f} {:>6.1f} {:>6.1f} {:>10} {:>9}\n",
      pad_right(shortened(printable(text_at(row, "group"), style.ascii), kGroupWidth, style.ascii),
                kGroupWidth),
      count_at(row, "points"),
      count_at(row, "deployments"),
      count_at(row, "picks"),
      number_at(row, "regret_mean_pct"),
      number_at(row, "regret_p90_pct"),
      number_at(row, "regret_max_pct"),
      broken == 0 ? std::string("0")
                  : fmt::format("{} ({:.0f})", broken, number_at(row, "worst_over_pct")),
      count_at(row, "one_sided"));
}

std::string bands_words(const Node& ranking) {
  std::string words =
      text_at(ranking, "bands") == "shipped"
          ? fmt::format(
                "the bands that results are shown with, as these records are of too few "
                "deployments for their own ({}); records that made those bands judge themselves",
                accuracy::kFewestGroups)
          : "error bands of the other deployments";
  if (const std::int64_t without = count_at(ranking, "without_band"); without > 0) {
    words += fmt::format("; {} without one, never picked", counted(without, "point"));
  }
  return words;
}

std::string ranking_text(const Node& ranking, const TextStyle& style) {
  std::string text;
  for (const Node* at : rows_at(ranking, "by_confidence")) {
    text += fmt::format(
        "\n{} {:>6} {:>5} {:>9} {:>6} {:>6} {:>6} {:>10} {:>9}\n",
        pad_right(fmt::format("ranking at {:.0f} %: regret, %", 100 * number_at(*at, "confidence")),
                  kGroupWidth),
        "points",
        "kinds",
        "picks",
        "mean",
        "p90",
        "max",
        "broken (%)",
        "one side");
    for (const Node* row : rows_at(*at, "groups")) {
      text += row_text(*row, style);
    }
    text += row_text(node_at(*at, "all"), style);
    text +=
        fmt::format("{:.1f} % of the picks break a limit\n", number_at(*at, "all.violations_pct"));
  }
  text += fmt::format(
      "\nhow sure: by {}\nsure of a pick, %   picks   said   held   deployments   held\n",
      bands_words(ranking));
  for (const Node* bin : rows_at(ranking, "calibration")) {
    text += fmt::format("{:>3.0f} to {:<12.0f} {:>5} {:>6.1f} {:>6.1f} {:>13} {:>6.1f}{}\n",
                        100 * number_at(*bin, "from"),
                        100 * number_at(*bin, "to"),
                        count_at(*bin, "picks"),
                        100 * number_at(*bin, "said"),
                        100 * number_at(*bin, "held"),
                        count_at(*bin, "deployments"),
                        100 * number_at(*bin, "held_by_deployment"),
                        node_at(*bin, "calibrated").as_bool() ? "" : "   off");
  }
  return text;
}

std::string ranking_markdown(const Node& ranking) {
  std::string text;
  for (const Node* at : rows_at(ranking, "by_confidence")) {
    text += fmt::format(
        "\n## Ranking at {:.0f} % confidence\n\n"
        "| group | points, kinds | picks | regret mean / p90 / max % | broken (worst % over) |\n"
        "|---|---|---|---|---|\n",
        100 * number_at(*at, "confidence"));
    Rows rows = rows_at(*at, "groups");
    rows.push_back(&node_at(*at, "all"));
    for (const Node* row : rows) {
      text += fmt::format("| {} | {}, {} | {} | {:.2f} / {:.1f} / {:.1f} | {} ({:.0f}) |\n",
                          text_at(*row, "group"),
                          count_at(*row, "points"),
                          count_at(*row, "deployments"),
                          count_at(*row, "picks"),
                          number_at(*row, "regret_mean_pct"),
                          number_at(*row, "regret_p90_pct"),
                          number_at(*row, "regret_max_pct"),
                          count_at(*row, "violations"),
                          number_at(*row, "worst_over_pct"));
    }
  }
  text += fmt::format(
      "\nHow sure: by {}.\n\n| sure of a pick, % | picks | said | held | deployments | held |\n"
      "|---|---|---|---|---|---|\n",
      bands_words(ranking));
  for (const Node* bin : rows_at(ranking, "calibration")) {
    text += fmt::format("| {:.0f} to {:.0f} | {} | {:.1f} | {:.1f} | {} | {:.1f} |\n",
                        100 * number_at(*bin, "from"),
                        100 * number_at(*bin, "to"),
                        count_at(*bin, "picks"),
                        100 * number_at(*bin, "said"),
                        100 * number_at(*bin, "held"),
                        count_at(*bin, "deployments"),
                        100 * number_at(*bin, "held_by_deployment"));
  }
  return text;
}

}  // namespace

Node records_tree(const Node& validation, const scoring::Findings& findings) {
  std::vector<Node::Member> members;
  const auto add = [&](std::string key, Node value) {
    members.push_back({.key = std::move(key), .value = std::move(value), .where = {}});
  };
  for (const Node::Member& member : validation.members()) {
    if (member.key == "outliers" && findings.ranking) {
      add("ranking", ranking_node(*findings.ranking));
    }
    members.push_back(member);
    if (member.key == "peers" && !findings.ablation.empty()) {
      add("ablation", list_of(findings.ablation, ablation_node));
    }
    if (member.key == "peers" && !findings.unseen.empty()) {
      add("left_out", list_of(findings.unseen, left_out_node));
    }
  }
  return Node::map(std::move(members), {});
}

verbs::AddedSections records_sections(const Node& tree, Face face, const TextStyle& style) {
  const Node& ranking = node_at(tree, "ranking");
  return {.behind_peers = section(kAblation, rows_at(tree, "ablation"), face, style) +
                          section(kLeftOut, rows_at(tree, "left_out"), face, style),
          .behind_coverage = ranking.is_null()         ? ""
                             : face == Face::kTerminal ? ranking_text(ranking, style)
                             : face == Face::kMarkdown ? ranking_markdown(ranking)
                                                       : ""};
}

}  // namespace ridgeline::report
