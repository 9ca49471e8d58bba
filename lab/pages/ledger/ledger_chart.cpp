#include "lab/pages/ledger/ledger_chart.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "lab/studies/ledger/ledger.hpp"
#include "lab/studies/ledger/settle.hpp"
#include "report/chart/svg.hpp"

namespace ridgeline::report {
namespace {

using document::Node;

// In units of the picture, which the page scales: a narrow screen shows it as large as it is.
constexpr double kWidth = 360.0;
constexpr double kHeight = 250.0;
constexpr double kLeft = 52.0;
constexpr double kRight = 12.0;
constexpr double kTop = 40.0;
constexpr double kBottom = 46.0;
constexpr std::size_t kMostLabels = 7;
constexpr std::size_t kLongestLabel = 11;

std::string label_of(const Node& node) {
  return node.is_string()   ? node.as_string()
         : node.is_number() ? fmt::format("{:g}", node.as_real())
                            : std::string();
}

/// Values of one column, where a row has a number there.
std::vector<std::optional<double>> column(const std::vector<Node>& rows, std::size_t index) {
  std::vector<std::optional<double>> values;
  for (const Node& row : rows) {
    const Node& cell = row.items()[index];
    values.push_back(cell.is_number() ? std::optional(cell.as_real()) : std::nullopt);
  }
  return values;
}

/// The next of 1, 2, 2.5 and 5 times a power of ten.
double tick_step(double top) {
  constexpr double kTicks = 5.0;
  const double power = std::pow(10.0, std::floor(std::log10(top / kTicks)));
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (factor * power * kTicks >= top) {
      return factor * power;
    }
  }
  return 10.0 * power;
}

class Chart {
 public:
  Chart(const studies::SettledClaim& found, double top)
      : found_(found), top_(top), points_(found.claim->table->rows.size()) {}

  [[nodiscard]] std::string axes() const {
    std::string svg;
    const double step = tick_step(top_);
    for (double tick = 0.0; tick <= top_ * 1.0001; tick += step) {
      svg += fmt::format(
          "<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" class=\"rule\"/>"
          "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:g}</text>",
          kLeft,
          kWidth - kRight,
          y(tick),
          y(tick),
          kLeft - 5.0,
          y(tick) + 4.0,
          tick);
    }
    const std::size_t every = (points_ + kMostLabels - 1) / kMostLabels;
    for (std::size_t i = 0; i < points_; i += every) {
      std::string label = label_of(found_.claim->table->rows[i].items().front());
      const bool is_long = label.size() > 6;
      label = label.substr(0, kLongestLabel);
      svg += fmt::format(
          "<text x=\"{0:.1f}\" y=\"{1:.1f}\" text-anchor=\"{2}\"{3}>{4}</text>",
          x(i),
          kHeight - kBottom + 15.0,
          is_long ? "end" : "middle",
          is_long ? fmt::format(
                        " transform=\"rotate(-28 {:.1f} {:.1f})\"", x(i), kHeight - kBottom + 15.0)
                  : "",
          xml_escaped(label));
    }
    return svg;
  }

  [[nodiscard]] std::string line(const std::vector<std::optional<double>>& ours,
                                 std::size_t series) const {
    std::string path;
    for (std::size_t i = 0; i < ours.size(); ++i) {
      if (ours[i]) {
        path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x(i), y(*ours[i]));
      }
    }
    return path.empty() ? path : fmt::format("<path d=\"{}\" class=\"s{}\"/>", path, series);
  }

  [[nodiscard]] std::string rings(const std::vector<std::optional<double>>& theirs,
                                  std::size_t series) const {
    std::string svg;
    for (std::size_t i = 0; i < theirs.size(); ++i) {
      if (theirs[i]) {
        svg += fmt::format(
            "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" class=\"s{}\"><title>{}: {:g} "
            "published</title></circle>",
            x(i),
            y(*theirs[i]),
            series,
            xml_escaped(label_of(found_.claim->table->rows[i].items().front())),
            *theirs[i]);
      }
    }
    return svg;
  }

 private:
  [[nodiscard]] double x(std::size_t i) const {
    const double steps = static_cast<double>(std::max<std::size_t>(points_, 2) - 1);
    return kLeft + 8.0 + static_cast<double>(i) / steps * (kWidth - kRight - kLeft - 16.0);
  }
  [[nodiscard]] double y(double value) const {
    return kTop + (1.0 - value / top_) * (kHeight - kTop - kBottom);
  }

  const studies::SettledClaim& found_;
  double top_;
  std::size_t points_;
};

}  // namespace

std::string ledger_chart(const studies::SettledClaim& found) {
  if (!found.claim->table || found.claim->table->chart.empty()) {
    return {};
  }
  const studies::PrintedTable& table = *found.claim->table;
  std::vector<std::size_t> drawn;
  double top = 0.0;
  for (const std::string& name : table.chart) {
    const auto place = std::ranges::find(table.columns, name) - table.columns.begin();
    if (place == std::ssize(table.columns)) {
      continue;
    }
    drawn.push_back(static_cast<std::size_t>(place));
    for (const auto& rows : {table.rows, found.rows}) {
      for (const auto& value : column(rows, drawn.back())) {
        top = std::max(top, value.value_or(0.0));
      }
    }
  }
  if (drawn.empty() || top <= 0.0) {
    return {};
  }
  const Chart chart(found, top);
  std::string legend;
  std::string marks;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const auto& name = table.columns[drawn[i]];
    const double at = kLeft + static_cast<double>(i) * (kWidth - kLeft) / 2.0;
    legend += fmt::format(
        "<circle cx=\"{0:.1f}\" cy=\"28\" r=\"3.5\" class=\"s{1}\"/>"
        "<text x=\"{2:.1f}\" y=\"32\">{3}</text>",
        at + 4.0,
        i,
        at + 12.0,
        xml_escaped(name));
    marks +=
        chart.line(column(found.rows, drawn[i]), i) + chart.rings(column(table.rows, drawn[i]), i);
  }
  return fmt::format(
      "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\"><text x=\"4\" y=\"14\" "
      "class=\"title\">{} {}</text>{}{}{}</svg>\n",
      kWidth,
      kHeight,
      xml_escaped(found.claim->said),
      xml_escaped(found.claim->id),
      xml_escaped(found.claim->said.substr(0, 46)),
      legend,
      chart.axes(),
      marks);
}

}  // namespace ridgeline::report
