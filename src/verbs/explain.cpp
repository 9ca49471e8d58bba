#include <utility>

#include "core/result.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "verbs/explain_view.hpp"
#include "verbs/registry.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::verbs {
namespace {

core::Result<Reply> explain(Request& request, Host& /*host*/) {
  auto loaded = request.load(scenario::Purpose::kLook);
  if (!loaded) {
    return core::fail(loaded.error());
  }
  auto resolved = scenario::resolve(std::move(*loaded));
  if (!resolved) {
    return core::fail(resolved.error());
  }
  const auto found = shared(std::move(*resolved));
  return Reply{.tree = tree_of(found, explanation_tree),
               .views = {{"table", view_of(found, explanation_table)}}};
}

}  // namespace

Verb explain_verb() {
  return {
      .name = "explain",
      .summary = "resolve a scenario without running it: memory, limits, where values come from",
      .usage = "explain [scenario.yaml] [flags]",
      .about = "Resolves a scenario without running it: what fits, what holds, and why.",
      .scenario = ScenarioPart::kWhole,
      .purpose = scenario::Purpose::kLook,
      .parameters = {scenario_parameters()},
      .formats = {"table", "json"},
      .run = explain};
}

}  // namespace ridgeline::verbs
