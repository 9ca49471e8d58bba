#include "lab/scoring/ablation.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "evidence/validate/evidence.hpp"
#include "evidence/validate/loose_node.hpp"
#include "evidence/validate/measured_run.hpp"
#include "evidence/validate/prediction.hpp"
#include "evidence/validate/scores.hpp"
#include "lab/scoring/evidence_words.hpp"
#include "latency/accuracy/bands.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scoring {
namespace {

/// What a variant is chosen by: the record, its network, and the format of most of its weights.
struct Ran {
  const Evidence& evidence;
  const std::optional<model::ModelSpec>& network;
  std::string_view format;
};

struct Variant {
  std::string_view name;
  std::vector<scenario::Override> changes;
  bool (*concerns)(const Ran& ran) = nullptr;  ///< Absent: all records.
};

scenario::Override setting_to_zero(std::string_view key) {
  return {.path = "latency.set", .text = std::string(key) + "=0"};
}
scenario::Override time_to_zero(std::string_view key) {
  return {.path = "serving." + std::string(key), .text = "0us"};
}

scenario::Override set(std::string_view key, std::string_view text) {
  return {.path = "set", .text = fmt::format("{}={}", key, text)};
}

constexpr std::string_view kConfig = "model.quantization_config";
constexpr model::DType kBlockFp8 = model::DType::kFp8Block;
constexpr model::DType kNvfp4 = model::DType::kNvfp4;

bool on_vllm(const Ran& ran) {
  return ran.evidence.engine.empty() || mentions(ran.evidence.engine, "vllm");
}
bool other_engine(const Ran& ran) {
  return !on_vllm(ran);
}
template <model::DType Format>
bool is_format(const Ran& ran) {
  return ran.format == model::name(Format);
}
bool first_requests(const Ran& ran) {
  return ran.evidence.stage.starts_with(kFirstRequests);
}
bool mxfp4_on_vllm(const Ran& ran) {
  return on_vllm(ran) && ran.format == model::name(model::DType::kMxfp4);
}
bool norms_over_ranks(const Ran& ran) {
  return ran.network &&
         std::ranges::any_of(ran.network->layers, [](const model::LayerGroup& group) {
           return group.attention.qk_norm_across_heads;
         });
}
bool fp32_router(const Ran& ran) {
  return on_vllm(ran) && ran.network &&
         std::ranges::any_of(ran.network->layers, [](const model::LayerGroup& group) {
           const auto* const experts = std::get_if<model::MoeFfn>(&group.ffn);
           return experts != nullptr && experts->router_fp32;
         });
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
      {"no front end", {time_to_zero("frontend_output_time")}},
      {"no first-use stalls",
       {{.path = "serving.first_use_stalls", .text = "false"}},
       first_requests},
      {"graphs of decodes whole", {setting_to_zero("host_pieces_us")}},
      {"no gap per layer", {setting_to_zero("layer_launch_gap_us")}},
      {"no gap per graph piece", {setting_to_zero("piecewise_layer_gap_us")}},
      {"no gap per step", {setting_to_zero("step_gap_us")}},
      {"no element-wise kernels", {setting_to_zero("elementwise_traffic_factor")}},
      // Factors and counts below one are one.
      {"even experts",
       {setting_to_zero("uneven_experts"), setting_to_zero("uneven_coarse_experts")}},
      {"no norm in the all-reduce", {setting_to_zero("fused_norm_us")}},
      {"no rows written quantised", {setting_to_zero("fused_quantisation_us")}},
      {"no small kernels of routing", {setting_to_zero("unfused_routing_us")}},
      {"wide norms as others", {setting_to_zero("wide_norm_kernels")}},
      {"no exponentials", {setting_to_zero("exponentials")}},
      {"no decodes beside prompts", {setting_to_zero("mixed_tile_efficiency")}},
      {"no launches by the host", {setting_to_zero("host_launch_us")}},
      {"no norms in mixers", {setting_to_zero("norm_us")}},
      {"norms over heads, not ranks", {set("model.qk_norm_type", "per_head")}, norms_over_ranks},
      {"router in TF32",
       {{.path = "engine.float32_matmul_precision", .text = "high"}},
       fp32_router},
      {"block FP8 as plain FP8", {set(kConfig, "{quant_method: fp8}")}, is_format<kBlockFp8>},
      {"NVFP4 as plain FP8", {set(kConfig, "{quant_method: fp8}")}, is_format<kNvfp4>},
      {"MXFP4 by Triton", {{.path = "engine.moe_backend", .text = "triton"}}, mxfp4_on_vllm},
      {"vLLM's kernels", {{.path = "latency.name", .text = "kernel-vllm"}}, other_engine},
      {"constants of the first round", {{.path = "latency.name", .text = "kernel-first"}}},
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
  std::vector<Evidence> whole = evidence;
  const std::vector<PartPrediction> base = predict(whole, group_runs(whole), options);
  std::vector<bool> counts;
  std::vector<std::optional<model::ModelSpec>> networks;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string reason;
    counts.push_back(standing_of(whole[i], base[i], reason) == Standing::kScored);
    auto network = model::find_model(whole[i].model);
    networks.push_back(network ? std::optional(std::move(*network)) : std::nullopt);
  }
  const auto concerned = [&](const Variant& variant, std::size_t i) {
    return base[i].prediction.has_value() &&
           (variant.concerns == nullptr ||
            variant.concerns({.evidence = whole[i],
                              .network = networks[i],
                              .format = base[i].prediction->likeness[static_cast<std::size_t>(
                                  accuracy::Axis::kPrecision)]}));
  };
  std::vector<AblationRow> rows;
  for (const auto& variant : variants()) {
    std::vector<Evidence> part;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < evidence.size(); ++i) {
      if (concerned(variant, i)) {
        places.push_back(i);
        part.push_back(evidence[i]);
      }
    }
    if (places.empty()) {
      continue;
    }
    PredictOptions changed = options;
    changed.overrides.insert(
        changed.overrides.end(), variant.changes.begin(), variant.changes.end());
    const auto runs = group_runs(part);
    auto changed_part = predict(part, runs, changed);
    std::vector<PartPrediction> predictions = base;
    for (std::size_t i = 0; i < places.size(); ++i) {
      predictions[places[i]] = std::move(changed_part[i]);
    }
    rows.push_back({.variant = std::string(variant.name),
                    .records = std::ssize(places),
                    .e2e = summarised(whole, predictions, counts, Figure::kE2e),
                    .ttft = summarised(whole, predictions, counts, Figure::kTtft),
                    .tpot = summarised(whole, predictions, counts, Figure::kTpot)});
  }
  return rows;
}

}  // namespace ridgeline::scoring
