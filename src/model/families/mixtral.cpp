#include <vector>

#include "model/config_reader.hpp"
#include "model/families/common.hpp"
#include "model/families/families.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::model {

std::vector<LayerGroup> mixtral_layers(ConfigReader& config, const Dimensions& dimensions) {
  refuse_sliding_window(config, dimensions, 0);
  MoeFfn moe = read_experts(config, "num_local_experts");
  moe.expert_width = config.required_integer("intermediate_size", kWidth);
  return uniform(dimensions, read_attention(config, dimensions), moe);
}

}  // namespace ridgeline::model
