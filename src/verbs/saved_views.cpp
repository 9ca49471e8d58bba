#include "verbs/saved_views.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "document/document.hpp"
#include "report/palette.hpp"
#include "report/plan_page.hpp"
#include "report/table/table.hpp"
#include "verbs/trace_view.hpp"
#include "verbs/validate_view.hpp"

namespace ridgeline::verbs {
namespace {

using document::Node;

std::string show_plan(const Node& tree,
                      std::string_view /*format*/,
                      const report::TextStyle& /*style*/) {
  return report::plan_page(tree);
}
std::string show_trace(const Node& tree,
                       std::string_view /*format*/,
                       const report::TextStyle& style) {
  return trace_table(tree, style);
}
std::string show_validation(const Node& tree,
                            std::string_view format,
                            const report::TextStyle& style) {
  return validation_text(tree, report::face_of(format), style);
}

/// A view and the keys by which its trees are known.
struct KnownView {
  std::vector<std::string_view> keys;
  SavedView view;
};
const std::array<KnownView, 4> kViews = {
    {{.keys = {"candidates", "ranking"},
      .view = {.kind = "a plan", .formats = {"html"}, .show = show_plan}},
     {.keys = {"candidates", "mix"},
      .view = {.kind = "a plan", .formats = {"html"}, .show = show_plan}},
     {.keys = {"rate_over_time", "block_reuse"},
      .view = {.kind = "a trace", .formats = {"table"}, .show = show_trace}},
     {.keys = {"counts", "scores", "records"},
      .view = {.kind = "a validation",
               .formats = {"html", "table", "markdown", "csv"},
               .show = show_validation}}}};

}  // namespace

const SavedView* view_of(const Node& tree) {
  const auto known = std::ranges::find_if(kViews, [&](const KnownView& one) {
    return std::ranges::all_of(one.keys,
                               [&](std::string_view key) { return tree.find(key) != nullptr; });
  });
  return known == kViews.end() ? nullptr : &known->view;
}

}  // namespace ridgeline::verbs
