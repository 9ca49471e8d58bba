#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ridgeline::deploy {

/// The image of an engine's version: of vLLM from data/deploy/images.yaml, of SGLang
/// "lmsysorg/sglang:v" and the version.
[[nodiscard]] std::string image_of(std::string_view engine, std::string_view version);
/// The version that an image's tag names, "0.15.1"; nothing where the image is no known engine's.
[[nodiscard]] std::optional<std::string> version_of_image(std::string_view image);
/// The label nvidia.com/gpu.product of nodes with that GPU of the catalogue, where it is known.
[[nodiscard]] std::optional<std::string> node_label(std::string_view gpu);

}  // namespace ridgeline::deploy
