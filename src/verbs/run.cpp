#include "verbs/run.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "engine/instance.hpp"
#include "metrics/timeline.hpp"
#include "report/chart/figure.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "sim/simulation.hpp"
#include "verbs/clock.hpp"
#include "verbs/registry.hpp"
#include "verbs/run/make_result.hpp"
#include "verbs/run/registry.hpp"
#include "verbs/run/result_tree.hpp"
#include "verbs/run/run_result.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::verbs {
namespace {

std::optional<std::string> host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) {
    return std::nullopt;
  }
  return std::string(name.data());
}

/// How a run is made, which changes nothing of its result.
sim::RunControls take_controls(Request& request) {
  static const std::vector<std::string> kCores = {"fast", "reference"};
  sim::RunControls controls;
  const std::string core = request.take_text("engine_core", kCores[0]);
  if (core != kCores[0] && core != kCores[1]) {
    request.add(bad_choice(request.field("engine_core"), core, kCores));
  }
  controls.core = core == kCores[1] ? engine::EngineCore::kReference : engine::EngineCore::kFast;
  controls.threads = request.take_count("threads", 1, kMostThreads);
  controls.jump = !request.take_bool("no_jump", false);
  return controls;
}

core::Result<scenario::Resolved> take_scenario(Request& request, scenario::Purpose purpose) {
  const bool fails_on_slo = request.take_bool("fail_on_slo", false);
  auto loaded = request.load(purpose);
  request.keep(loaded);
  if (!request.errors().empty()) {
    return core::fail(request.errors());
  }
  auto resolved = scenario::resolve(std::move(*loaded));
  if (!resolved) {
    return resolved;
  }
  const scenario::SloSection& slo = resolved->run.slo;
  if (fails_on_slo && !(slo.ttft || slo.tpot || slo.itl || slo.e2e)) {
    return core::fail(request.problem("fail_on_slo",
                                      "there is no target to miss",
                                      "--slo-ttft, --slo-tpot, --slo-itl or --slo-e2e"));
  }
  return resolved;
}

core::Result<Reply> simulated(Request& request, Host& host, scenario::Purpose purpose) {
  if (request.has("compare")) {
    return compared_runs(request, host, purpose);
  }
  const bool fails_on_slo = request.has("fail_on_slo");
  sim::RunControls controls = take_controls(request);
  const Kept kept = take_kept(request);
  host.take(request);
  const auto resolved = take_scenario(request, purpose);
  if (!resolved) {
    return core::fail(resolved.error());
  }
  auto result = run_for(host, *resolved, kept, std::move(controls));
  if (!result) {
    return core::fail(std::move(result).error());
  }
  Reply reply = run_reply(*resolved, *std::move(result), kept, host.stopped());
  if (fails_on_slo && !reply.run->partial) {
    reply.notes = missed_targets(reply.run->summary);
    if (!reply.notes.empty()) {
      reply.code = kThreshold;
      reply.errors.clear();
    }
  }
  return reply;
}

core::Result<Reply> run(Request& request, Host& host) {
  return simulated(request, host, scenario::Purpose::kRun);
}
core::Result<Reply> replay(Request& request, Host& host) {
  return simulated(request, host, scenario::Purpose::kReplay);
}

/// What `run` and `replay` share.
Verb simulation_verb() {
  using Kind = Parameter::Kind;
  std::vector<std::string> formats;
  for (const auto& exporter : exporters()) {
    formats.push_back(exporter.name);
  }
  return {
      .scenario = ScenarioPart::kWhole,
      .parameters =
          {scenario_parameters(),
           {.key = "compare",
            .kind = Kind::kWords,
            .value = "A,B,...",
            .help = "Step-time models side by side, instead of --latency"},
           output_parameter(),
           {.key = "files", .kind = Kind::kHosts},
           {.key = "series",
            .kind = Kind::kSwitch,
            .help = "The run over simulated time, as the key `series` of JSON results"},
           {.key = "series_buckets",
            .value = "N",
            .help = fmt::format("The same in at most so many windows, {} to {} [{}]",
                                metrics::Timeline::kLeastWindows,
                                metrics::Timeline::kMostWindows,
                                metrics::Timeline::kUsualWindows)},
           {.key = "terminal", .kind = Kind::kHosts},
           {.key = "fail_on_slo",
            .kind = Kind::kSwitch,
            .help = "Exit with 99 where a target (--slo-ttft ...) is missed"},
           {.key = "engine_core",
            .value = "fast|reference",
            .help = "Which of the two engines; they give the same result"},
           {.key = "no_jump",
            .kind = Kind::kSwitch,
            .help = "Step one by one; the same result, slower"},
           {.key = "threads",
            .value = "N",
            .help = "Threads for instances that nothing connects [1]; results do not depend on it"},
           {.key = "saved", .kind = Kind::kHosts},
           progress_parameter()},
      .formats = std::move(formats),
      .has_parts = true};
}

}  // namespace

Kept take_kept(Request& request) {
  using metrics::Timeline;
  constexpr auto kLeast = static_cast<std::int64_t>(Timeline::kLeastWindows);
  constexpr auto kMost = static_cast<std::int64_t>(Timeline::kMostWindows);
  Kept kept;
  for (const std::string& word : request.take_texts("keep")) {
    if (word == "requests") {
      kept.requests = kUsualRequests;
    } else if (word == "all-requests") {
      kept.requests = std::numeric_limits<std::int64_t>::max();
    } else if (word == "steps") {
      kept.steps = true;
    } else if (word == "series" || word == "figures") {
      kept.shows_series = kept.shows_series || word == "series";
      kept.series_windows = Timeline::kUsualWindows;
    } else {
      request.add({.field = "keep",
                   .message = fmt::format("found \"{}\", expected requests, all-requests, steps, "
                                          "series or figures",
                                          word)});
    }
  }
  if (request.take_bool("series", false)) {
    kept.shows_series = true;
    kept.series_windows = Timeline::kUsualWindows;
  }
  if (request.has("series_buckets")) {
    const std::int64_t windows = request.take_count("series_buckets", kMost, kMost);
    if (windows < kLeast) {
      request.add(request.problem(
          "series_buckets", fmt::format("found {}, expected {} to {}", windows, kLeast, kMost)));
    }
    kept.series_windows = static_cast<std::size_t>(windows);
  }
  // On a command line pictures that are asked for bring series, which all results then show.
  kept.shows_series = kept.shows_series || request.is_words();
  return kept;
}

void gather_series(sim::RunControls& controls) {
  controls.series_windows = controls.series_windows.value_or(metrics::Timeline::kUsualWindows);
}

core::Result<RunResult> simulate(const scenario::Resolved& resolved,
                                 workload::Source& source,
                                 const sim::RunControls& controls) {
  const StopWatch clock;
  auto outcome = sim::simulate(resolved, source, controls);
  if (!outcome) {
    return core::fail(outcome.error());
  }
  const double wall_time_s = clock.seconds();
  return run_result(
      resolved,
      *std::move(outcome),
      {.wall_time_s = wall_time_s,
       .host = host_name(),
       .engine_core = controls.core == engine::EngineCore::kReference ? "reference" : "fast"});
}

bool has_workload(const scenario::WorkloadSection& workload) {
  return workload.request_rate || workload.max_concurrency || workload.trace ||
         workload.arrivals == "at-once";
}

core::Result<RunResult> run_for(Host& host,
                                const scenario::Resolved& resolved,
                                const Kept& kept,
                                sim::RunControls controls) {
  if (!has_workload(resolved.scenario().workload)) {
    return core::fail(
        core::Error{.field = "workload",
                    .message = "missing: a run needs request_rate, max_concurrency or trace"});
  }
  auto source = resolved.workload.open();
  if (!source) {
    return core::fail(std::move(source).error());
  }
  controls.interrupt = &host.stop();
  controls.progress = [&host](const sim::Progress& at) { host.progress(at); };
  controls.series_windows = kept.series_windows;
  const auto watch = host.watch(Host::Work::kHere);
  if (const auto begun = host.begin({resolved, **source, controls, kept}); !begun) {
    return core::fail(begun.error());
  }
  auto result = verbs::simulate(resolved, **source, controls);
  host.end(result);
  return result;
}

Reply run_reply(const scenario::Resolved& resolved,
                RunResult&& result,
                const Kept& kept,
                int stopped) {
  const auto whole = shared(std::move(result));
  Reply reply{.run = whole};
  const bool hides = whole->series && !kept.shows_series;
  reply.tree = [whole, hides] {
    return hides ? result_tree(*whole, SeriesIn::kNothing) : result_tree(*whole);
  };
  for (const Exporter& exporter : exporters()) {
    if (!exporter.needs_series || whole->series) {
      reply.views[exporter.name] = view_of(whole, exporter.render);
    }
  }
  reply.figures = [whole] { return report::figures::all_figures(result_tree(*whole)); };
  reply.warnings = whole->warnings;
  if (whole->partial) {
    reply.code = stopped;
  } else if (auto unheard = unanswered(resolved, whole->summary)) {
    reply.code = kInfeasible;
    reply.errors.push_back(*std::move(unheard));
  }
  return reply;
}

Verb run_verb() {
  Verb verb = simulation_verb();
  verb.name = "run";
  verb.summary = "simulate a scenario";
  verb.usage = "run [scenario.yaml] [flags]";
  verb.about =
      "Simulates a scenario: requests made up from a rate and lengths, or from a trace, on one "
      "engine.";
  verb.run = run;
  verb.own = Own::kRun;
  return verb;
}

Verb replay_verb() {
  Verb verb = simulation_verb();
  verb.name = "replay";
  verb.summary = "simulate a recorded trace";
  verb.usage = "replay [scenario.yaml] --trace FILE [flags]";
  verb.about = "Simulates the requests of a recorded trace on one engine.";
  verb.purpose = scenario::Purpose::kReplay;
  verb.run = replay;
  verb.own = Own::kRun;
  return verb;
}

}  // namespace ridgeline::verbs
