#include "cli/commands/verbs.hpp"

#include <array>
#include <span>

namespace ridgeline::cli {

std::span<const Verb> verbs() {
  static constexpr auto kVerbs = std::to_array<Verb>({
      {"run", "simulate a scenario", run_command},
      {"replay", "simulate a recorded trace", replay_command},
      {"step", "price one batch and show where the time goes", step_command},
      {"explain",
       "resolve a scenario without running it: memory, limits, where values come from",
       explain_command},
      {"list",
       "what there is to choose from: models, gpus, latency, engines, traces, presets, formats, "
       "options, and what of the review's roadmap works",
       list_command},
      {"schema", "the JSON Schema of a result or a scenario", schema_command},
      {"help", "this page, a verb's flags, or every option", help_command},
      {"version", "the version", version_command},
      {"completions", "completions for a shell: bash, zsh, fish", completions_command},
      {"man", "the manual page", man_command},
      {"steps", "summarise a step log: where the time of a run went", steps_command},
      {"report", "the page of a saved result, and back", report_command},
      {"trace", "describe a trace: rate, lengths, sessions, prefix reuse", trace_command},
      {"convert", "convert between trace formats", convert_command},
      {"kernels", "work with measured kernel tables", kernels_command},
      {"validate", "compare with measured runs", validate_command},
      {"calibrate", "fit a server's own times to measured runs", calibrate_command},
      {"sweep", "many scenarios from one: run, list, status, merge, submit", sweep_command},
      {"deploy", "the files that deploy a scenario: vllm, docker, kubernetes ...", deploy_command},
      {"plan", "which deployment serves a workload within its targets at least cost", plan_command},
      {"observe", "send a workload to a running server and measure it", observe_command},
      {"ui", "a page with the simulator inside: sliders, pictures, every option", ui_command},
      {"serve", "answer over HTTP as the simulated deployment would", serve_command},
  });
  return kVerbs;
}

}  // namespace ridgeline::cli
