#pragma once

#include <cstdint>

#include "model/config_reader.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::model {

/// `dtype` (or `torch_dtype`) and `quantization_config`. FP8 weights with FP8 activations are
/// understood: from vLLM's own `fp8`, from compressed-tensors and from ModelOpt. Every other
/// quantisation is refused by name, and so are files that leave out of it anything but the
/// attention of all layers, the router, norms, embeddings and lm_head.
Precision read_precision(ConfigReader& config, std::int64_t num_layers);

}  // namespace ridgeline::model
