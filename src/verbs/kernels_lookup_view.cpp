#include "verbs/kernels_lookup_view.hpp"

#include <string>

#include <fmt/format.h>

#include "core/text.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "latency/measured/lookup.hpp"
#include "latency/measured/lookup_question.hpp"

namespace ridgeline::verbs {
namespace {

using latency::measured::LookupAnswer;
using latency::measured::LookupOutcome;

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

std::string kernel_lookup_table(const LookupAnswer& answer) {
  std::string text = fmt::format("target    {}\n", answer.target);
  const std::string file = core::escaped(answer.file);
  const std::string place = answer.line > 0 ? fmt::format("{}:{}", file, answer.line) : file;
  const char* const origin = !answer.made   ? ""
                             : file.empty() ? "made by the kernel model, no file is read"
                                            : ", made by the kernel model";
  text += fmt::format("row       {}  ({}{})\n", answer.row, place, origin);
  if (!answer.missing.empty()) {
    text += fmt::format("missing   {}: {} stands in\n", core::escaped(answer.missing), file);
  }
  text += fmt::format("distance  {}\n", core::shortest(answer.lookup.distance));
  if (answer.heads_distance > 0.0 || answer.tp_distance > 0) {
    text += fmt::format("heads     {} away; tensor parallel size {} away\n",
                        core::shortest(answer.heads_distance),
                        answer.tp_distance);
  }
  text += fmt::format("mfu       {}  ({}{}); the row's own {}\n",
                      core::shortest(answer.lookup.mfu),
                      outcome_text(answer.lookup.outcome),
                      answer.lookup.outside ? ", outside the table" : "",
                      core::shortest(answer.row_mfu));
  text += fmt::format("latency   {} us (the row's)\n", core::shortest(answer.row_latency_us));
  return text;
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
