#include "plan/fluid.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>

#include "core/math.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "engine/capacity.hpp"
#include "engine/options.hpp"
#include "metrics/slo.hpp"
#include "plan/demand.hpp"
#include "plan/target.hpp"
#include "scenario/deployment.hpp"

namespace ridgeline::plan {
namespace {

/// A root is known to 1 part in 10^6: elasticities are differences of 4 % of it.
constexpr double kPrecision = 1e-6;
/// Enough to halve any interval to that, had every step to.
constexpr int kMostSteps = 60;
/// Rates below a millionth of the most that could be served are none.
constexpr double kLowestShare = 1e-6;
/// Above their seats, clients of a closed loop only wait.
constexpr double kClientsPerSeat = 4.0;
/// Limit on how far a target is missed: more does not help to find where it is met.
constexpr double kMostExcess = 1.0;

/// Where a function of one sign at `low` and the other at `high` changes it: by false position; an
/// end that stays counts half (the Illinois rule), and where an interval is not halved in two steps
/// the next one halves it, by ratio where it spans some. Gives the end at `high`.
template <class Function>
double crossing(double low, double at_low, double high, double at_high, const Function& function) {
  double before = high - low;
  int kept = 0;  // Below 0: low stayed so often; above: high.
  for (int i = 0; i < kMostSteps && high - low > kPrecision * high; ++i) {
    double x = (low * at_high - high * at_low) / (at_high - at_low);
    const bool is_slow = i % 2 == 1 && high - low > before / 2.0;
    before = i % 2 == 1 ? high - low : before;
    if (is_slow || !(x > low && x < high)) {
      x = high > 4.0 * low ? std::sqrt(low * high) : (low + high) / 2.0;
    }
    const double at = function(x);
    if (std::abs(at) <= kPrecision) {
      return x;
    }
    if ((at > 0.0) == (at_high > 0.0)) {
      high = x;
      at_high = at;
      kept = kept < 0 ? kept - 1 : -1;
      at_low = kept < -1 ? at_low / 2.0 : at_low;
    } else {
      low = x;
      at_low = at;
      kept = kept > 0 ? kept + 1 : 1;
      at_high = kept > 1 ? at_high / 2.0 : at_high;
    }
  }
  return high;
}

std::int64_t pipeline_stages(const FluidInputs& inputs) {
  return std::max<std::int64_t>(1, inputs.deployment.section.engine.pipeline_parallel_size);
}

double budget(const FluidInputs& inputs) {
  return core::real(engine::token_budget(inputs.deployment.engine).value());
}

/// KV of a decoding request: its prompt, and half its answer.
double mean_context(const Demand& demand) {
  return demand.mean_input + core::real(demand.spared) + demand.mean_output / 2.0;
}

/// Tokens that a step yields per decoding request; above 1 with speculation.
double tokens_per_step(const FluidInputs& inputs) {
  const engine::EngineOptions& options = inputs.deployment.engine;
  double tokens = 1.0;
  double accepted = 1.0;
  for (std::int64_t i = 0; i < options.num_speculative_tokens; ++i) {
    if (options.draft_acceptance.empty()) {
      break;
    }
    const auto at =
        std::min<std::size_t>(static_cast<std::size_t>(i), options.draft_acceptance.size() - 1);
    accepted *= options.draft_acceptance[at];
    tokens += accepted;
  }
  return tokens;
}

/// What a step at time T carries, and how long it then takes.
struct Step {
  double decodes = 0.0;
  double prompt = 0.0;
  double chunk = 0.0;
  double share = 0.0;
  double seconds = 0.0;
};

Step step_at(const FluidInputs& inputs, double rate, double seconds) {
  const Demand& demand = inputs.demand;
  const auto stages = core::real(pipeline_stages(inputs));
  Step step;
  const double decoding = rate * demand.mean_output / tokens_per_step(inputs) * seconds;
  step.decodes = decoding / stages;
  step.prompt = rate * demand.mean_input * seconds / stages;
  // Prompts that come one at a time fill a step with what is left of them.
  const double room = std::max(1.0, budget(inputs) - step.decodes);
  step.chunk = std::min(room, std::max(1.0, demand.mean_input));
  step.share = std::min(1.0, step.prompt / step.chunk);
  if (step.prompt > step.chunk) {
    step.chunk = std::min(room, step.prompt);
  }
  // Means of decodes below one are steps that are not made: the one that is has one.
  const auto decodes = static_cast<std::int64_t>(std::max(1.0, std::ceil(step.decodes)));
  const double context = mean_context(demand);
  const double plain = step_seconds(inputs, decodes, context, 0);
  const double loaded =
      step_seconds(inputs, decodes, context, std::llround(step.chunk), demand.spared);
  step.seconds = (1.0 - step.share) * plain + step.share * loaded;
  return step;
}

/// The longest step at which seats and the budget of tokens suffice.
double longest_step(const FluidInputs& inputs, double rate) {
  const Demand& demand = inputs.demand;
  const auto stages = core::real(pipeline_stages(inputs));
  const double decode_rate = rate * demand.mean_output / tokens_per_step(inputs);
  const double by_seats = most_running(inputs) / decode_rate;
  const double by_tokens = stages * budget(inputs) / (decode_rate + rate * demand.mean_input);
  return std::min(by_seats, by_tokens);
}

/// By how much a step takes longer than seats and budget allow, as a share; below 0: it is stable.
double instability(const FluidInputs& inputs, double rate) {
  const double longest = longest_step(inputs, rate);
  return step_at(inputs, rate, longest).seconds / longest - 1.0;
}

/// What a prompt is to the server.
struct Prompt {
  double busy_s = 0.0;   ///< How long one of mean length keeps it from others.
  double alone_s = 0.0;  ///< How long that takes with no other prompt before it.
};

/// Steps of a prompt beside the decodes of that state.
double prompt_s(const FluidInputs& inputs, const FluidState& state, double input) {
  const auto decodes = static_cast<std::int64_t>(std::max(1.0, std::ceil(state.decodes)));
  const double room = std::max(1.0, budget(inputs) - state.decodes);
  const double chunks = std::ceil(input / room);
  return chunks * step_seconds(inputs,
                               decodes,
                               mean_context(inputs.demand),
                               std::max<std::int64_t>(1, std::llround(input / chunks)),
                               inputs.demand.spared);
}

Prompt prompt_at(const FluidInputs& inputs, const FluidState& state) {
  const double input = std::max(1.0, inputs.demand.mean_input);
  const double room = std::max(1.0, budget(inputs) - state.decodes);
  // Where a step has room for several prompts, they share what the step takes anyway.
  const double full = std::min(room, std::max(std::min(room, input), state.chunk_tokens));
  return {.busy_s = input / full * prompt_s(inputs, state, full),
          .alone_s = prompt_s(inputs, state, input)};
}

/// Tokens to compute of the prompt that the target's quantile of the requests has.
double quantile_input(const Demand& demand, const Target& target) {
  const auto size = core::real(static_cast<std::int64_t>(demand.by_input.size()));
  const auto at = static_cast<std::size_t>((1.0 - target.allowed_share) * (size - 1.0));
  return std::max(1.0, core::real(demand.by_input[at].input - demand.spared));
}

/// By what share a first token is later than its limit: P(wait > t) = rho * exp(-t (1 - rho) / (S
/// (1 + scv) / 2)), the exponential tail of an M/G/1 queue (its heavy-traffic form). A percentile
/// is that of a prompt of mean length which waits as long as few do, or of a long one that waits
/// for the mean.
double ttft_excess(const FluidInputs& inputs, const FluidState& state, const Target& target) {
  const double limit = target.limit_of(metrics::Metric::kTtft)->to_seconds();
  const Prompt prompt = prompt_at(inputs, state);
  const double busy = state.rate * prompt.busy_s;
  if (busy >= 1.0) {
    return kMostExcess;
  }
  // A prompt waits for the step in flight besides.
  const double spread = prompt.busy_s * (1.0 + inputs.demand.input_scv) / 2.0 / (1.0 - busy);
  const double mean_wait = busy * spread + state.step_s / 2.0;
  if (target.is_mean()) {
    return (prompt.alone_s + mean_wait) / limit - 1.0;
  }
  const double tail =
      busy > target.allowed_share ? spread * core::log(busy / target.allowed_share) : 0.0;
  const double of_wait = prompt.alone_s + tail + state.step_s / 2.0;
  const double of_length =
      prompt_s(inputs, state, quantile_input(inputs.demand, target)) + mean_wait;
  return std::max(of_wait, of_length) / limit - 1.0;
}

/// By what share the target that is missed most is missed; below 0: all are met.
double excess(const FluidInputs& inputs, const FluidState& state, const Targets& targets) {
  double worst = -kMostExcess;
  const double token_s = state.step_s / tokens_per_step(inputs);
  for (const Target& target : targets) {
    if (const auto tpot = target.limit_of(metrics::Metric::kTpot)) {
      worst = std::max(worst, token_s / tpot->to_seconds() - 1.0);
    }
    if (const auto e2e = target.limit_of(metrics::Metric::kE2e)) {
      worst = std::max(worst, inputs.demand.mean_output * token_s / e2e->to_seconds() - 1.0);
    }
    if (target.limit_of(metrics::Metric::kTtft)) {
      worst = std::max(worst, ttft_excess(inputs, state, target));
    }
  }
  return std::min(worst, kMostExcess);
}

/// The highest rate up to `highest` at which an excess, which grows with it, is not above 0.
template <class Excess>
double highest_rate(double highest, const Excess& excess_at) {
  const double low = highest * kLowestShare;
  const double at_low = excess_at(low);
  if (at_low > 0.0) {
    return 0.0;
  }
  const double at_high = excess_at(highest);
  if (at_high <= 0.0) {
    return highest;
  }
  return crossing(low, at_low, highest, at_high, excess_at);
}

}  // namespace

double step_seconds(const FluidInputs& inputs,
                    std::int64_t decodes,
                    double context_each,
                    std::int64_t chunk,
                    std::int64_t past) {
  const std::array<domain::PrefillChunk, 1> chunks = {domain::PrefillChunk{
      .past = core::Tokens(past), .new_tokens = core::Tokens(chunk), .samples = true}};
  domain::StepBatch batch;
  batch.num_decodes = decodes;
  batch.decode_context = core::Tokens(std::llround(core::real(decodes) * context_each));
  if (chunk > 0) {
    batch.prefills = chunks;
  }
  std::vector<core::Tokens> lengths;
  if (inputs.model.needs_decode_lengths()) {
    lengths.assign(static_cast<std::size_t>(decodes), core::Tokens(std::llround(context_each)));
    batch.decode_lengths = lengths;
  }
  const domain::StepTime time = inputs.model.predict(batch);
  const std::int64_t sequences = decodes + (chunk > 0 ? 1 : 0);
  core::Duration host = inputs.deployment.host.of(sequences, time.cpu);
  if (inputs.host_scale != 1.0) {
    host = core::Duration::saturating(core::Seconds(host.to_seconds() * inputs.host_scale));
  }
  return engine::step_period(time.gpu(),
                             host,
                             inputs.deployment.host.front(sequences),
                             engine::hides_host(inputs.deployment.engine))
      .to_seconds();
}

double most_running(const FluidInputs& inputs) {
  const engine::EngineOptions& options = inputs.deployment.engine;
  const engine::MemoryPlan& plan = inputs.deployment.memory;
  const double context = mean_context(inputs.demand);
  // A shared prefix lies in memory once.
  const auto tokens = core::Tokens(
      std::max<std::int64_t>(1, std::llround(context - core::real(inputs.demand.spared))));
  const std::int64_t each =
      plan.layouts.empty()
          ? (tokens.value() + options.block_size.value() - 1) / options.block_size.value()
          : engine::blocks_of_request(plan, tokens, core::Tokens(1));
  const double by_blocks = inputs.kv_scale * core::real(options.num_gpu_blocks.value() - 1) /
                           core::real(std::max<std::int64_t>(1, each));
  const double seats = core::real(options.max_num_seqs) *
                       core::real(std::max<std::int64_t>(
                           1, inputs.deployment.section.engine.pipeline_parallel_size));
  return std::max(1.0, std::min(seats, by_blocks));
}

std::optional<FluidState> fluid_state(const FluidInputs& inputs, double rate) {
  double high = longest_step(inputs, rate);
  if (step_at(inputs, rate, high).seconds > high) {
    return std::nullopt;
  }
  const double low = std::min(high, step_at(inputs, rate, 0.0).seconds);
  const auto longer = [&](double seconds) {
    return step_at(inputs, rate, seconds).seconds / seconds - 1.0;
  };
  const double at_low = longer(low);
  const double at_high = longer(high);
  if (at_low > 0.0 && at_high < 0.0) {
    high = crossing(low, at_low, high, at_high, longer);
  } else if (at_low <= 0.0) {
    high = low;
  }
  const Step step = step_at(inputs, rate, high);
  return FluidState{.rate = rate,
                    .step_s = high,
                    .decodes = step.decodes,
                    .chunk_share = step.share,
                    .chunk_tokens = step.chunk};
}

double fluid_saturation(const FluidInputs& inputs) {
  // No step is shorter than that of one request alone, and each yields most_running() tokens.
  const double shortest = step_seconds(inputs, 1, 1.0, 0);
  const double highest = most_running(inputs) * tokens_per_step(inputs) /
                         std::max(1.0, inputs.demand.mean_output) / shortest;
  return highest_rate(highest, [&](double rate) { return instability(inputs, rate); });
}

double fluid_capacity(const FluidInputs& inputs, const Targets& targets) {
  return fluid_capacity(inputs, targets, fluid_saturation(inputs));
}

double fluid_capacity(const FluidInputs& inputs, const Targets& targets, double saturation) {
  if (saturation <= 0.0) {
    return 0.0;
  }
  const double rate = highest_rate(saturation, [&](double at) {
    const auto state = fluid_state(inputs, at);
    return state ? excess(inputs, *state, targets) : kMostExcess;
  });
  if (!inputs.demand.clients || rate <= 0.0) {
    return rate;
  }
  // Little's law: clients are requests in flight.
  const auto state = fluid_state(inputs, rate);
  if (!state) {
    return 0.0;
  }
  const double in_prompt = prompt_at(inputs, *state).alone_s;
  return rate * (in_prompt + inputs.demand.mean_output * state->step_s / tokens_per_step(inputs));
}

LoadRange load_range(const FluidInputs& inputs,
                     const Targets& targets,
                     double deployments,
                     double max_utilisation) {
  const double saturation = fluid_saturation(inputs);
  LoadRange range{.guess = fluid_capacity(inputs, targets, saturation) * deployments,
                  .fullest = saturation * deployments};
  range.highest = max_utilisation * range.fullest;
  if (inputs.demand.clients) {
    const bool sees_waiting = std::ranges::any_of(targets, [](const Target& target) {
      return target.limit_of(metrics::Metric::kTtft) || target.limit_of(metrics::Metric::kE2e);
    });
    range.fullest = std::floor(most_running(inputs)) * deployments;
    range.highest = range.fullest * (sees_waiting ? kClientsPerSeat : 1.0);
  }
  return range;
}

}  // namespace ridgeline::plan
