#include "scenario/requests.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "scenario/rank_share.hpp"
#include "scenario/scenario.hpp"
#include "scenario/structured_outputs.hpp"
#include "workload/agents/options.hpp"
#include "workload/agents/source.hpp"
#include "workload/options.hpp"
#include "workload/source.hpp"
#include "workload/structured_outputs.hpp"
#include "workload/trace_part.hpp"
#include "workload/traces/trace.hpp"

namespace ridgeline::scenario {

namespace {

/// As many as vLLM's `bench serve` sends without --num-prompts.
constexpr std::int64_t kDefaultPrompts = 1000;

/// Clients that send again when they have their answer: no times are drawn.
bool is_closed_loop(const WorkloadSection& section) {
  return section.max_concurrency && !section.request_rate && !section.trace;
}

workload::Arrivals arrivals_of(const WorkloadSection& section) {
  if (is_closed_loop(section)) {
    using Kind = workload::ThinkTime::Kind;
    const bool exponential = section.think_time_distribution == "exponential";
    return workload::ClosedLoop{
        .max_concurrency = *section.max_concurrency,
        .think = {.kind = exponential ? Kind::kExponential : Kind::kConstant,
                  .mean = section.think_time.value_or(core::Duration())}};
  }
  if (section.arrivals == "at-once") {
    return workload::AllAtOnce{};
  }
  const core::Rate rate(section.request_rate.value_or(0.0));
  if (section.arrivals == "constant") {
    return workload::ConstantArrivals{rate};
  }
  const double burstiness = section.burstiness.value_or(1.0);
  if (burstiness == 1.0) {
    return workload::PoissonArrivals{rate};
  }
  return workload::GammaArrivals{.request_rate = rate, .burstiness = burstiness};
}

/// Gives a setting that is open its value.
template <class Slot, class Value>
void fill(Slot& slot, Value value) {
  if (!slot) {
    slot = std::move(value);
  }
}

void fill_arrivals(WorkloadSection& workload) {
  fill(workload.arrivals, "poisson");
  if (workload.arrivals == "poisson") {
    fill(workload.burstiness, 1.0);
  }
}

void fill_agents(WorkloadSection& workload) {
  const workload::agents::ReplayOptions options =
      *workload::agents::scenario_options(*workload.agent_scenario);
  fill(workload.duration, options.duration);
  fill(workload.trajectory_start_min_ratio, options.start_min_ratio);
  fill(workload.trajectory_start_max_ratio, options.start_max_ratio);
  fill(workload.warmup_requests_per_lane, options.warmup_requests_per_lane.value_or(0));
  fill(workload.trace_idle_gap_cap, options.tree_idle_cap.value_or(core::Duration()));
  fill(workload.system_idle_gap_cap, options.system_idle_cap.value_or(core::Duration()));
  fill(workload.num_dataset_entries, workload::agents::Selection().num_dataset_entries);
  fill(workload.random_seed, options.seed);
}

/// The replay that a filled section of agent traces asks for, of its rank.
core::Result<std::unique_ptr<workload::Source>> open_agents(const WorkloadSection& section,
                                                            const WorkloadSection& rank) {
  namespace agents = workload::agents;
  const auto cap = [](core::Duration time) {
    return time > core::Duration() ? std::optional(time) : std::nullopt;
  };
  agents::ReplayOptions options = *agents::scenario_options(*section.agent_scenario);
  options.concurrency = rank.max_concurrency.value_or(1);
  options.duration = *section.duration;
  options.start_min_ratio = *section.trajectory_start_min_ratio;
  options.start_max_ratio = *section.trajectory_start_max_ratio;
  options.warmup_requests_per_lane = section.warmup_requests_per_lane;
  if (*section.warmup_requests_per_lane <= 0) {
    options.warmup_requests_per_lane.reset();
  }
  options.tree_idle_cap = cap(*section.trace_idle_gap_cap);
  options.system_idle_cap = cap(*section.system_idle_gap_cap);
  options.seed = *section.random_seed;
  auto trees = agents::read_trees(*section.trace,
                                  {.max_context_length = section.max_context_length,
                                   .num_dataset_entries = *section.num_dataset_entries});
  if (!trees) {
    return core::fail(std::move(trees.error()));
  }
  return std::make_unique<agents::AgentSource>(std::move(*trees), options);
}

}  // namespace

void fill_workload(WorkloadSection& workload) {
  if (has_structured_outputs(workload)) {
    fill(workload.structured_output_schemas, 1);
  }
  if (workload.agent_scenario) {
    fill_agents(workload);
    return;
  }
  if (workload.trace) {
    fill(workload.trace_start, core::Duration());
    fill(workload.trace_speed_up, 1.0);
    fill(workload.trace_sessions, "recorded");
    fill(workload.skip_bad_rows, false);
    if (workload.request_rate) {
      fill_arrivals(workload);
    }
    return;
  }
  if (!workload.request_rate && !workload.max_concurrency && workload.arrivals != "at-once") {
    return;
  }
  if (!workload.duration) {
    fill(workload.num_prompts, kDefaultPrompts);
  }
  if (is_closed_loop(workload)) {
    fill(workload.think_time, core::Duration());
    fill(workload.think_time_distribution, "constant");
  } else {
    fill_arrivals(workload);
  }
  fill(workload.prefix_len, 0);
  if (workload.prefix_len > 0) {
    fill(workload.num_prefixes, 1);
    fill(workload.prefix_choice, "uniform");
    if (workload.prefix_choice == "zipf") {
      fill(workload.prefix_zipf_exponent, 1.0);
    }
  }
}

workload::SyntheticOptions synthetic_options(const WorkloadSection& section, std::int64_t seed) {
  workload::SyntheticOptions options;
  options.arrivals = arrivals_of(section);
  if (!is_closed_loop(section)) {
    options.max_concurrency = section.max_concurrency;
  }
  options.input_len = section.input_len.value_or(options.input_len);
  options.output_len = section.output_len.value_or(options.output_len);
  if (section.prefix_len.value_or(0) > 0) {
    using Choice = workload::SharedPrefix::Choice;
    options.prefix = workload::SharedPrefix{
        .prefix_len = core::Tokens(*section.prefix_len),
        .num_prefixes = section.num_prefixes.value_or(1),
        .choice = section.prefix_choice == "zipf" ? Choice::kZipf : Choice::kUniform,
        .zipf_exponent = section.prefix_zipf_exponent.value_or(1.0)};
  }
  options.num_prompts = section.num_prompts;
  options.duration = section.duration;
  options.seed = static_cast<std::uint64_t>(seed);
  return options;
}

RankShare Workload::share() const {
  return {ranks,
          {.clients = section.max_concurrency,
           .closed_loop = is_closed_loop(section),
           .requests = section.trace ? std::nullopt : section.num_prompts}};
}

WorkloadSection Workload::of_rank() const {
  WorkloadSection rank = section;
  if (ranks == 1) {
    return rank;
  }
  const RankShare deal = share();
  if (section.num_prompts &&
      !section.trace) {  // A trace gives so many, and they are then dealt out.
    rank.num_prompts = deal.requests(*section.num_prompts);
  }
  if (section.max_concurrency) {
    rank.max_concurrency = deal.clients(*section.max_concurrency);
  }
  if (section.request_rate) {
    rank.request_rate = deal.rate(*section.request_rate);
  }
  return rank;
}

core::Result<std::unique_ptr<workload::Source>> Workload::open() const {
  auto source = open_source();
  if (!source || !has_structured_outputs(section)) {
    return source;
  }
  return std::make_unique<workload::StructuredOutputs>(
      std::move(*source),
      workload::StructuredOutputOptions{.ratio = *section.structured_output_ratio,
                                        .schemas = *section.structured_output_schemas,
                                        .seed = static_cast<std::uint64_t>(seed)});
}

core::Result<std::unique_ptr<workload::Source>> Workload::open_source() const {
  if (section.trace) {
    auto source =
        section.agent_scenario
            ? open_agents(section, of_rank())
            : workload::open_trace(
                  *section.trace,
                  {.part = {.start = section.trace_start.value_or(core::Duration()),
                            .end = section.trace_end,
                            .tenants = workload::split_names(section.trace_tenant.value_or("")),
                            .models = workload::split_names(section.trace_model.value_or(""))},
                   .num_prompts = section.num_prompts,
                   .speed_up = section.trace_speed_up.value_or(1.0),
                   .arrivals = section.request_rate || section.arrivals
                                   ? std::optional(arrivals_of(section))
                                   : std::nullopt,
                   .max_concurrency = of_rank().max_concurrency,
                   .duration = section.duration,
                   .skip_bad_rows = section.skip_bad_rows.value_or(false),
                   .session_times = section.trace_sessions == "answered"
                                        ? workload::SessionTimes::kAnswered
                                        : workload::SessionTimes::kRecorded,
                   .seed = static_cast<std::uint64_t>(seed),
                   .ranks = share().loaded_ranks()});
    if (!source) {
      for (auto& error : source.error()) {
        error.field = error.field.empty() ? "workload.trace" : error.field;
      }
    }
    return source;
  }
  return workload::make_synthetic(synthetic_options(of_rank(), seed));
}

}  // namespace ridgeline::scenario
