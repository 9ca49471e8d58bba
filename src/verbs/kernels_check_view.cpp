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
#include "document/json_writer.hpp"
#include "latency/measured/check.hpp"

namespace ridgeline::verbs {
namespace {

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
    text += fmt::format(
        "  {} {:<12} {}\n",
        served.gpu,
        served.shape,
        served.networks.empty() ? "none" : fmt::format("{}", fmt::join(served.networks, ", ")));
  }
  return text;
}

namespace {

void write_convention(document::JsonWriter& json, const latency::measured::Convention& convention) {
  json.begin_object();
  json.member("flops", convention.name);
  const auto number = [&](const char* key, double value) {
    // Where every MFU rounds to 0 the peak has no upper end.
    std::isfinite(value) ? json.member(key, value) : json.key(key).null();
  };
  number("peak_tflops", convention.peak.middle());
  number("peak_low_tflops", convention.peak.low);
  number("peak_high_tflops", convention.peak.high);
  json.member("agreeing_rows", convention.agreeing);
  json.member("data_sheets", convention.data_sheets);
  if (const auto& row = convention.beating) {
    json.key("beats_the_gpu").begin_object();
    json.member("file", row->file);
    json.member("line", row->line);
    json.member("row", row->what);
    json.member("tflops", row->tflops);
    json.member("peak_tflops", row->most_tflops);
    json.end_object();
  }
  json.end_object();
}

void write_kernel(document::JsonWriter& json, const latency::measured::KernelCheck& kernel) {
  json.begin_object();
  json.member("gpu", kernel.gpu);
  json.member("kernel", kernel.kernel);
  json.member("files", kernel.files);
  json.member("rows", kernel.rows);
  if (!kernel.convention.name.empty()) {
    json.key("convention");
    write_convention(json, kernel.convention);
  }
  json.key("other").begin_array();
  for (const auto& other : kernel.other) {
    write_convention(json, other);
  }
  json.end_array();
  if (kernel.median_error) {
    json.member("left_out_median_error", *kernel.median_error);
    json.member("left_out_p90_error", kernel.p90_error.value_or(0.0));
  }
  json.member("largest_change", kernel.largest_change - 1.0);
  json.member("largest_change_at", kernel.largest_change_at);
  json.end_object();
}

}  // namespace

std::string kernel_check_json(const TableCheck& check) {
  document::JsonWriter json;
  json.begin_object();
  json.key("kernels").begin_array();
  for (const auto& kernel : check.kernels) {
    write_kernel(json, kernel);
  }
  json.end_array();
  json.key("findings").begin_array();
  for (const auto& finding : check.findings) {
    json.begin_object();
    json.member("code", finding.code);
    json.member("file", finding.file);
    json.member("line", finding.line);
    json.member("message", finding.message);
    json.end_object();
  }
  json.end_array();
  json.key("networks").begin_array();
  for (const auto& served : check.served) {
    json.begin_object();
    json.member("gpu", served.gpu);
    json.member("heads", served.shape);
    json.key("models").begin_array();
    for (const auto& name : served.networks) {
      json.value(name);
    }
    json.end_array();
    json.end_object();
  }
  json.end_array();
  json.key("refused").begin_array();
  for (const auto& error : check.refused) {
    json.begin_object();
    json.member("file", error.where.file);
    json.member("line", error.where.line);
    json.member("message", core::to_string(error));
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.text() + "\n";
}

bool has_contradiction(const TableCheck& check) {
  return std::ranges::any_of(check.findings, latency::measured::is_contradiction);
}

}  // namespace ridgeline::verbs
