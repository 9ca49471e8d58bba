#include "evidence/validate/ablation.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "evidence/validate/evidence.hpp"
#include "evidence/validate/measured_run.hpp"
#include "evidence/validate/prediction.hpp"
#include "evidence/validate/scores.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::evidence::validate {
namespace {

struct Variant {
  std::string_view name;
  std::vector<scenario::Override> changes;
};

scenario::Override setting_to_zero(std::string_view key) {
  return {.path = "latency.set", .text = std::string(key) + "=0"};
}
scenario::Override time_to_zero(std::string_view key) {
  return {.path = "serving." + std::string(key), .text = "0us"};
}

std::vector<Variant> variants() {
  return {
      {"whole model", {}},
      {"synchronous engine", {{.path = "engine.async_scheduling", .text = "false"}}},
      {"no CUDA graphs", {{.path = "engine.enforce_eager", .text = "true"}}},
      {"no prefix cache", {{.path = "engine.enable_prefix_caching", .text = "false"}}},
      {"no top-p and penalties", {{.path = "engine.generation_config", .text = "vllm"}}},
      {"no request path", {{.path = "request_path", .text = "off"}}},
      {"no network", {time_to_zero("network_in"), time_to_zero("delivery_time")}},
      {"no frontend", {time_to_zero("frontend_time"), time_to_zero("frontend_token_time")}},
      {"no emission", {time_to_zero("emit_time")}},
      {"no closing", {time_to_zero("close_time")}},
      {"no host time", {time_to_zero("host_step_time"), time_to_zero("host_sequence_time")}},
      {"no gap per layer", {setting_to_zero("layer_launch_gap_us")}},
      {"no gap per graph piece", {setting_to_zero("piecewise_layer_gap_us")}},
      {"no gap per step", {setting_to_zero("step_gap_us")}},
      {"no element-wise kernels", {setting_to_zero("elementwise_traffic_factor")}},
  };
}

std::optional<ScoreRow> summarised(const std::vector<Evidence>& evidence,
                                   const std::vector<PartPrediction>& predictions,
                                   const std::vector<bool>& counts,
                                   Figure figure) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < evidence.size(); ++i) {
    if (!counts[i] || !predictions[i].prediction) {
      continue;
    }
    if (const auto error = error_pct(
            predictions[i].prediction->figures, evidence[i].measured, figure, Level::kMean)) {
      errors.push_back(*error);
    }
  }
  return errors.empty() ? std::nullopt : std::optional(summarise_errors(std::move(errors)));
}

}  // namespace

std::vector<AblationRow> ablate(const std::vector<Evidence>& evidence,
                                const PredictOptions& options) {
  std::vector<AblationRow> rows;
  std::vector<bool> counts;
  for (const auto& variant : variants()) {
    std::vector<Evidence> copy = evidence;
    const auto runs = group_runs(copy);
    PredictOptions changed = options;
    changed.overrides.insert(
        changed.overrides.end(), variant.changes.begin(), variant.changes.end());
    const auto predictions = predict(copy, runs, changed);
    if (counts.empty()) {
      std::string reason;
      for (std::size_t i = 0; i < copy.size(); ++i) {
        counts.push_back(standing_of(copy[i], predictions[i], reason) == Standing::kScored);
      }
    }
    rows.push_back({.variant = std::string(variant.name),
                    .e2e = summarised(copy, predictions, counts, Figure::kE2e),
                    .ttft = summarised(copy, predictions, counts, Figure::kTtft),
                    .tpot = summarised(copy, predictions, counts, Figure::kTpot)});
  }
  return rows;
}

}  // namespace ridgeline::evidence::validate
