#include "verbs/kernels_lookup_view.hpp"

#include <cstddef>
#include <string>

#include <fmt/format.h>

#include "core/text.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/node_path.hpp"
#include "latency/measured/lookup.hpp"
#include "latency/measured/lookup_question.hpp"
#include "report/chart/figure.hpp"
#include "report/html_page.hpp"
#include "report/table/sheet.hpp"

namespace ridgeline::verbs {
namespace {

using latency::measured::LookupAnswer;
using latency::measured::LookupOutcome;
using report::text_at;
using report::figures::number_at;

const char* outcome_text(LookupOutcome outcome) {
  switch (outcome) {
    case LookupOutcome::kFound:
      return "found";
    case LookupOutcome::kReplaced:
      return "the table says 0: another row stands in";
    case LookupOutcome::kNothing:
      break;
  }
  return "no row can be used";
}

}  // namespace

report::Sheet kernel_lookup_sheet(const document::Node& tree) {
  constexpr std::size_t kLabel = 10;
  const auto number = [&](const char* key) { return core::shortest(number_at(tree, key)); };
  const auto is_true = [&](const char* key) { return node_at(tree, key).describe() == "true"; };
  const std::string file = text_at(tree, "file");
  const double line = number_at(tree, "line");
  report::Sheet sheet("Kernel");
  sheet.row(text_at(tree, "target"), "target", kLabel)
      .row(fmt::format("{}  ({}{}{})",
                       text_at(tree, "row"),
                       file,
                       line > 0 ? fmt::format(":{}", line) : "",
                       !is_true("made") ? ""
                       : file.empty()   ? "made by the kernel model, no file is read"
                                        : ", made by the kernel model"),
           "row",
           kLabel);
  if (const std::string missing = text_at(tree, "missing"); !missing.empty()) {
    sheet.row(fmt::format("{}: {} stands in", missing, file), "missing", kLabel);
  }
  sheet.row(number("distance"), "distance", kLabel);
  if (number_at(tree, "heads_distance") > 0.0 || number_at(tree, "tp_distance") > 0.0) {
    sheet.row(fmt::format("{} away; tensor parallel size {} away",
                          number("heads_distance"),
                          number("tp_distance")),
              "heads",
              kLabel);
  }
  return sheet
      .row(fmt::format("{}  ({}{}); the row's own {}",
                       number("mfu"),
                       text_at(tree, "outcome"),
                       is_true("outside") ? ", outside the table" : "",
                       number("row_mfu")),
           "mfu",
           kLabel)
      .row(number("latency_us") + " us (the row's)", "latency", kLabel);
}

document::Node kernel_lookup_tree(const LookupAnswer& answer) {
  return document::MapBuilder()
      .add("target", answer.target)
      .add("row", answer.row)
      .add("file", answer.file)
      .add("line", answer.line)
      .add("made", answer.made)
      .add("missing", answer.missing)
      .add("distance", answer.lookup.distance)
      .add("heads_distance", answer.heads_distance)
      .add("tp_distance", answer.tp_distance)
      .add("mfu", answer.lookup.mfu)
      .add("outcome", outcome_text(answer.lookup.outcome))
      .add("outside", answer.lookup.outside)
      .add("row_mfu", answer.row_mfu)
      .add("latency_us", answer.row_latency_us);
}

}  // namespace ridgeline::verbs
