#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "model/config_keys.hpp"
#include "model/config_reader.hpp"
#include "model/families/families.hpp"
#include "model/hf_document.hpp"
#include "model/model_spec.hpp"
#include "model/precision.hpp"
#include "model/vision.hpp"

namespace ridgeline::model {
namespace {

/// Copies of the residual stream.
constexpr document::Range<std::int64_t> kStreams{1, 64};

const Family* find_family(std::string_view model_type) {
  for (const Family& family : families()) {
    if (family.model_type == model_type) {
      return &family;
    }
  }
  return nullptr;
}

std::string family_list() {
  std::string list;
  for (const Family& family : families()) {
    list += fmt::format("{}{}", list.empty() ? "" : ", ", family.model_type);
  }
  return list;
}

SamplingDefaults read_generation(ConfigReader& config) {
  SamplingDefaults sampling;
  const document::Node* node = config.node(kGenerationKey);
  if (node == nullptr || node->is_null()) {
    return sampling;
  }
  // vLLM's bounds on sampling parameters: top_p in (0, 1], top_k -1 or 0 for off, penalties above
  // 0.
  document::ObjectReader reader(*node,
                                config.path_of(kGenerationKey),
                                config.errors(),
                                document::ObjectReader::Unknown::kIgnore);
  sampling.top_p = reader.real("top_p", {0.0, 1.0});
  sampling.top_k = reader.integer("top_k", {-1, kWidth.highest});
  sampling.repetition_penalty = reader.real("repetition_penalty", {0.0, 2.0});
  reader.finish();
  config.derived("sampling", describe(node->where()));
  return sampling;
}

void read_identity(ConfigReader& config, const std::string& name, ModelSpec& spec) {
  spec.name = config.string(kNameKey).value_or(name);
  spec.hf_id = config.string(kHfIdKey).value_or(std::string());
  if (const std::optional<std::string> source = config.string(kSourceKey)) {
    spec.provenance.emplace_back("model", *source);
  }
}

/// `num_hidden_layers`; hybrid networks may list their layers instead.
std::int64_t read_num_layers(ConfigReader& config) {
  if (!config.states("num_hidden_layers")) {
    const document::Node* blocks =
        config.states("layers_block_type") ? config.node("layers_block_type") : nullptr;
    if (blocks != nullptr && blocks->is_list()) {
      const auto count = static_cast<std::int64_t>(blocks->items().size());
      config.derived("num_hidden_layers", "length of layers_block_type");
      if (count >= kLayers.lowest && count <= kLayers.highest) {
        return count;
      }
    }
  }
  return config.required_integer("num_hidden_layers", kLayers);
}

/// One layer that drafts, where the file says that there are some: the network's last with
/// attention, and the last with a feed-forward network where those are apart.
void read_draft_layers(ConfigReader& config, ModelSpec& spec) {
  std::int64_t count = 0;
  for (const std::string_view key :
       {"num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules"}) {
    count = std::max(count, config.integer(key, {0, kLayers.highest}).value_or(0));
  }
  if (count == 0 && spec.family == "qwen3_next") {
    count = 1;  // Its checkpoints have the layer, its configuration no key (Qwen3NextMTP in vLLM).
  }
  const auto last = [&](const auto& has) {
    const auto found = std::find_if(spec.layers.rbegin(), spec.layers.rend(), has);
    if (found != spec.layers.rend()) {
      spec.draft_layers.push_back(*found);
      spec.draft_layers.back().count = 1;
    }
  };
  if (count == 0) {
    return;
  }
  spec.draft_modules = count;
  const auto has_ffn = [](const LayerGroup& group) {
    const auto* dense = std::get_if<DenseFfn>(&group.ffn);
    return dense == nullptr || dense->width > 0;
  };
  last([](const LayerGroup& group) { return group.attention.heads > 0; });
  if (!spec.draft_layers.empty() && !has_ffn(spec.draft_layers.front())) {
    last(has_ffn);
  }
}

/// What one family's reader makes of a document.
struct Reading {
  ModelSpec spec;
  core::Errors errors;
  std::int64_t keys_read = 0;  ///< Keys read that the document has.
};

Reading read_as(const Family& family, const document::Node& flat, const std::string& name) {
  Reading reading;
  ModelSpec& spec = reading.spec;
  ConfigReader config(flat, reading.errors, spec.provenance);
  static_cast<void>(config.node("model_type"));
  read_identity(config, name, spec);
  spec.family = family.model_type;
  spec.hidden_size = config.required_integer("hidden_size", kWidth);
  spec.vocab_size = config.required_integer("vocab_size", kWidth);
  spec.max_position = core::Tokens(config.required_integer("max_position_embeddings", kPositions));
  spec.tied_embeddings = config.boolean("tie_word_embeddings", family.tied_by_default);
  const Dimensions dimensions{.hidden_size = spec.hidden_size,
                              .num_layers = read_num_layers(config),
                              .max_position = spec.max_position.value()};
  spec.layers = family.layers(config, dimensions);
  spec.residual_streams = config.integer("hc_mult", kStreams).value_or(1);
  spec.vision = read_vision(config, spec.hidden_size);
  // An engine's flag says it of any network.
  static_cast<void>(config.node("mamba_ssm_dtype"));
  // Read by context_length().
  static_cast<void>(config.node("rope_scaling"));
  static_cast<void>(config.node("rope_parameters"));
  const StatedPrecision precision = read_precision(config, dimensions.num_layers);
  if (reading.errors.empty()) {
    apply_precision(precision, spec);
    read_draft_layers(config, spec);
  }
  spec.sampling = read_generation(config);
  spec.unread_keys = check_unread_keys(flat, family, config);
  config.finish();
  reading.keys_read = config.num_read();
  return reading;
}

/// How to have a document read by a family that understands it: the one that reads the most of its
/// keys and leaves the fewest; among equals the plainest. Empty where none does.
std::string other_reader_hint(const document::Node& flat) {
  constexpr std::array<std::string_view, 4> kPlainest = {
      "llama", "mixtral", "qwen3_moe", "deepseek_v3"};
  const auto plainness = [&](const Family& family) {
    return std::find(kPlainest.begin(), kPlainest.end(), family.model_type) - kPlainest.begin();
  };
  const Family* best = nullptr;
  Reading of_best;
  for (const Family& family : families()) {
    Reading reading = read_as(family, flat, {});
    if (!reading.errors.empty()) {
      continue;
    }
    const auto rank = [&](const Reading& own, const Family& which) {
      return std::tuple(own.spec.unread_keys.size(), -own.keys_read, plainness(which));
    };
    if (best == nullptr || rank(reading, family) < rank(of_best, *best)) {
      best = &family;
      of_best = std::move(reading);
    }
  }
  if (best == nullptr) {
    return {};
  }
  const std::vector<std::string>& unread = of_best.spec.unread_keys;
  return fmt::format("it reads like {}{}: --set model.model_type={}",
                     best->model_type,
                     unread.empty() ? "" : fmt::format(" but for {}", fmt::join(unread, ", ")),
                     best->model_type);
}

/// The family that `model_type` names.
core::Result<const Family*> family_of(const document::Node& flat) {
  core::Errors errors;
  ConfigReader::Provenance provenance;
  ConfigReader config(flat, errors, provenance);
  const document::Node* stated = config.node("model_type");
  if (stated == nullptr || !stated->is_string()) {
    config.problem("model_type",
                   stated == nullptr
                       ? fmt::format("is missing, expected one of {}", family_list())
                       : fmt::format("{} is not one of {}", stated->describe(), family_list()),
                   other_reader_hint(flat));
    return core::fail(std::move(errors));
  }
  if (const Family* family = find_family(stated->as_string()); family != nullptr) {
    return family;
  }
  if (!generates_text(flat)) {
    config.problem("model_type",
                   fmt::format("networks of type {} encode text or score it, and generate none: "
                               "decoders alone are modelled",
                               stated->describe()),
                   fmt::format("supported: {}", family_list()));
    return core::fail(std::move(errors));
  }
  const std::string other = other_reader_hint(flat);
  config.problem("model_type",
                 fmt::format("networks of type {} are not modelled yet", stated->describe()),
                 fmt::format("{}{}supported: {}", other, other.empty() ? "" : "; ", family_list()));
  return core::fail(std::move(errors));
}

}  // namespace

core::Result<ModelSpec> model_from_node(const document::Node& document, const std::string& name) {
  if (!document.is_map()) {
    return core::fail(core::Error{
        .code = core::ErrorCode::kUsage,
        .field = "model",
        .message =
            fmt::format("{} is not a network's configuration, expected a map", document.describe()),
        .where = document.where(),
        .hint = {}});
  }
  const document::Node flat = lift_text_config(document);
  return family_of(flat).and_then([&](const Family* family) -> core::Result<ModelSpec> {
    Reading reading = read_as(*family, flat, name);
    if (!reading.errors.empty()) {
      return core::fail(std::move(reading.errors));
    }
    const std::vector<std::string> unknown = unknown_values(flat);
    std::ranges::copy(unknown, std::back_inserter(reading.spec.unread_keys));
    return std::move(reading.spec);
  });
}

}  // namespace ridgeline::model
