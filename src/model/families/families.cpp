#include "model/families/families.hpp"

#include <array>
#include <span>

namespace ridgeline::model {

std::span<const Family> families() {
  static constexpr std::array kFamilies = {
      Family{.model_type = "llama", .layers = llama_layers},
      Family{.model_type = "llama4", .layers = llama4_layers},
      Family{.model_type = "mistral", .layers = mistral_layers},
      Family{.model_type = "mixtral", .layers = mixtral_layers},
      Family{.model_type = "qwen2", .layers = qwen2_layers},
      Family{.model_type = "qwen3", .layers = qwen3_layers},
      Family{.model_type = "qwen3_moe", .layers = qwen3_moe_layers},
  };
  return kFamilies;
}

}  // namespace ridgeline::model
