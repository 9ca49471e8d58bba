#include "verbs/registry.hpp"

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "verbs/verb.hpp"

namespace ridgeline::verbs {

std::span<const Verb> verbs() {
  static const std::vector<Verb> kVerbs = {
      run_verb(),
      replay_verb(),
      step_verb(),
      explain_verb(),
      list_verb(),
      schema_verb(),
      {.name = "help", .summary = "this page, a verb's flags, or every option", .own = Own::kHelp},
      {.name = "version", .summary = "the version", .own = Own::kVersion},
      {.name = "completions",
       .summary = "completions for a shell: bash, zsh, fish",
       .own = Own::kCompletions},
      {.name = "man", .summary = "the manual page", .own = Own::kMan},
      steps_verb(),
      report_verb(),
      trace_verb(),
      convert_verb(),
      {.name = "kernels", .summary = "work with measured kernel tables", .own = Own::kKernels},
      kernels_check_verb(),
      kernels_fit_verb(),
      kernels_lookup_verb(),
      kernels_make_verb(),
      kernels_plan_verb(),
      validate_verb(),
      calibrate_verb(),
      sweep_verb(),
      deploy_verb(),
      plan_verb(),
      upgrade_verb(),
      {.name = "observe",
       .summary = "send a workload to a running server and measure it",
       .own = Own::kObserve},
      {.name = "ui",
       .summary = "a page with the simulator inside: sliders, pictures, every option",
       .own = Own::kUi},
      {.name = "mcp",
       .summary = "tools for an agent: the Model Context Protocol",
       .own = Own::kMcp},
      {.name = "serve",
       .summary = "answer over HTTP as the simulated deployment would",
       .own = Own::kServe},
  };
  return kVerbs;
}

const Verb* find_verb(std::string_view name) {
  const auto found = std::ranges::find(verbs(), name, &Verb::name);
  return found == verbs().end() ? nullptr : &*found;
}

}  // namespace ridgeline::verbs
