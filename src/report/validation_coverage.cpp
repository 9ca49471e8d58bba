#include "report/validation_coverage.hpp"

#include <array>
#include <cstddef>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "accuracy/bands.hpp"
#include "document/json_writer.hpp"
#include "evidence/validate/error_bands.hpp"
#include "report/svg.hpp"

namespace ridgeline::report {
namespace {

using evidence::validate::Coverage;
using evidence::validate::CoverageBy;
using evidence::validate::CoverageRow;

using Cells = std::array<std::string, 8>;

const Cells kHeads = {"error bands",
                      "slice",
                      "its own",
                      "deployments",
                      "records",
                      "in 90 %, %",
                      "in 50 %, %",
                      "half width %"};

const char* name_of(const CoverageRow& row) {
  return accuracy::kMetricNames[static_cast<std::size_t>(row.metric)];
}

Cells cells_of(const CoverageRow& row) {
  return {name_of(row),
          row.slice,
          row.fitted ? "measured" : "unseen",
          fmt::to_string(row.groups),
          fmt::to_string(row.records),
          fmt::format("{:.0f} / {:.0f}", row.inside_p90_pct, row.inside_p90_records_pct),
          fmt::format("{:.0f} / {:.0f}", row.inside_p50_pct, row.inside_p50_records_pct),
          fmt::format("{:.0f}", row.median_half_width_pct)};
}

/// Why there is no row; empty where there is one.
std::string why_none(const Coverage& coverage) {
  if (!coverage.rows.empty()) {
    return {};
  }
  return coverage.by == CoverageBy::kShipped || coverage.deployments == 0
             ? std::string("no record tells of a band's error")
             : fmt::format(
                   "a band needs {} deployments of a kind beside the one that is left out; these "
                   "records are of {}",
                   accuracy::kFewestGroups,
                   coverage.deployments);
}

}  // namespace

std::string coverage_text(const Coverage& coverage) {
  if (const std::string why = why_none(coverage); !why.empty()) {
    return fmt::format("\n{}: none: {}\n", kHeads[0], why);
  }
  const auto line = [](const Cells& cells) {
    return fmt::format("{:<18} {:<14} {:<9} {:>11} {:>8} {:>14} {:>14} {:>12}\n",
                       cells[0],
                       cells[1],
                       cells[2],
                       cells[3],
                       cells[4],
                       cells[5],
                       cells[6],
                       cells[7]);
  };
  std::string text = "\n" + line(kHeads);
  for (const CoverageRow& row : coverage.rows) {
    text += line(cells_of(row));
  }
  return text;
}

std::string coverage_markdown(const Coverage& coverage) {
  const std::string title = "\n## Within the error bands\n\n";
  if (const std::string why = why_none(coverage); !why.empty()) {
    return fmt::format("{}None: {}.\n", title, why);
  }
  std::string text =
      title + fmt::format("| {} |\n|---|---|---|---|---|---|---|---|\n", fmt::join(kHeads, " | "));
  for (const CoverageRow& row : coverage.rows) {
    text += fmt::format("| {} |\n", fmt::join(cells_of(row), " | "));
  }
  return text;
}

std::string coverage_html(const Coverage& coverage) {
  const std::string title = "<h2>Within the error bands</h2>\n";
  if (const std::string why = why_none(coverage); !why.empty()) {
    return fmt::format("{}<p>None: {}.</p>\n", title, why);
  }
  std::string text = title + fmt::format("<div class=\"wide\"><table><tr><th>{}</th></tr>\n",
                                         fmt::join(kHeads, "</th><th>"));
  for (const CoverageRow& row : coverage.rows) {
    text += "<tr>";
    for (const std::string& cell : cells_of(row)) {
      text += "<td>" + xml_escaped(cell) + "</td>";
    }
    text += "</tr>\n";
  }
  return text + "</table></div>\n";
}

void write_coverage(document::JsonWriter& json, const Coverage& coverage) {
  json.begin_array();
  for (const CoverageRow& row : coverage.rows) {
    json.begin_object();
    json.member("metric", name_of(row));
    json.member("slice", row.slice);
    json.member("fitted", row.fitted);
    json.member("groups", row.groups);
    json.member("records", row.records);
    json.member("inside_p90_pct", row.inside_p90_pct);
    json.member("inside_p90_records_pct", row.inside_p90_records_pct);
    json.member("inside_p50_pct", row.inside_p50_pct);
    json.member("inside_p50_records_pct", row.inside_p50_records_pct);
    json.member("median_half_width_pct", row.median_half_width_pct);
    json.end_object();
  }
  json.end_array();
}

}  // namespace ridgeline::report
