#include <cstdint>
#include <vector>

#include "model/config_reader.hpp"
#include "model/families/common.hpp"
#include "model/families/families.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::model {

namespace {

/// Of MistralConfig in transformers, for a file that leaves `sliding_window` out.
constexpr std::int64_t kDefaultWindow = 4096;

}  // namespace

std::vector<LayerGroup> mistral_layers(ConfigReader& config, const Dimensions& dimensions) {
  refuse_sliding_window(config, dimensions, kDefaultWindow);
  return uniform(dimensions, read_attention(config, dimensions), read_dense_ffn(config));
}

}  // namespace ridgeline::model
