#pragma once

#include <cstdint>
#include <optional>

#include "model/config_reader.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::model {

/// `vision_config`: a transformer over patches of an image, and what brings its output to the
/// decoder's width. Parameters are counted from its sizes; nothing where the file lacks them, which
/// the provenance then says.
std::optional<VisionTower> read_vision(ConfigReader& config, std::int64_t hidden_size);

}  // namespace ridgeline::model
