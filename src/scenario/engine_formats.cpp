#include "scenario/engine_formats.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"
#include "scenario/patch.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {

namespace {

constexpr std::string_view kConfig = "quantization_config";
constexpr std::string_view kField = "engine.quantization";
/// The method that vLLM applies to 16-bit weights while it loads them.
constexpr std::string_view kOnline = "fp8";

/// The method of a document's quantization_config; nothing where it has none. vLLM takes a file
/// without a method for ModelOpt's.
std::optional<std::string> own_method(const document::Node& document) {
  const document::Node* config = document.find(kConfig);
  if (config == nullptr || !config->is_map()) {
    return std::nullopt;
  }
  const document::Node* method = config->find("quant_method");
  return method != nullptr && method->is_string() ? method->as_string() : "modelopt";
}

/// Whether an engine's word means a checkpoint's method: the same, or a kernel for it
/// ("gptq_marlin", "modelopt_fp4").
bool means(std::string_view word, std::string_view method) {
  return word == method || word.starts_with(fmt::format("{}_", method));
}

core::Result<std::optional<Patch>> quantised(const document::Node& document,
                                             const std::string& word) {
  if (const auto method = own_method(document)) {
    if (!means(word, *method)) {
      return core::fail({.field = std::string(kField),
                         .message = fmt::format(
                             "{} for a network that is quantised by {} already", word, *method),
                         .hint = fmt::format("leave it out, or {}", *method)});
    }
    return std::optional<Patch>();
  }
  if (word != kOnline) {
    return core::fail({.field = std::string(kField),
                       .message = fmt::format("{} for a network whose configuration has no "
                                              "quantization_config: vLLM quantises to {} alone "
                                              "while it loads",
                                              word,
                                              kOnline),
                       .hint = "the config.json of the quantised checkpoint"});
  }
  return std::optional(Patch{
      .target = "model",
      .key = std::string(kConfig),
      .value = document::Node::map(
          {{.key = "quant_method", .value = document::Node::string(word, {}), .where = {}}}, {})});
}

}  // namespace

core::Result<document::Node> in_engine_formats(const document::Node& document,
                                               const EngineSection& engine) {
  std::vector<Patch> patches;
  if (engine.dtype != "auto") {
    patches.push_back(
        {.target = "model", .key = "dtype", .value = document::Node::string(engine.dtype, {})});
  }
  if (engine.quantization) {
    auto patch = quantised(document, *engine.quantization);
    if (!patch) {
      return core::fail(std::move(patch.error()));
    }
    if (*patch) {
      patches.push_back(**patch);
    }
  }
  return apply_patches(document, patches, "model");
}

void set_cache_format(const EngineSection& engine, model::ModelSpec& network) {
  if (engine.kv_cache_dtype == "bfloat16") {
    network.precision.kv = model::DType::kBf16;
  } else if (engine.kv_cache_dtype != "auto") {
    network.precision.kv = model::DType::kFp8;
  }
}

}  // namespace ridgeline::scenario
