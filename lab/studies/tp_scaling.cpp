// What tensor parallelism gives: the speed-up from 1 to 8 GPUs, beside V2's division by their
// number.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "evidence/validate/evidence.hpp"
#include "lab/studies/gains.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/measured_arms.hpp"
#include "lab/studies/registry.hpp"
#include "lab/studies/study.hpp"
#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::studies {
namespace {

constexpr const char* kScaledGpu = "h100";
constexpr std::array<const char*, 2> kScaledNetworks = {kLlama8b, "llama-2-70b"};
constexpr std::array<std::int64_t, 4> kRanks = {1, 2, 4, 8};
/// What the claim allows to be lost at 8 GPUs.
constexpr double kNearlyLinear = 0.9;

struct ScaledStep {
  const char* phase;
  std::int64_t sequences;
  std::int64_t tokens;  ///< Tokens of context, or of the prompt.

  [[nodiscard]] Requests requests() const {
    Requests all;
    for (std::int64_t i = 0; i < sequences; ++i) {
      if (phase == std::string("decode")) {
        all.decodes.push_back(tokens);
      } else {
        all.prefills.emplace_back(0, tokens);
      }
    }
    return all;
  }
};
constexpr std::array kScaledSteps = {
    ScaledStep{.phase = "prefill", .sequences = 1, .tokens = 256},
    ScaledStep{.phase = "prefill", .sequences = 1, .tokens = 2048},
    ScaledStep{.phase = "prefill", .sequences = 1, .tokens = 8192},
    ScaledStep{.phase = "decode", .sequences = 1, .tokens = 1024},
    ScaledStep{.phase = "decode", .sequences = 32, .tokens = 1024},
    ScaledStep{.phase = "decode", .sequences = 128, .tokens = 2048},
};

/// GPU time by the kernel model, and what of it is the network's.
struct KernelTime {
  double us = 0.0;
  double network_us = 0.0;
};

core::Result<KernelTime> kernel_time(const char* network,
                                     std::int64_t ranks,
                                     const ScaledStep& step) {
  const auto spec = model::find_model(network);
  const auto gpu = hardware::find_gpu(kScaledGpu);
  RIDGELINE_CHECK(spec.has_value() && gpu.has_value(), network);
  const latency::Execution execution{.sharding = {.tensor_parallel_size = ranks},
                                     .cuda_graph_sizes = {}};
  auto model = latency::make_step_time_model(
      "kernel", {.network = *spec, .gpu = *gpu, .execution = execution});
  if (!model) {
    return core::fail(std::move(model).error());
  }
  std::vector<domain::PrefillChunk> chunks;
  domain::StepBatch batch;
  const Requests requests = step.requests();
  for (const std::int64_t context : requests.decodes) {
    ++batch.num_decodes;
    batch.decode_context += core::Tokens(context);
  }
  for (const auto& [past, fresh] : requests.prefills) {
    chunks.push_back({.past = core::Tokens(past), .new_tokens = core::Tokens(fresh)});
  }
  batch.prefills = chunks;
  const domain::StepTime time = (*model)->predict(batch);
  return KernelTime{.us = time.gpu().to_microseconds(),
                    .network_us = time.of(domain::Bottleneck::kNetwork).to_microseconds()};
}

/// Speed-up over ranks, of 8 GPUs.
struct Scaling {
  double worst = 1.0;
  double best = 0.0;
  std::string where;  ///< The step and network of the worst.
};

/// One step of one network on 1, 2, 4 and 8 ranks: a row each.
core::Result<void> scale(
    const Lab& lab, const char* network, const ScaledStep& step, Outcome& out, Scaling& scaling) {
  KernelTime alone;
  double divided_alone = 0.0;
  double sharded_alone = 0.0;
  for (const std::int64_t ranks : kRanks) {
    const auto ours = kernel_time(network, ranks, step);
    const auto divided = lab.subject("divide", network, ranks);
    const auto sharded = lab.subject("shard", network, ranks);
    if (!ours || !divided || !sharded) {
      return core::fail(!ours ? ours.error() : !divided ? divided.error() : sharded.error());
    }
    const auto divided_us = static_cast<double>((*divided)->step_us(step.requests()));
    const auto sharded_us = static_cast<double>((*sharded)->step_us(step.requests()));
    if (ranks == 1) {
      alone = *ours;
      divided_alone = divided_us;
      sharded_alone = sharded_us;
    }
    out.effects.front().values.emplace_back(sharded_us, divided_us);
    const double speed_up = alone.us / ours->us;
    const double efficiency = speed_up / static_cast<double>(ranks);
    if (ranks == kRanks.back()) {
      scaling.best = std::max(scaling.best, efficiency);
      if (efficiency < scaling.worst) {
        scaling.worst = efficiency;
        scaling.where = fmt::format(
            "{} of {} x {} tokens, {}", step.phase, step.sequences, step.tokens, network);
      }
    }
    out.tables[0].rows.push_back(row("network",
                                     network,
                                     "phase",
                                     step.phase,
                                     "sequences",
                                     step.sequences,
                                     "tokens",
                                     step.tokens,
                                     "ranks",
                                     ranks,
                                     "kernel_us",
                                     rounded(ours->us, 1),
                                     "kernel_network_us",
                                     rounded(ours->network_us, 1),
                                     "kernel_speed_up",
                                     rounded(speed_up, 3),
                                     "v2_divide_speed_up",
                                     rounded(divided_alone / divided_us, 3),
                                     "v2_shard_speed_up",
                                     rounded(sharded_alone / sharded_us, 3),
                                     "linear",
                                     ranks));
  }
  return {};
}

/// Measured speed-up of a time per output token: closed loops that differ in their GPUs alone.
StudyTable measured_speed_up(const Lab& lab, const std::vector<ScoredRun>& runs) {
  constexpr auto kFigure = evidence::validate::Figure::kTpot;
  constexpr auto kMean = evidence::validate::Level::kMean;
  struct Ratios {
    std::vector<double> measured;
    std::vector<std::vector<double>> predicted;  ///< By arm.
  };
  std::map<std::tuple<std::string, std::int64_t, std::int64_t>, Ratios> found;
  for (const ScoredRun& few : runs) {
    for (const ScoredRun& many : runs) {
      const bool pair = few.clients > 0 && few.tensor_parallel < many.tensor_parallel &&
                        std::tie(few.group, few.network, few.workload, few.clients) ==
                            std::tie(many.group, many.network, many.workload, many.clients);
      const auto before = few.measured.at(kFigure, kMean);
      const auto after = many.measured.at(kFigure, kMean);
      if (!pair || !before || !after) {
        continue;
      }
      Ratios& ratios = found[{few.network, few.tensor_parallel, many.tensor_parallel}];
      ratios.measured.push_back(*before / *after);
      ratios.predicted.resize(lab.arms().size());
      for (std::size_t arm = 0; arm < lab.arms().size(); ++arm) {
        ratios.predicted[arm].push_back(*few.predicted[arm].at(kFigure, kMean) /
                                        *many.predicted[arm].at(kFigure, kMean));
      }
    }
  }
  const auto mean = [](const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  };
  StudyTable table{.name = "measured_speed_up", .rows = {}};
  for (const auto& [key, ratios] : found) {
    const auto& [network, from, to] = key;
    const double linear = static_cast<double>(to) / static_cast<double>(from);
    table.rows.push_back(row("network",
                             network,
                             "ranks_from",
                             from,
                             "ranks_to",
                             to,
                             "pairs",
                             static_cast<std::int64_t>(ratios.measured.size()),
                             "measured_speed_up",
                             rounded(mean(ratios.measured), 3),
                             "measured_efficiency",
                             rounded(mean(ratios.measured) / linear, 3),
                             "v2_divide_speed_up",
                             rounded(mean(ratios.predicted[0]), 3),
                             "v2_shard_speed_up",
                             rounded(mean(ratios.predicted[1]), 3)));
  }
  return table;
}

/// Both ways to cut a network against measured servers, by their number of GPUs.
core::Result<void> by_tp_on_servers(const Lab& lab, Outcome& out) {
  if (lab.options().measured.empty()) {
    out.skipped.push_back({.part = "errors on measured servers by tp", .needs = "--measured FILE"});
    return {};
  }
  const auto runs = score_arms(lab.arms(), lab.options());
  if (!runs) {
    return core::fail(runs.error());
  }
  std::map<std::int64_t, Runs> by_tp;
  for (const ScoredRun& run : *runs) {
    by_tp[run.tensor_parallel].push_back(&run);
  }
  std::vector<Group> groups;
  for (auto& [ranks, of_ranks] : by_tp) {
    groups.push_back({.name = fmt::format("tp {}", ranks), .runs = std::move(of_ranks)});
  }
  out.tables.push_back(
      errors_table("measured_tpot_by_tp", groups, lab.arms(), evidence::validate::Figure::kTpot));
  out.tables.push_back(measured_speed_up(lab, *runs));
  return {};
}

core::Result<Outcome> run_tp_scaling(const Lab& lab) {
  Outcome out;
  out.tables = {{"tp_scaling", {}}};
  out.effects.push_back({.name = "dividing, instead of one rank's shapes", .values = {}});
  Scaling scaling;
  for (const char* network : kScaledNetworks) {
    for (const ScaledStep& step : kScaledSteps) {
      const auto scaled = scale(lab, network, step, out, scaling);
      if (!scaled) {
        return core::fail(scaled.error());
      }
    }
  }
  out.by_rule = scaling.worst >= kNearlyLinear ? Verdict::kConfirmed : Verdict::kRefuted;
  out.because = fmt::format("8 GPUs reach {:.0f} to {:.0f} % of 8 times; least: {}",
                            100 * scaling.worst,
                            100 * scaling.best,
                            scaling.where);
  out.finding = fmt::format(
      "8 GPUs are {:.2f} to {:.2f} times as fast: fixed times of kernels and launches are not "
      "divided, two all-reduces a layer are added, and a rank's matrices get too small to fill a "
      "GPU. V2 divides even the host's overhead.",
      scaling.worst * static_cast<double>(kRanks.back()),
      scaling.best * static_cast<double>(kRanks.back()));
  const auto scored = by_tp_on_servers(lab, out);
  return scored ? core::Result<Outcome>(std::move(out)) : core::fail(scored.error());
}

}  // namespace

Study study_tp_scaling() {
  return {
      .id = "tp-scaling",
      .title = "Tensor parallelism from 1 to 8 GPUs",
      .claim = "N GPUs make every step N times as fast, as V2's division by tp has it.",
      .arms = {{.name = "divide", .preset = "v2-final"},
               {.name = "shard",
                .preset = "v2-final",
                .settings = {setting("tensor_parallel", "shard")}}},
      .held_fixed =
          "H100s in one NVLink domain; Llama-3.1-8B and Llama-2-70B in 16 bits; steps without "
          "CUDA graphs' padding",
      .refuted_if = "a step on 8 GPUs is below 90 % of 8 times as fast (our threshold)",
      .controls = "one rank of V2 with its own shapes instead of a division",
      .reference = Reference::kModel,
      .published = Verdict::kNone,
      .scope =
          "steps of two networks, predicted by the kernel model; with --measured, servers by tp",
      .not_tested = "measured engines: `ridgeline validate` scores them by tp; PCIe; more nodes",
      .run = run_tp_scaling};
}

}  // namespace ridgeline::studies
