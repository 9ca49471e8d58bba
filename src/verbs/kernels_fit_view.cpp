#include "verbs/kernels_fit_view.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "document/json_writer.hpp"
#include "latency/fit/fit_kernels.hpp"
#include "latency/fit/operators.hpp"
#include "report/palette.hpp"
#include "report/table/grid.hpp"

namespace ridgeline::verbs {
namespace {

using latency::fit::OperatorFit;

constexpr double kFitPercent = 100.0;

}  // namespace

std::string kernel_fit_table(const std::vector<OperatorFit>& fits, const report::TextStyle& style) {
  report::Grid grid({{"operator", true},
             {"GPU", true},
             {"rows"},
             {"median %"},
             {"p90 %"},
             {"left out %"},
             {"p90 %"},
             {"table", true}});
  std::string_view last;
  for (const OperatorFit& fit : fits) {
    grid.add({std::string(fit.of->title == last ? "" : fit.of->title),
              fit.gpu,
              fmt::format("{}", fit.rows),
              fmt::format("{:.2f}", kFitPercent * fit.in_sample.median),
              fmt::format("{:.1f}", kFitPercent * fit.in_sample.p90),
              fit.left_out ? fmt::format("{:.2f}", kFitPercent * fit.left_out->median) : "-",
              fit.left_out ? fmt::format("{:.1f}", kFitPercent * fit.left_out->p90) : "-",
              fit.files.size() == 1 ? fit.files.front() : "all of them"});
    last = fit.of->title;
  }
  return grid.render(style);
}

std::string kernel_fit_json(const std::vector<OperatorFit>& fits) {
  document::JsonWriter json;
  json.begin_object();
  json.key("fits").begin_array();
  for (const OperatorFit& fit : fits) {
    json.begin_object();
    json.member("operator", fit.of->key);
    json.member("gpu", fit.gpu);
    json.member("form", fit.form->name);
    json.key("tables").begin_array();
    for (const std::string& file : fit.files) {
      json.value(file);
    }
    json.end_array();
    json.member("rows", fit.rows);
    json.member("median_error", fit.in_sample.median);
    json.member("p90_error", fit.in_sample.p90);
    if (fit.left_out) {
      json.member("left_out_median_error", fit.left_out->median);
      json.member("left_out_p90_error", fit.left_out->p90);
    }
    json.key("constants").begin_object();
    for (std::size_t i = 0; i < fit.values.size(); ++i) {
      json.member(fit.form->constants[i].key, fit.values[i]);
    }
    json.end_object();
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.text() + "\n";
}

}  // namespace ridgeline::verbs
