#include "verbs/kernels_fit_view.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "latency/fit/fit_kernels.hpp"
#include "latency/fit/operators.hpp"
#include "report/palette.hpp"
#include "report/table/table.hpp"

namespace ridgeline::verbs {
namespace {

using latency::fit::OperatorFit;

using document::MapBuilder;
using document::Node;

report::Column error_column(std::string title, std::string path, report::Format format) {
  constexpr double kPercent = 100.0;
  return {.title = std::move(title), .path = std::move(path), .format = format, .scale = kPercent};
}

const report::TableView kFits{
    .missing = "-",
    .columns = {{.title = "operator", .path = "operator"},
                {.title = "GPU", .path = "gpu"},
                {.title = "rows", .path = "rows", .format = report::Format::kFixed0},
                error_column("median %", "median", report::Format::kFixed2),
                error_column("p90 %", "p90", report::Format::kFixed1),
                error_column("left out %", "left_out", report::Format::kFixed2),
                error_column("p90 %", "left_out_p90", report::Format::kFixed1),
                {.title = "table", .path = "table"}}};

}  // namespace

std::string kernel_fit_table(const std::vector<OperatorFit>& fits, const report::TextStyle& style) {
  std::vector<Node> rows;
  std::string_view last;
  for (const OperatorFit& fit : fits) {
    const auto of = [](const auto& left_out, double value) {
      return left_out ? std::optional(value) : std::nullopt;
    };
    rows.push_back(
        MapBuilder()
            .add("operator", fit.of->title == last ? "" : fit.of->title)
            .add("gpu", fit.gpu)
            .add("rows", fit.rows)
            .add("median", fit.in_sample.median)
            .add("p90", fit.in_sample.p90)
            .add("left_out", of(fit.left_out, fit.left_out ? fit.left_out->median : 0.0))
            .add("left_out_p90", of(fit.left_out, fit.left_out ? fit.left_out->p90 : 0.0))
            .add("table", fit.files.size() == 1 ? fit.files.front() : "all of them"));
    last = fit.of->title;
  }
  return report::render(kFits, report::rows_of(rows), report::Face::kTerminal, style);
}

Node kernel_fit_tree(const std::vector<OperatorFit>& fits) {
  return MapBuilder().add("fits", document::list_of(fits, [](const OperatorFit& fit) -> Node {
                            MapBuilder map;
                            map.add("operator", fit.of->key)
                                .add("gpu", fit.gpu)
                                .add("form", fit.form->name)
                                .add("tables", fit.files)
                                .add("rows", fit.rows)
                                .add("median_error", fit.in_sample.median)
                                .add("p90_error", fit.in_sample.p90);
                            if (fit.left_out) {
                              map.add("left_out_median_error", fit.left_out->median)
                                  .add("left_out_p90_error", fit.left_out->p90);
                            }
                            MapBuilder constants;
                            for (std::size_t i = 0; i < fit.values.size(); ++i) {
                              constants.add(fit.form->constants[i].key, fit.values[i]);
                            }
                            return map.add("constants", constants.build());
                          }));
}

}  // namespace ridgeline::verbs
