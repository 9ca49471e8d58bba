#include "latency/fit/columns_yaml.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "latency/fit/fit_kernels.hpp"
#include "latency/fit/operators.hpp"

namespace ridgeline::latency::fit {
namespace {

constexpr std::size_t kLineWidth = 110;
constexpr double kPercent = 100.0;

/// "key: value" pairs and, for keys with a dot, the map before it.
std::vector<std::string> members_of(const OperatorFit& fit) {
  std::vector<std::string> members;
  std::string nested_key;
  std::vector<std::string> nested;
  for (std::size_t i = 0; i < fit.form->constants.size(); ++i) {
    const Constant& constant = fit.form->constants[i];
    if (!constant.is_written) {
      continue;
    }
    const auto dot = constant.key.find('.');
    if (dot != std::string_view::npos) {
      nested_key = constant.key.substr(0, dot);
      nested.push_back(fmt::format("{}: {:.4g}", constant.key.substr(dot + 1), fit.values[i]));
      continue;
    }
    if (!constant.also.empty()) {
      members.push_back(fmt::format("{}: {:.4g}", constant.also, fit.values[i]));
    }
    members.push_back(fmt::format("{}: {:.4g}", constant.key, fit.values[i]));
  }
  for (std::size_t i = 0; i < nested.size(); ++i) {
    const std::string opening = i == 0 ? fmt::format("{}: {{", nested_key) : std::string();
    members.push_back(opening + nested[i] + (i + 1 == nested.size() ? "}" : ""));
  }
  return members;
}

std::string set_text(const OperatorFit& fit) {
  const std::string opening = fmt::format("    {}: {{", fit.of->key);
  std::string text;
  std::string line = opening;
  const auto members = members_of(fit);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::string ending = i + 1 == members.size() ? "}" : ",";
    if (line.size() + members[i].size() + ending.size() + 1 > kLineWidth) {
      text += line + "\n";
      line = std::string(opening.size() - 1, ' ');
    }
    line += (i == 0 ? "" : " ") + members[i] + ending;
  }
  return text + line + "\n";
}

std::string provenance(const OperatorFit& fit) {
  std::string text = fmt::format("    # {:.1f} % median, {:.0f} % p90 over {} rows",
                                 kPercent * fit.in_sample.median,
                                 kPercent * fit.in_sample.p90,
                                 fit.rows);
  if (fit.left_out) {
    text += fmt::format("; {:.1f} % when the GPU was left out", kPercent * fit.left_out->median);
  }
  text += "\n";
  for (const std::string& file : fit.files) {
    text += fmt::format("    # {}\n", file);
  }
  for (std::size_t i = 0; i < fit.form->constants.size(); ++i) {
    const Constant& constant = fit.form->constants[i];
    if (!constant.is_written) {
      text += fmt::format("    # not kept: {} {:.4g}\n", constant.key, fit.values[i]);
    }
  }
  return text;
}

}  // namespace

std::string columns_yaml(std::span<const OperatorFit> fits) {
  std::vector<std::pair<std::string, std::string>> columns;
  for (const OperatorFit& fit : fits) {
    const std::pair<std::string, std::string> column{fit.gpu, fit.architecture};
    if (std::ranges::find(columns, column) == columns.end()) {
      columns.push_back(column);
    }
  }
  std::ranges::sort(columns);
  // The common set last, where it stands in the built-in file.
  std::ranges::stable_partition(columns,
                                [](const auto& column) { return column.first != "generic"; });
  std::string text =
      "# Constants of the `kernel` step-time model, by `ridgeline kernels fit`\n"
      "# (docs/models/kernel.md). Use: --latency-constants FILE.\n"
      "# Before each set: errors in sample, and the tables it was fitted on.\n"
      "columns:\n";
  for (const auto& [name, architecture] : columns) {
    text += fmt::format("  - name: {}\n    architecture: {}\n", name, architecture);
    for (const OperatorFit& fit : fits) {
      if (fit.gpu == name) {
        text += provenance(fit) + set_text(fit);
      }
    }
  }
  return text;
}

}  // namespace ridgeline::latency::fit
