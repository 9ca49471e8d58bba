#include "verbs/kernels_check_view.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/node_path.hpp"
#include "latency/measured/check.hpp"
#include "report/chart/figure.hpp"
#include "report/html_page.hpp"
#include "report/table/sheet.hpp"
#include "report/table/table.hpp"

namespace ridgeline::verbs {
namespace {

using document::list_of;
using document::MapBuilder;
using document::Node;
using latency::measured::KernelCheck;
using latency::measured::TableCheck;
using report::text_at;
using report::figures::number_at;

constexpr std::size_t kLabel = 12;

std::string hundredths(double share) {
  return fmt::format("{:.2f} %", 100.0 * share);
}

/// A peak in TFLOP/s; where every MFU rounds to 0 it has no upper end.
double peak_at(const Node& convention, std::string_view key) {
  return number_at(convention, key, std::numeric_limits<double>::infinity());
}

/// A way of counting that was not taken, and why.
void add_excluded(const std::string& gpu, const Node& other, report::Sheet& sheet) {
  const Node& row = node_at(other, "beats_the_gpu");
  const std::string counted = fmt::format(
      "{:.5g} TFLOP/s, FLOPs: {}", peak_at(other, "peak_tflops"), text_at(other, "flops"));
  if (row.is_null()) {
    sheet.row(fmt::format("{}; {} rows agree", counted, number_at(other, "agreeing_rows")),
              "  not",
              kLabel);
  } else {
    sheet.row(fmt::format("{}; {} would be {:.4g} TFLOP/s, above the {:.5g} of {}",
                          counted,
                          text_at(row, "row"),
                          number_at(row, "tflops"),
                          number_at(row, "peak_tflops"),
                          gpu),
              "  cannot be",
              kLabel);
  }
}

void add_kernel(const Node& kernel, report::Sheet& sheet) {
  const std::string gpu = text_at(kernel, "gpu");
  const auto rows = static_cast<std::int64_t>(number_at(kernel, "rows"));
  const auto files = static_cast<std::int64_t>(number_at(kernel, "files"));
  sheet.row(fmt::format("{} {}: {} {} in {} {}",
                        gpu,
                        text_at(kernel, "kernel"),
                        rows,
                        core::plural("row", rows),
                        files,
                        core::plural("file", files)));
  if (const Node& taken = node_at(kernel, "convention"); !taken.is_null()) {
    const std::string sheets = text_at(taken, "data_sheets");
    sheet.row(fmt::format("{:.5g} TFLOP/s [{:.6g}, {:.6g}]{}, FLOPs: {}; {} of {} rows agree",
                          peak_at(taken, "peak_tflops"),
                          number_at(taken, "peak_low_tflops"),
                          peak_at(taken, "peak_high_tflops"),
                          sheets.empty() ? "" : fmt::format(" ({})", sheets),
                          text_at(taken, "flops"),
                          number_at(taken, "agreeing_rows"),
                          rows),
              "  peak",
              kLabel);
  }
  for (const Node* const other : report::rows_at(kernel, "other")) {
    add_excluded(gpu, *other, sheet);
  }
  if (kernel.find("left_out_median_error") != nullptr) {
    sheet.row(fmt::format("rows left out one at a time: median error {}, p90 {}",
                          hundredths(number_at(kernel, "left_out_median_error")),
                          hundredths(number_at(kernel, "left_out_p90_error"))),
              "  between",
              kLabel);
  }
  if (const double change = number_at(kernel, "largest_change"); change != 0.0) {
    sheet.row(fmt::format("largest change to make time grow with work: {:+.1f} % ({})",
                          100.0 * change,
                          text_at(kernel, "largest_change_at")),
              "  order",
              kLabel);
  }
}

/// Those of one code below it.
void add_findings(const Node& tree, report::Sheet& sheet) {
  std::map<std::string, report::Rows> by_code;
  for (const Node* const finding : report::rows_at(tree, "findings")) {
    by_code[text_at(*finding, "code")].push_back(finding);
  }
  for (const auto& [code, findings] : by_code) {
    sheet.gap().row(fmt::format("{} ({})", code, findings.size()));
    for (const Node* const finding : findings) {
      const double line = number_at(*finding, "line");
      sheet.row(core::escaped(fmt::format("  {}{}: {}",
                                          text_at(*finding, "file"),
                                          line > 0 ? fmt::format(":{}", line) : "",
                                          text_at(*finding, "message"))));
    }
  }
}

}  // namespace

report::Sheet kernel_check_sheet(const Node& tree) {
  report::Sheet sheet("Kernel tables");
  for (const Node* const kernel : report::rows_at(tree, "kernels")) {
    add_kernel(*kernel, sheet);
  }
  add_findings(tree, sheet);
  const report::Rows served = report::rows_at(tree, "networks");
  if (!served.empty()) {
    sheet.gap().row("heads and the catalogue networks that have them");
  }
  for (const Node* const heads : served) {
    constexpr std::size_t kShape = 12;
    const std::string gpu = text_at(*heads, "gpu");
    std::vector<std::string> networks;
    for (const Node* const network : report::rows_at(*heads, "models")) {
      networks.push_back(network->as_string());
    }
    sheet.row(networks.empty() ? "none" : fmt::format("{}", fmt::join(networks, ", ")),
              fmt::format("  {} {}", gpu, text_at(*heads, "heads")),
              gpu.size() + kShape + 4);
  }
  return sheet;
}

namespace {

Node convention_tree(const latency::measured::Convention& convention) {
  MapBuilder map;
  // Where every MFU rounds to 0 the peak has no upper end: null.
  map.add("flops", convention.name)
      .add("peak_tflops", convention.peak.middle())
      .add("peak_low_tflops", convention.peak.low)
      .add("peak_high_tflops", convention.peak.high)
      .add("agreeing_rows", convention.agreeing)
      .add("data_sheets", convention.data_sheets);
  if (const auto& row = convention.beating) {
    map.add("beats_the_gpu",
            MapBuilder()
                .add("file", row->file)
                .add("line", row->line)
                .add("row", row->what)
                .add("tflops", row->tflops)
                .add("peak_tflops", row->most_tflops));
  }
  return map;
}

Node kernel_tree(const KernelCheck& kernel) {
  MapBuilder map;
  map.add("gpu", kernel.gpu)
      .add("kernel", kernel.kernel)
      .add("files", kernel.files)
      .add("rows", kernel.rows);
  if (!kernel.convention.name.empty()) {
    map.add("convention", convention_tree(kernel.convention));
  }
  map.add("other", list_of(kernel.other, convention_tree));
  if (kernel.median_error) {
    map.add("left_out_median_error", *kernel.median_error)
        .add("left_out_p90_error", kernel.p90_error.value_or(0.0));
  }
  return map.add("largest_change", kernel.largest_change - 1.0)
      .add("largest_change_at", kernel.largest_change_at);
}

}  // namespace

Node kernel_check_tree(const TableCheck& check) {
  const auto finding = [](const auto& one) -> Node {
    return MapBuilder()
        .add("code", one.code)
        .add("file", one.file)
        .add("line", one.line)
        .add("message", one.message);
  };
  const auto served = [](const auto& one) -> Node {
    return MapBuilder().add("gpu", one.gpu).add("heads", one.shape).add("models", one.networks);
  };
  const auto refused = [](const core::Error& error) -> Node {
    return MapBuilder()
        .add("file", error.where.file.text())
        .add("line", error.where.line)
        .add("message", core::to_string(error));
  };
  return MapBuilder()
      .add("kernels", list_of(check.kernels, kernel_tree))
      .add("findings", list_of(check.findings, finding))
      .add("networks", list_of(check.served, served))
      .add("refused", list_of(check.refused, refused));
}

bool has_contradiction(const TableCheck& check) {
  return std::ranges::any_of(check.findings, latency::measured::is_contradiction);
}

}  // namespace ridgeline::verbs
