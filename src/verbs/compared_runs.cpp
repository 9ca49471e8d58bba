#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "report/palette.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "sim/simulation.hpp"
#include "verbs/priced_step.hpp"
#include "verbs/registry.hpp"
#include "verbs/run.hpp"
#include "verbs/run/run_comparison.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::verbs {
namespace {

core::Result<RunResult> run_by(const scenario::LoadedScenario& loaded,
                               const std::string& model,
                               Host& host) {
  auto resolved = scenario::resolve(with_model(loaded, model));
  if (!resolved) {
    return core::fail(std::move(resolved).error());
  }
  auto source = resolved->workload.open();
  if (!source) {
    return core::fail(std::move(source).error());
  }
  sim::RunControls controls;
  controls.interrupt = &host.stop();
  return verbs::simulate(*resolved, **source, controls);
}

}  // namespace

core::Result<Reply> compared_runs(Request& request, Host& host, scenario::Purpose purpose) {
  const std::vector<std::string> models = request.take_texts("compare");
  if (request.states("latency.name")) {
    request.add(request.problem("latency", "would be ignored: --compare names the models"));
  }
  const auto watch = host.watch(Host::Work::kHere);
  const auto loaded = request.load(purpose);
  request.keep(loaded);
  if (!request.errors().empty()) {
    return core::fail(request.errors());
  }
  const auto runs = std::make_shared<std::vector<ComparedRun>>();
  for (const std::string& model : models) {
    auto result = run_by(*loaded, model, host);
    if (!result) {
      return core::fail(std::move(result).error());
    }
    runs->push_back({.model = model, .result = std::move(*result)});
    if (runs->back().result.partial) {
      break;
    }
  }
  const bool partial = !runs->empty() && runs->back().result.partial;
  return Reply{
      .code = partial ? host.stopped() : 0,
      .tree = [runs] { return run_comparison_tree(*runs); },
      .views = {
          {"table",
           [runs](const report::TextStyle& style) { return run_comparison_table(*runs, style); }},
          {"csv", [runs](const report::TextStyle&) { return run_comparison_csv(*runs); }}}};
}

}  // namespace ridgeline::verbs
