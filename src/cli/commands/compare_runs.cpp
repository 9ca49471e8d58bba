#include "cli/commands/compare_runs.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/simulate.hpp"
#include "api/step.hpp"
#include "cli/arguments.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/interrupt.hpp"
#include "cli/verb_outputs.hpp"
#include "cli/word_lists.hpp"
#include "core/result.hpp"
#include "report/palette.hpp"
#include "report/result_json.hpp"
#include "report/run_comparison.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "sim/simulation.hpp"

namespace ridgeline::cli {
namespace {

/// Flags of one run, which several would share.
constexpr std::array<std::string_view, 9> kOfOneRun = {"latency",
                                                       "requests-out",
                                                       "steps-out",
                                                       "routing-out",
                                                       "routing-audit",
                                                       "cache-state-out",
                                                       "client-results",
                                                       "series",
                                                       "series-buckets"};

core::Errors misplaced_flags(const Arguments& arguments) {
  core::Errors errors;
  for (const std::string_view flag : kOfOneRun) {
    if (arguments.has(flag)) {
      errors.push_back({.field = fmt::format("--{}", flag),
                        .message = flag == "latency"
                                       ? "would be ignored: --compare names the models"
                                       : "is of one run, and --compare makes several",
                        .where = {.file = "command line"}});
    }
  }
  return errors;
}

core::Result<report::RunResult> run_by(const scenario::LoadedScenario& loaded,
                                       const std::string& model) {
  auto resolved = scenario::resolve(api::with_model(loaded, model));
  if (!resolved) {
    return core::fail(std::move(resolved).error());
  }
  auto source = resolved->workload.open();
  if (!source) {
    return core::fail(std::move(source).error());
  }
  sim::RunControls controls;
  controls.interrupt = &InterruptGuard::flag();
  return api::simulate(*resolved, **source, controls);
}

core::Result<std::vector<report::ComparedRun>> run_all(const SimulationVerb& verb,
                                                       const Arguments& arguments) {
  if (auto errors = misplaced_flags(arguments); !errors.empty()) {
    return core::fail(std::move(errors));
  }
  const auto loaded = load(arguments, verb.purpose);
  if (!loaded) {
    return core::fail(loaded.error());
  }
  std::vector<report::ComparedRun> runs;
  for (const std::string& model : split_list(arguments.value("compare"))) {
    auto result = run_by(*loaded, model);
    if (!result) {
      return core::fail(std::move(result).error());
    }
    runs.push_back({.model = model, .result = std::move(*result)});
    if (runs.back().result.partial) {
      break;
    }
  }
  return runs;
}

std::string show(const std::vector<report::ComparedRun>& runs,
                 std::string_view format,
                 const report::TextStyle& style) {
  if (format == "json") {
    return report::json_text(report::run_comparison_tree(runs));
  }
  return format == "csv" ? report::run_comparison_csv(runs)
                         : report::run_comparison_table(runs, style);
}

}  // namespace

ExitCode compare_runs(const SimulationVerb& verb,
                      const Arguments& arguments,
                      const Manners& manners) {
  const std::vector<std::string> formats = {"table", "json", "csv"};
  if (manners.format != kQuiet && std::ranges::find(formats, manners.format) == formats.end()) {
    return give_up({bad_choice("format", manners.format, formats)}, manners);
  }
  const InterruptGuard guard;
  auto outputs = VerbOutputs::open(arguments, manners, formats);
  if (!outputs) {
    return give_up(outputs.error(), manners);
  }
  const auto runs = run_all(verb, arguments);
  if (!runs) {
    return give_up(runs.error(), manners);
  }
  const ExitCode written =
      outputs->put_out([&](std::string_view format,
                           const report::TextStyle& style) { return show(*runs, format, style); },
                       manners);
  return runs->back().result.partial ? InterruptGuard::exit_code() : written;
}

}  // namespace ridgeline::cli
