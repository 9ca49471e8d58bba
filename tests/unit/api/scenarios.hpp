#pragma once

#include <string>
#include <string_view>

namespace ridgeline::api {

/// A scenario of so many requests as JSON.
inline std::string small_scenario(int num_prompts) {
  return R"({"model": "llama-3.1-8b", "gpu": "h100", "seed": 1, "workload": {"request_rate": 8,)"
         R"( "input_len": 128, "output_len": 32, "num_prompts": )" +
         std::to_string(num_prompts) + "}}";
}

}  // namespace ridgeline::api
