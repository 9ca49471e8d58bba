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
  const double layer =
      4.0 * hidden * hidden + (sizes.gated ? 3.0 : 2.0) * hidden * width + biases + 4.0 * hidden;
  const double joined = hidden * as_real_count(sizes.merge) * as_real_count(sizes.merge);
  const double merger = sizes.one_projection
                            ? hidden * as_real_count(sizes.output)
                            : joined * joined + joined * as_real_count(sizes.output);
  return as_real_count(sizes.depth) * layer + hidden * as_real_count(sizes.patch_inputs) +
         hidden * as_real_count(sizes.positions) + as_real_count(sizes.mergers) * merger;
}

}  // namespace

std::optional<VisionTower> read_vision(ConfigReader& config, std::int64_t hidden_size) {
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

}  // namespace ridgeline::model
