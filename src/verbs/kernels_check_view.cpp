#include "verbs/kernels_check_view.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "latency/measured/check.hpp"
#include "report/table/sheet.hpp"
#include "report/table/table.hpp"

namespace ridgeline::verbs {
namespace {

using document::list_of;
using document::MapBuilder;
using document::Node;
using latency::measured::KernelCheck;
using latency::measured::TableCheck;

std::string hundredths(double share) {
  return fmt::format("{:.2f} %", 100.0 * share);
}

/// A way of counting that was not taken, and why.
std::string excluded_line(const std::string& gpu, const latency::measured::Convention& other) {
  if (const auto& row = other.beating) {
    return fmt::format(
        "  cannot be {:.5g} TFLOP/s, FLOPs: {}; {} would be {:.4g} TFLOP/s, above the {:.5g} of "
        "{}\n",
        other.peak.middle(),
        other.name,
        row->what,
        row->tflops,
        row->most_tflops,
        gpu);
  }
  return fmt::format("  not       {:.5g} TFLOP/s, FLOPs: {}; {} rows agree\n",
                     other.peak.middle(),
                     other.name,
                     other.agreeing);
}

std::string kernel_lines(const KernelCheck& kernel) {
  const auto& convention = kernel.convention;
  std::string text = fmt::format("{} {}: {} {} in {} {}\n",
                                 kernel.gpu,
                                 kernel.kernel,
                                 kernel.rows,
                                 core::plural("row", kernel.rows),
                                 kernel.files,
                                 core::plural("file", kernel.files));
  if (!convention.name.empty()) {
    text += fmt::format(
        "  peak      {:.5g} TFLOP/s [{:.6g}, {:.6g}]{}, FLOPs: {}; {} of {} rows agree\n",
        convention.peak.middle(),
        convention.peak.low,
        convention.peak.high,
        convention.data_sheets.empty() ? "" : fmt::format(" ({})", convention.data_sheets),
        convention.name,
        convention.agreeing,
        kernel.rows);
  }
  for (const auto& other : kernel.other) {
    text += excluded_line(kernel.gpu, other);
  }
  if (kernel.median_error) {
    text += fmt::format("  between   rows left out one at a time: median error {}, p90 {}\n",
                        hundredths(*kernel.median_error),
                        hundredths(kernel.p90_error.value_or(0.0)));
  }
  if (kernel.largest_change != 1.0) {
    text += fmt::format("  order     largest change to make time grow with work: {:+.1f} % ({})\n",
                        100.0 * (kernel.largest_change - 1.0),
                        kernel.largest_change_at);
  }
  return text;
}

std::string place_of(const std::string& file, int line) {
  return line > 0 ? fmt::format("{}:{}", file, line) : file;
}

}  // namespace

std::string kernel_check_table(const TableCheck& check) {
  std::string text;
  for (const auto& kernel : check.kernels) {
    text += kernel_lines(kernel);
  }
  std::map<std::string_view, std::size_t> counts;
  for (const auto& finding : check.findings) {
    ++counts[finding.code];
  }
  for (const auto& [code, count] : counts) {
    text += fmt::format("\n{} ({})\n", code, count);
    for (const auto& finding : check.findings) {
      if (finding.code == code) {
        text += fmt::format("  {}: {}\n",
                            core::escaped(place_of(finding.file, finding.line)),
                            core::escaped(finding.message));
      }
    }
  }
  if (!check.served.empty()) {
    text += "\nheads and the catalogue networks that have them\n";
  }
  for (const auto& served : check.served) {
    constexpr std::size_t kShape = 12;
    text += report::Sheet("Heads")
                .row(served.networks.empty() ? "none"
                                             : fmt::format("{}", fmt::join(served.networks, ", ")),
                     fmt::format("  {} {}", served.gpu, served.shape),
                     served.gpu.size() + kShape + 4)
                .render(report::Face::kTerminal, {});
  }
  return text;
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
