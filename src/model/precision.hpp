#pragma once

#include <cstdint>
#include <vector>

#include "model/config_reader.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::model {

/// The formats that a config.json states.
struct StatedPrecision {
  DType base = DType::kBf16;  ///< Type of what is not quantised.
  DType lm_head = DType::kBf16;
  DType kv = DType::kBf16;
  std::vector<LayerPrecision> layers;  ///< One per layer; `ffn` as if it were dense.
  std::vector<DType> experts;          ///< One per layer: of its routed experts, if it has some.
};

/// `dtype` (or `torch_dtype`) and `quantization_config`: vLLM's own `fp8`, `mxfp4`, AWQ, GPTQ,
/// compressed-tensors (integers or floats of 4 or 8 bits, with or without activations) and ModelOpt
/// (FP8, NVFP4, MXFP8, weight-only NVFP4 and INT4, a mixture layer by layer). Others are refused by
/// name, and so is a list of exceptions that cannot be understood.
StatedPrecision read_precision(ConfigReader& config, std::int64_t num_layers);

/// Gives a network its precision: what most layers have becomes the network's, the others keep
/// their own. `layers` are in order, and of as many layers as stated.
void apply_precision(const StatedPrecision& stated, ModelSpec& spec);

}  // namespace ridgeline::model
