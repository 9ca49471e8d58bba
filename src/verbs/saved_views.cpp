#include "verbs/saved_views.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "document/document.hpp"
#include "report/palette.hpp"
#include "report/plan_page.hpp"
#include "report/table/sheet.hpp"
#include "report/table/table.hpp"
#include "verbs/calibrate_view.hpp"
#include "verbs/plan_mix_view.hpp"
#include "verbs/plan_view.hpp"
#include "verbs/step_view.hpp"
#include "verbs/steps_view.hpp"
#include "verbs/trace_view.hpp"
#include "verbs/validate_view.hpp"

namespace ridgeline::verbs {
namespace {

using document::Node;

template <report::Sheet (*kSheet)(const Node&)>
std::string show_plan(const Node& tree, std::string_view format, const report::TextStyle& style) {
  return format == "html" ? report::plan_page(tree)
                          : kSheet(tree).render(report::face_of(format), style);
}
std::string show_validation(const Node& tree,
                            std::string_view format,
                            const report::TextStyle& style) {
  return validation_text(tree, report::face_of(format), style);
}
template <report::Sheet (*kSheet)(const Node&)>
std::string show(const Node& tree, std::string_view format, const report::TextStyle& style) {
  return kSheet(tree).render(report::face_of(format), style);
}

/// A view and the keys by which its trees are known.
struct KnownView {
  std::vector<std::string_view> keys;
  SavedView view;
};
const std::vector<std::string_view> kTexts = {"table", "markdown", "html", "csv"};
const std::vector<std::string_view> kPages = {"html", "table", "markdown", "csv"};
const std::array<KnownView, 7> kViews = {
    {{.keys = {"candidates", "ranking"},
      .view = {.kind = "a plan", .formats = kPages, .show = show_plan<plan_sheet>}},
     {.keys = {"candidates", "mix"},
      .view = {.kind = "a plan", .formats = kPages, .show = show_plan<mix_sheet>}},
     {.keys = {"rate_over_time", "block_reuse"},
      .view = {.kind = "a trace", .formats = kTexts, .show = show<trace_sheet>}},
     {.keys = {"parts", "hidden", "step_us"},
      .view = {.kind = "a step", .formats = kTexts, .show = show<step_sheet>}},
     {.keys = {"by_bottleneck", "ridge_crossings"},
      .view = {.kind = "a step log's summary", .formats = kTexts, .show = show<steps_sheet>}},
     {.keys = {"fitted", "unused_records"},
      .view = {.kind = "a calibration", .formats = kTexts, .show = show<calibration_sheet>}},
     {.keys = {"counts", "scores", "records"},
      .view = {.kind = "a validation", .formats = kPages, .show = show_validation}}}};

}  // namespace

const SavedView* view_of(const Node& saved) {
  // Several models on one batch are known by the first.
  const report::Rows models = report::rows_at(saved, "models");
  const bool is_several = !models.empty() && models.front()->find("parts") != nullptr;
  const Node& tree = is_several ? *models.front() : saved;
  const auto known = std::ranges::find_if(kViews, [&](const KnownView& one) {
    return std::ranges::all_of(one.keys,
                               [&](std::string_view key) { return tree.find(key) != nullptr; });
  });
  return known == kViews.end() ? nullptr : &known->view;
}

}  // namespace ridgeline::verbs
