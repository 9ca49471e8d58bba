#pragma once

#include <string>

#include "core/result.hpp"

namespace ridgeline::model {

/// The Hugging Face id that a scenario's model means: of a network with several ids in the
/// catalogue that whose words are the name's ("llama-3.3-70b": meta-llama/Llama-3.3-70B-Instruct).
/// A path has the id that its config.json states, if it does.
[[nodiscard]] core::Result<std::string> network_id(const std::string& name);

}  // namespace ridgeline::model
