#pragma once

#include "core/result.hpp"
#include "document/document.hpp"
#include "model/model_spec.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {

/// A network's document as the engine's `dtype` and `quantization` have it served. As in vLLM,
/// `quantization` fp8 quantises 16-bit weights while they are loaded; any other word must be the
/// method of the document's own quantization_config.
[[nodiscard]] core::Result<document::Node> in_engine_formats(const document::Node& document,
                                                             const EngineSection& engine);

/// `kv_cache_dtype` in a network; auto leaves its own.
void set_cache_format(const EngineSection& engine, model::ModelSpec& network);

}  // namespace ridgeline::scenario
