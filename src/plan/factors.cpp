#include "plan/factors.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/distributions.hpp"
#include "core/math.hpp"
#include "core/shell_word.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "engine/serving.hpp"
#include "latency/accuracy/bands.hpp"
#include "metrics/slo.hpp"
#include "model/model_spec.hpp"
#include "model/network_id.hpp"
#include "model/operators.hpp"
#include "model/weight_format.hpp"
#include "plan/demand.hpp"
#include "plan/doubt.hpp"
#include "plan/fluid.hpp"
#include "plan/operator_class.hpp"
#include "plan/operator_errors.hpp"
#include "plan/scaled_model.hpp"
#include "plan/sure_load.hpp"
#include "plan/target.hpp"
#include "scenario/deployment.hpp"

namespace ridgeline::plan {
namespace {

/// Differences are taken over this share to both sides.
constexpr double kStep = 0.02;
/// An elasticity below this moves nothing.
constexpr double kNoEffect = 1e-3;
/// Half of the interval in which the KV blocks lie, as a share: the overhead beside weights and
/// activations spans 0.4 to 1.5 GiB on dense networks where 1.2 is taken (planner.md, section 7).
constexpr double kKvHalfWidth = 0.06;
/// Noise of the logarithm once measured. An operator differs by 2 to 5 % from one vLLM version to
/// the next (docs/accuracy.md, "The data's own spread"): their middle. Served means move by 0.1 to
/// 0.7 % with another draw, first tokens of lone prompts hardly; a capacity by what a run of ten
/// minutes leaves. The number of KV blocks is read off a log.
constexpr double kNoiseOfOperator = 0.035;
constexpr double kNoiseOfTpot = 0.005;
constexpr double kNoiseOfTtft = 0.01;
constexpr double kNoiseOfCapacity = 0.03;
constexpr double kNoiseOfKv = 0.001;
/// Minutes that a measurement takes (planner.md, section 7).
constexpr double kMinutesOfOperator = 3.0;
constexpr double kMinutesOfPrompt = 1.0;
constexpr double kMinutesOfTokens = 3.0;
constexpr double kMinutesOfCapacity = 10.0;
constexpr double kSecondsPerMinute = 60.0;
/// Answers of each client, so that most steps have all of them in flight.
constexpr std::int64_t kRoundsOfTokens = 4;

/// Standard deviation of a variable that is uniform over an interval of that width.
double sd_of_uniform(double width) {
  return width / std::sqrt(12.0);
}

double squared(double x) {
  return x * x;
}

/// Standard deviation of the logarithm of a latency, by the ends of its band; 0 without one.
double log_sd(const std::optional<accuracy::Band>& band) {
  constexpr double kHigh = 0.95;
  constexpr double kLow = 0.05;
  return band ? (accuracy::log_ratio_at(*band, kHigh) - accuracy::log_ratio_at(*band, kLow)) /
                    (2.0 * core::normal_quantile(kHigh))
              : 0.0;
}

/// What of tools/profiler measures a class.
constexpr std::array<std::string_view, kNumOperatorClasses> kProfilerOps = {
    "gemm",
    "prefill_attention,mla_prefill",
    "decode_attention,mla_decode",
    "grouped_gemm",
    "collective",
    "rms_norm,rotary,activation",
    "sampling",
    "launch_gap"};

std::string profiler_command(OperatorClass kind) {
  return fmt::format(
      "PYTHONPATH=tools/profiler python3 -m ridgeline_profiler --ops {} --budget {:.0f} --out "
      "kernels",
      kProfilerOps[static_cast<std::size_t>(kind)],
      kMinutesOfOperator);
}

std::string name_of(const model::ModelSpec& network) {
  return network.hf_id.empty() ? network.name : network.hf_id;
}

std::string_view width_word(model::DType type) {
  const double bytes = model::bytes_per_element(type);
  return bytes >= 2.0 ? "16bit" : bytes >= 1.0 ? "8bit" : "4bit";
}

/// The width of what a class works on, as the tables of operators go by.
std::string_view precision_of(OperatorClass kind, const model::ModelSpec& network) {
  switch (kind) {
    case OperatorClass::kGemm:
      return width_word(model::has_experts(network) ? network.precision.attention
                                                    : network.precision.ffn);
    case OperatorClass::kExperts:
      return width_word(network.precision.ffn);
    case OperatorClass::kDecodeAttention:
      return width_word(network.precision.kv);
    default:
      return "16bit";
  }
}

class Examiner {
 public:
  explicit Examiner(const FluidCandidate& candidate)
      : candidate_(candidate),
        deployment_(candidate.deployment),
        parts_(*deployment_.latency),
        targets_(candidate.targets) {}

  [[nodiscard]] CandidateCauses examine() {
    capacity_ = fluid_capacity(inputs(*deployment_.latency), targets_);
    CandidateCauses found;
    if (!(capacity_ > 0.0)) {
      return found;
    }
    find_shares();
    for (std::size_t kind = 0; kind < kNumOperatorClasses; ++kind) {
      add_operator(static_cast<OperatorClass>(kind), found);
    }
    add_kv_blocks(found.causes);
    add_serving(found);
    found.decodes = decodes_;
    found.capacity = capacity_;
    return found;
  }

 private:
  [[nodiscard]] FluidInputs inputs(const latency::StepTimeModel& model) const {
    return {.deployment = deployment_, .model = model, .demand = candidate_.demand};
  }

  /// d log capacity / d log x, of a capacity at x = 1 + kStep and 1 - kStep.
  /// `share`: of a cause in the latency, which is all that a cliff tells of it.
  [[nodiscard]] static double difference(double above, double below, double share = 1.0) {
    if (!(above > 0.0) || !(below > 0.0)) {
      // The targets are met on one side alone. As steep as the step can show.
      return (above > below ? 1.0 : above < below ? -1.0 : 0.0) * share / kStep;
    }
    return (core::log(above) - core::log(below)) /
           (core::log(1.0 + kStep) - core::log(1.0 - kStep));
  }

  /// Shares of the classes in a token's time at the batch planned, and in a lone prompt's.
  void find_shares() {
    const auto state = fluid_state(inputs(*deployment_.latency), request_rate());
    const Demand& demand = candidate_.demand;
    const auto decodes =
        static_cast<std::int64_t>(std::max(1.0, std::round(state ? state->decodes : 1.0)));
    const double context = demand.mean_input + core::real(demand.spared) + demand.mean_output / 2.0;
    domain::StepBatch batch;
    batch.num_decodes = decodes;
    batch.decode_context = core::Tokens(std::llround(core::real(decodes) * context));
    std::vector<core::Tokens> lengths(static_cast<std::size_t>(decodes),
                                      core::Tokens(std::llround(context)));
    if (deployment_.latency->needs_decode_lengths()) {
      batch.decode_lengths = lengths;
    }
    const double chunk_share = state ? state->chunk_share : 0.0;
    const std::array<domain::PrefillChunk, 1> chunk = {
        domain::PrefillChunk{.past = core::Tokens(demand.spared),
                             .new_tokens = core::Tokens(std::max<std::int64_t>(
                                 1, std::llround(state ? state->chunk_tokens : 1.0)))}};
    const TimeByClass plain = parts_.of(batch);
    batch.prefills = chunk;
    const TimeByClass loaded = parts_.of(batch);
    domain::StepBatch lone;
    const std::array<domain::PrefillChunk, 1> prompt = {domain::PrefillChunk{
        .past = core::Tokens(demand.spared),
        .new_tokens = core::Tokens(std::max<std::int64_t>(1, std::llround(demand.mean_input)))}};
    lone.prefills = prompt;
    tpot_ = TimeByClass{};
    ttft_ = parts_.of(lone);
    for (std::size_t kind = 0; kind < kNumOperatorClasses; ++kind) {
      tpot_[kind] = (1.0 - chunk_share) * plain[kind] + chunk_share * loaded[kind];
      tpot_s_ += tpot_[kind];
      ttft_s_ += ttft_[kind];
    }
    ttft_s_ += path_seconds();
    decodes_ = decodes;
  }

  /// The rate of the state that the capacity is: of a closed loop, of its clients by Little's law.
  [[nodiscard]] double request_rate() const {
    if (!candidate_.demand.clients) {
      return capacity_;
    }
    return fluid_saturation(inputs(*deployment_.latency)) / 2.0;
  }

  [[nodiscard]] double path_seconds() const {
    const engine::RequestPath& path = deployment_.path;
    return (path.network + path.frontend + path.handoff + path.emit + path.deliver).to_seconds() +
           path.frontend_per_token.to_seconds() * candidate_.demand.mean_input;
  }

  void add_operator(OperatorClass kind, CandidateCauses& found) const {
    const auto index = static_cast<std::size_t>(kind);
    if (!(tpot_[index] > 0.0) && !(ttft_[index] > 0.0)) {
      return;
    }
    const auto capacity = [&](double scale) {
      OperatorScales scales = kUnscaled;
      scales[index] = scale;
      const ScaledModel model(*deployment_.latency, parts_, scales);
      return fluid_capacity(inputs(model), targets_);
    };
    const std::string_view precision = precision_of(kind, deployment_.network);
    const std::string& gpu = deployment_.gpu.name;
    const bool by_precision = precision != "16bit";
    const OperatorError error = operator_error(kind, precision, deployment_.gpu);
    Cause cause;
    cause.factor = {.name = fmt::format("{}{}, {}",
                                        kOperatorClassNames[index],
                                        by_precision ? fmt::format(" of {}", precision) : "",
                                        gpu),
                    .gpu = gpu,
                    .sd = error.sd,
                    .noise = kNoiseOfOperator,
                    .command = profiler_command(kind),
                    .minutes = kMinutesOfOperator,
                    .is_kernel = true};
    cause.of_tpot = tpot_[index] / tpot_s_;
    cause.of_ttft = ttft_[index] / ttft_s_;
    cause.elasticity = difference(
        capacity(1.0 + kStep), capacity(1.0 - kStep), std::max(cause.of_tpot, cause.of_ttft));
    found.doubt.amplification -= cause.elasticity;
    found.causes.push_back(std::move(cause));
  }

  void add_kv_blocks(std::vector<Cause>& found) const {
    const auto capacity = [&](double scale) {
      FluidInputs scaled = inputs(*deployment_.latency);
      scaled.kv_scale = scale;
      return fluid_capacity(scaled, targets_);
    };
    const std::string& gpu = deployment_.gpu.name;
    Cause cause;
    cause.factor = {.name = fmt::format("KV blocks of {}, {}", deployment_.network.name, gpu),
                    .gpu = gpu,
                    .sd = sd_of_uniform(2.0 * kKvHalfWidth),
                    .noise = kNoiseOfKv,
                    .command = fmt::format("vllm serve {} --tensor-parallel-size {} 2>&1 | grep "
                                           "'GPU KV cache size'",
                                           core::shell_word(name_of(deployment_.network)),
                                           deployment_.execution.sharding.tensor_parallel_size),
                    .minutes = kMinutesOfOperator};
    cause.elasticity = difference(capacity(1.0 + kStep), capacity(1.0 - kStep));
    cause.is_scaled = false;
    found.push_back(std::move(cause));
  }

  /// The capacity where a first token may take that share longer or shorter than its target.
  [[nodiscard]] double capacity_with_limit(double scale) const {
    Targets moved = targets_;
    for (Target& target : moved) {
      auto& limit = target.limits[static_cast<std::size_t>(metrics::Metric::kTtft)];
      if (limit) {
        limit = core::Duration::saturating(core::Seconds(limit->to_seconds() * scale));
      }
    }
    return fluid_capacity(inputs(*deployment_.latency), moved);
  }

  /// Seconds that a constant of data/serving takes of a first token here.
  [[nodiscard]] double seconds_of(std::string_view name) const {
    const engine::RequestPath& path = deployment_.path;
    if (name == "network") {
      return (path.network + path.deliver).to_seconds();
    }
    if (name == "frontend") {
      return path.frontend.to_seconds();
    }
    if (name == "frontend_per_token") {
      return path.frontend_per_token.to_seconds() * candidate_.demand.mean_input;
    }
    if (name == "handoff") {
      return (path.handoff + path.emit).to_seconds();
    }
    return 0.0;
  }

  void add_serving(CandidateCauses& found) const {
    std::optional<core::Duration> limit;
    for (const Target& target : targets_) {
      if (const auto own = target.limit_of(metrics::Metric::kTtft);
          own && (!limit || *own < *limit)) {
        limit = own;
      }
    }
    // Time on the request's path leaves less of the target for prompts and their queue.
    found.by_ttft =
        limit ? difference(capacity_with_limit(1.0 + kStep), capacity_with_limit(1.0 - kStep))
              : 0.0;
    const double by_limit = limit ? found.by_ttft / limit->to_seconds() : 0.0;
    const auto host_capacity = [&](double scale) {
      FluidInputs scaled = inputs(*deployment_.latency);
      scaled.host_scale = scale;
      return fluid_capacity(scaled, targets_);
    };
    const double of_host = difference(host_capacity(1.0 + kStep), host_capacity(1.0 - kStep));
    const double host_s = deployment_.host.of(decodes_, {}).to_seconds();
    for (const engine::ServingConstant& constant : engine::serving_constants().table) {
      Cause cause;
      cause.factor = {.name = fmt::format("server: {}", constant.name),
                      .sd = sd_of_uniform((constant.highest - constant.lowest) / constant.value)};
      const double seconds = seconds_of(constant.name);
      cause.elasticity = -by_limit * seconds;
      cause.of_ttft = seconds / ttft_s_;
      if (host_s > 0.0 && constant.name == "host_per_step") {
        cause.elasticity = of_host * deployment_.host.per_step.to_seconds() / host_s;
      } else if (host_s > 0.0 && constant.name == "host_per_sequence") {
        cause.elasticity =
            of_host * deployment_.host.per_sequence.to_seconds() * core::real(decodes_) / host_s;
      }
      found.causes.push_back(std::move(cause));
    }
  }

  const FluidCandidate& candidate_;
  const scenario::Deployment& deployment_;
  StepParts parts_;
  const Targets& targets_;
  double capacity_ = 0.0;
  TimeByClass tpot_{};
  TimeByClass ttft_{};
  double tpot_s_ = 0.0;
  double ttft_s_ = 0.0;
  std::int64_t decodes_ = 1;
};

/// Gives the causes their scale: the spread of a token's time is that of the band of TPOT. What the
/// band of TTFT has beyond what these make of a first token is one cause more: errors of queues and
/// of what comes before the kernels.
void scale_causes(const FluidCandidate& candidate,
                  const LatencyDoubt& bands,
                  CandidateCauses& found) {
  double of_tpot = 0.0;
  double of_ttft = 0.0;
  for (const Cause& cause : found.causes) {
    if (cause.is_scaled) {
      of_tpot += squared(cause.of_tpot * cause.factor.sd);
      of_ttft += squared(cause.of_ttft * cause.factor.sd);
    }
  }
  double& scale = found.doubt.scale;
  if (bands.tpot && of_tpot > 0.0) {
    scale = log_sd(bands.tpot) / std::sqrt(of_tpot);
  }
  for (Cause& cause : found.causes) {
    cause.scale = cause.is_scaled ? scale : 1.0;
  }
  const double rest = squared(log_sd(bands.ttft)) - squared(scale) * of_ttft;
  if (rest > 0.0 && found.by_ttft != 0.0) {
    const std::string& gpu = candidate.deployment.gpu.name;
    Cause cause;
    cause.factor = {
        .name = fmt::format("first tokens of {}, {}", candidate.deployment.network.name, gpu),
        .gpu = gpu,
        .sd = 1.0};
    cause.elasticity = -found.by_ttft;
    cause.of_ttft = 1.0;
    cause.is_scaled = false;
    cause.scale = std::sqrt(rest);
    found.causes.push_back(std::move(cause));
  }
}

/// Makes the causes of a candidate's doubt as large together as it was found to be, as they share
/// it.
void give_spread(double sd, const std::vector<Factor>& factors, CandidateDoubt& doubt) {
  double variance = 0.0;
  for (std::size_t j = 0; j < factors.size(); ++j) {
    variance += squared(doubt.loading[j] * factors[j].sd);
  }
  if (!(variance > 0.0)) {
    doubt.own_sd = sd;
    return;
  }
  for (double& loading : doubt.loading) {
    loading *= sd / std::sqrt(variance);
  }
}

/// `vllm bench serve` with prompts and answers of the mean lengths.
std::string bench_command(const FluidCandidate& candidate, std::string_view load) {
  const Demand& demand = candidate.demand;
  return fmt::format(
      "vllm bench serve --model {} --dataset-name random --random-input-len {:.0f} "
      "--random-output-len {:.0f} {}",
      core::shell_word(model::network_id(candidate.deployment.section.model)
                           .value_or(name_of(candidate.deployment.network))),
      std::max(1.0, std::round(demand.mean_input)),
      std::max(1.0, std::round(demand.mean_output)),
      load);
}

/// What a running server of a candidate shows: the first token of a lone prompt, the time of a
/// token at the batch planned, the capacity of a replica.
void add_measurements(const FluidCandidate& candidate, CandidateCauses& found) {
  const std::string& gpu = candidate.deployment.gpu.name;
  found.measurements = {
      {.what = fmt::format("first token of a lone prompt, {}", candidate.label),
       .command = bench_command(candidate, "--num-prompts 20 --max-concurrency 1"),
       .gpu = gpu,
       .minutes = kMinutesOfPrompt,
       .noise = kNoiseOfTtft},
      {.what = fmt::format("time per token at {} in flight, {}", found.decodes, candidate.label),
       .command = bench_command(candidate,
                                fmt::format("--num-prompts {} --max-concurrency {}",
                                            found.decodes * kRoundsOfTokens,
                                            found.decodes)),
       .gpu = gpu,
       .minutes = kMinutesOfTokens,
       .noise = kNoiseOfTpot},
      {.what = fmt::format("capacity of one replica, {}", candidate.label),
       .command = bench_command(
           candidate,
           fmt::format("--request-rate {:.3g} --num-prompts {:.0f}",
                       found.capacity,
                       std::ceil(found.capacity * kSecondsPerMinute * kMinutesOfCapacity))),
       .gpu = gpu,
       .minutes = kMinutesOfCapacity,
       .noise = kNoiseOfCapacity}};
}

}  // namespace

CandidateCauses causes_of(const FluidCandidate& candidate, const LatencyDoubt& bands) {
  CandidateCauses found = Examiner(candidate).examine();
  scale_causes(candidate, bands, found);
  if (found.capacity > 0.0) {
    add_measurements(candidate, found);
  }
  return found;
}

FactorTable factors_of(const std::vector<CandidateCauses>& candidates) {
  FactorTable table;
  std::vector<double> common;  // For each factor: the largest scale that a candidate gives it.
  for (const CandidateCauses& candidate : candidates) {
    for (const Cause& cause : candidate.causes) {
      if (std::abs(cause.elasticity) < kNoEffect) {
        continue;
      }
      const auto known = std::ranges::find(table.factors, cause.factor.name, &Factor::name);
      if (known == table.factors.end()) {
        table.factors.push_back(cause.factor);
        common.push_back(cause.scale);
      } else {
        double& of_all = common[static_cast<std::size_t>(known - table.factors.begin())];
        of_all = std::max(of_all, cause.scale);
      }
    }
  }
  const std::size_t factors = table.factors.size();
  for (std::size_t j = 0; j < factors; ++j) {
    table.factors[j].sd *= common[j];
  }
  for (const CandidateCauses& candidate : candidates) {
    CandidateDoubt doubt = candidate.doubt;
    doubt.elasticity.assign(factors, 0.0);
    doubt.loading.assign(factors, 0.0);
    std::vector<double> ttft(factors, 0.0);  // What a running server shows of the factors.
    std::vector<double> tpot(factors, 0.0);
    for (const Cause& cause : candidate.causes) {
      const auto known = std::ranges::find(table.factors, cause.factor.name, &Factor::name);
      if (known == table.factors.end()) {
        continue;
      }
      const auto j = static_cast<std::size_t>(known - table.factors.begin());
      const double share = cause.scale / common[j];
      if (std::abs(cause.elasticity) >= kNoEffect) {
        doubt.elasticity[j] = cause.elasticity;
        doubt.loading[j] = doubt.elasticity[j] * share;
      }
      ttft[j] = cause.of_ttft * share;
      tpot[j] = cause.of_tpot * share;
    }
    give_spread(candidate.known_sd, table.factors, doubt);
    const std::array<const std::vector<double>*, 3> shown = {&ttft, &tpot, &doubt.loading};
    for (std::size_t k = 0; k < candidate.measurements.size(); ++k) {
      table.measurements.push_back(candidate.measurements[k]);
      table.measurements.back().loading = *shown.at(k);
    }
    table.candidates.push_back(std::move(doubt));
  }
  return table;
}

}  // namespace ridgeline::plan
