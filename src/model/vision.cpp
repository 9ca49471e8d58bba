#include "model/vision.hpp"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "core/units.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "model/config_reader.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::model {
namespace {

constexpr std::int64_t kRgb = 3;
/// A patch's side in pixels, and its colours or frames: bounds that keep products in range.
constexpr document::Range<std::int64_t> kPixels{1, 4096};
constexpr document::Range<std::int64_t> kPlanes{1, 1024};

double as_real_count(std::int64_t count) {
  return static_cast<double>(count);
}

/// Families call the same size by different names.
std::int64_t first_of(document::ObjectReader& reader,
                      std::initializer_list<std::string_view> keys,
                      document::Range<std::int64_t> range) {
  std::int64_t found = 0;
  for (const std::string_view key : keys) {
    const std::optional<std::int64_t> value = reader.integer(key, range);
    found = found > 0 ? found : value.value_or(0);
  }
  return found;
}

struct Sizes {
  std::int64_t hidden = 0;
  std::int64_t attention = 0;  ///< Width of all heads.
  std::int64_t depth = 0;
  std::int64_t width = 0;
  std::int64_t patch = 0;
  std::int64_t merge = 1;
  std::int64_t output = 0;
  std::int64_t positions = 0;
  std::int64_t patch_inputs = 0;
  std::int64_t mergers = 1;
  bool gated = false;
  bool one_projection = false;
};

Sizes read_sizes(const document::Node& node,
                 document::ObjectReader& reader,
                 std::int64_t hidden_size) {
  Sizes sizes;
  sizes.hidden = first_of(reader, {"hidden_size", "vt_hidden_size"}, kWidth);
  const std::int64_t attention = first_of(reader, {"qkv_hidden_size"}, kWidth);
  sizes.attention = attention > 0 ? attention : sizes.hidden;
  sizes.depth = first_of(reader, {"depth", "num_hidden_layers", "vt_num_hidden_layers"}, kLayers);
  sizes.width = first_of(reader, {"intermediate_size", "vt_intermediate_size"}, kWidth);
  sizes.patch = first_of(reader, {"patch_size"}, kPixels);
  sizes.merge = std::max<std::int64_t>(
      1, first_of(reader, {"spatial_merge_size", "pooling_kernel_size"}, kHeads));
  if (const document::Node* kernel = node.find("merge_kernel_size");
      kernel != nullptr && kernel->is_list()) {
    const auto sides = reader.integers("merge_kernel_size", kHeads);
    sizes.merge = sides && !sides->empty() ? sides->front() : sizes.merge;
  }
  const std::int64_t output = first_of(reader, {"out_hidden_size", "text_hidden_size"}, kWidth);
  sizes.output = output > 0 ? output : hidden_size;
  const std::int64_t channels = first_of(reader, {"in_channels", "num_channels"}, kPlanes);
  const std::int64_t frames = first_of(reader, {"temporal_patch_size"}, kPlanes);
  sizes.patch_inputs = std::max<std::int64_t>(channels, kRgb) * std::max<std::int64_t>(frames, 1) *
                       sizes.patch * sizes.patch;
  // Gemma 4 has a table for each of the two axes.
  sizes.positions = first_of(reader, {"num_position_embeddings"}, kWidth) +
                    2 * first_of(reader, {"position_embedding_size"}, kWidth);
  if (const document::Node* deep = node.find("deepstack_visual_indexes");
      deep != nullptr && deep->is_list()) {
    sizes.mergers += static_cast<std::int64_t>(deep->items().size());
  }
  const document::Node* type = node.find("model_type");
  const std::string kind = type != nullptr && type->is_string() ? type->as_string() : std::string();
  sizes.gated = kind == "gemma4_vision";
  sizes.one_projection = sizes.gated || kind == "siglip_vision_model";  // Gemma's averages patches
  return sizes;
}

/// Attention's four matrices and the feed-forward network's two (three with a gate) of each layer
/// with their biases and norms; patch and position embeddings; and per merger the two matrices that
/// bring `merge` x `merge` patches to the decoder, or the one.
double parameters_of(const Sizes& sizes) {
  const double hidden = as_real_count(sizes.hidden);
  const double width = as_real_count(sizes.width);
  const double biases = sizes.gated ? 0.0 : 5.0 * hidden + width;
  const double layer = 4.0 * hidden * as_real_count(sizes.attention) +
                       (sizes.gated ? 3.0 : 2.0) * hidden * width + biases + 4.0 * hidden;
  const double joined = hidden * as_real_count(sizes.merge) * as_real_count(sizes.merge);
  const double merger = sizes.one_projection
                            ? hidden * as_real_count(sizes.output)
                            : joined * joined + joined * as_real_count(sizes.output);
  return as_real_count(sizes.depth) * layer + hidden * as_real_count(sizes.patch_inputs) +
         hidden * as_real_count(sizes.positions) + as_real_count(sizes.mergers) * merger;
}

/// Gemma 4 12B encodes nothing: each square of pixels goes through one matrix, with norms before
/// and after it, a vector of each axis' position and a norm, and then into the decoder.
std::optional<VisionTower> read_linear_map(document::ObjectReader& reader,
                                           std::int64_t hidden_size) {
  const std::int64_t side = first_of(reader, {"model_patch_size"}, kPixels);
  const std::int64_t width = first_of(reader, {"mm_embed_dim"}, kWidth);
  if (side == 0 || width == 0) {
    return std::nullopt;
  }
  const double pixels = as_real_count(kRgb * side * side);
  const double positions = 2.0 * as_real_count(first_of(reader, {"mm_posemb_size"}, kWidth));
  constexpr double kVectors = 5.0;  // The matrix's bias, and two norms with one.
  return VisionTower{
      .parameters = 2.0 * pixels + as_real_count(width) *
                                       (pixels + positions + kVectors + as_real_count(hidden_size)),
      .patch = side};
}

/// Parameters of Gemma 4's audio encoder, a conformer, with its projection into the decoder; of the
/// 12B that projection alone. Other encoders are left to check_unread_keys.
double read_audio(ConfigReader& config, std::int64_t hidden_size) {
  const document::Node* node = config.node("audio_config");
  if (node == nullptr || !node->is_map()) {
    return 0.0;
  }
  document::ObjectReader reader(*node,
                                config.path_of("audio_config"),
                                config.errors(),
                                document::ObjectReader::Unknown::kIgnore);
  const document::Node* type = node->find("model_type");
  const std::string kind = type != nullptr && type->is_string() ? type->as_string() : std::string();
  if (kind == "gemma4_unified_audio") {
    return as_real_count(first_of(reader, {"output_proj_dims"}, kWidth)) *
           as_real_count(hidden_size);
  }
  if (kind != "gemma4_audio") {
    config.not_understood("audio_config");
    return 0.0;
  }
  const double width = as_real_count(first_of(reader, {"hidden_size"}, kWidth));
  const double output = as_real_count(first_of(reader, {"output_proj_dims"}, kWidth));
  // A layer: two feed-forward networks of four times the width, attention with a matrix for
  // relative positions, a convolution between matrices of 2 and 1 times the width, norms. The two
  // convolutions before the layers are left out: 40 thousand.
  constexpr double kMatrices = 2.0 * 8.0 + 5.0 + 3.0;
  constexpr double kNorms = 9.0;
  const double taps = as_real_count(first_of(reader, {"conv_kernel_size"}, kHeads));
  const double layer = width * (kMatrices * width + kNorms + taps);
  return as_real_count(first_of(reader, {"num_hidden_layers"}, kLayers)) * layer + width * width +
         output * (width + 1.0 + as_real_count(hidden_size));
}

std::optional<VisionTower> read_tower(ConfigReader& config, std::int64_t hidden_size) {
  const document::Node* node = config.node("vision_config");
  if (node == nullptr || !node->is_map()) {
    return std::nullopt;
  }
  document::ObjectReader reader(*node,
                                config.path_of("vision_config"),
                                config.errors(),
                                document::ObjectReader::Unknown::kIgnore);
  if (const std::optional<std::int64_t> stated =
          reader.integer("_parameters", {1, std::int64_t{1} << 50})) {
    // The catalogue's own key, for towers whose arrangement is unlike the others'.
    return VisionTower{.parameters = as_real_count(*stated),
                       .patch = first_of(reader, {"patch_size"}, kPixels),
                       .patches_a_side = std::max<std::int64_t>(
                           1, first_of(reader, {"spatial_merge_size"}, kHeads))};
  }
  if (const auto map = read_linear_map(reader, hidden_size)) {
    return map;
  }
  const Sizes sizes = read_sizes(*node, reader, hidden_size);
  if (sizes.hidden == 0 || sizes.depth == 0 || sizes.width == 0 || sizes.patch == 0) {
    config.derived("vision", "vision_config lacks sizes: the tower's weights are not counted");
    config.not_understood("vision_config");
    return std::nullopt;
  }
  config.derived("vision", "parameters counted from the sizes in vision_config");
  return VisionTower{
      .parameters = parameters_of(sizes), .patch = sizes.patch, .patches_a_side = sizes.merge};
}

}  // namespace

std::optional<VisionTower> read_vision(ConfigReader& config, std::int64_t hidden_size) {
  std::optional<VisionTower> tower = read_tower(config, hidden_size);
  const double audio = read_audio(config, hidden_size);
  if (tower) {
    tower->parameters += audio;
  }
  return tower;
}

}  // namespace ridgeline::model
