#include "model/precision.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/core.h>

#include "core/document.hpp"
#include "core/reader.hpp"
#include "core/text.hpp"
#include "model/config_reader.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::model {
namespace {

constexpr std::string_view kSupported =
    "supported: fp8, compressed-tensors with 8-bit float weights and activations, modelopt FP8";

/// The projections of attention, as checkpoints name them.
constexpr std::array<std::string_view, 4> kProjections = {"q_proj", "k_proj", "v_proj", "o_proj"};

bool contains_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [text](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

/// vLLM serves 32-bit checkpoints in 16 bits (its `dtype: auto`).
DType read_dtype(ConfigReader& config) {
  const std::optional<std::string> older = config.string("torch_dtype");
  const std::optional<std::string> newer = config.string("dtype");
  const std::string_view key = newer ? "dtype" : "torch_dtype";
  const std::optional<std::string>& stated = newer ? newer : older;
  if (!stated) {
    config.derived("torch_dtype", "default: bfloat16");
    return DType::kBf16;
  }
  if (*stated == "float16" || *stated == "half") {
    return DType::kFp16;
  }
  if (*stated == "float32" || *stated == "float") {
    config.derived(key, "float32, served in 16 bits as vLLM's dtype auto does");
    return DType::kBf16;
  }
  if (*stated != "bfloat16") {
    config.problem(
        key, fmt::format("{} is not one of bfloat16, float16, float32", core::quote(*stated)));
  }
  return DType::kBf16;
}

/// What a quantisation leaves in 16 bits, module by module.
class Exceptions {
 public:
  explicit Exceptions(std::int64_t num_layers) {
    for (std::vector<bool>& layers : left_out_) {
      layers.assign(static_cast<std::size_t>(num_layers), false);
    }
  }

  /// A module's name, perhaps with wildcards ("*"), perhaps a regular expression ("re:..."). False
  /// when it means something that cannot be described.
  bool add(std::string_view pattern) {
    const bool gate =
        contains_any(pattern, {"gate"}) && !contains_any(pattern, {"gate_proj", "gate_up"});
    if (gate || contains_any(pattern,
                             {"vision",
                              "visual",
                              "multi_modal_projector",
                              "lm_head",
                              "embed_tokens",
                              "norm",
                              "router",
                              "e_score_correction_bias"})) {
      return true;  // not quantised anyway, or not part of the text network
    }
    if (contains_any(pattern, {"mlp", "feed_forward", "experts", "block_sparse_moe"}) ||
        !contains_any(pattern, {"self_attn"})) {
      return false;
    }
    return add_attention(pattern);
  }

  /// How many layers keep a projection in 16 bits, and of how many.
  [[nodiscard]] std::array<std::int64_t, kProjections.size()> layers_left_out() const {
    std::array<std::int64_t, kProjections.size()> counts{};
    for (std::size_t i = 0; i < counts.size(); ++i) {
      counts[i] = std::count(left_out_[i].begin(), left_out_[i].end(), true);
    }
    return counts;
  }

 private:
  bool add_attention(std::string_view pattern) {
    std::string_view last =
        pattern.substr(pattern.rfind('.') == std::string_view::npos ? 0 : pattern.rfind('.') + 1);
    while (!last.empty() && (last.back() == '*' || last.back() == '$')) {
      last.remove_suffix(1);
    }
    bool known = false;
    for (std::size_t i = 0; i < kProjections.size(); ++i) {
      const bool fused = last == "qkv_proj" && kProjections[i] != "o_proj";
      const bool whole = last.empty() || last == "self_attn";
      if (last == kProjections[i] || fused || whole) {
        mark(left_out_[i], pattern);
        known = true;
      }
    }
    return known;
  }

  /// One layer where the pattern has "layers.N.", else all.
  static void mark(std::vector<bool>& layers, std::string_view pattern) {
    constexpr std::string_view kMark = "layers.";
    const std::size_t at = pattern.find(kMark);
    const std::string_view rest =
        at == std::string_view::npos ? std::string_view() : pattern.substr(at + kMark.size());
    std::size_t layer = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), layer);
    if (error != std::errc{}) {
      layers.assign(layers.size(), true);
    } else if (layer < layers.size()) {
      layers[layer] = true;
    }
  }

  std::array<std::vector<bool>, kProjections.size()> left_out_;
};

/// `quantization_config`, piece by piece.
class QuantisationReader {
 public:
  QuantisationReader(ConfigReader& config, const core::Node& node)
      : reader_(node,
                config.path_of("quantization_config"),
                config.errors(),
                core::ObjectReader::Unknown::kIgnore) {}

  /// Whether the scheme is one of those understood; notes why not.
  bool is_fp8() {
    const std::optional<std::string> method = reader_.string("quant_method");
    const std::optional<std::string> algorithm = reader_.string("quant_algo");
    const core::Node* groups = reader_.node("config_groups");
    if (method && *method != "fp8" && *method != "compressed-tensors" && *method != "modelopt") {
      return refuse("quant_method", fmt::format("quantisation {}", core::quote(*method)));
    }
    if (algorithm && *algorithm != "FP8") {
      return refuse("quant_algo", fmt::format("quantisation {}", core::quote(*algorithm)));
    }
    if (groups != nullptr && !groups_are_fp8(*groups)) {
      return false;
    }
    if (method == "fp8") {
      const std::string format = reader_.string("fmt").value_or("e4m3");
      return format == "e4m3" || format == "float8_e4m3fn" ||
             refuse("fmt", fmt::format("the FP8 format {}", core::quote(format)));
    }
    if (groups == nullptr && !algorithm) {
      reader_.problem(method ? "config_groups" : "quant_method",
                      "is missing, so the quantisation is unknown",
                      std::string(kSupported));
      return false;
    }
    return true;
  }

  /// KV format: 8-bit floats where the file says so, `unquantised` otherwise.
  DType kv(DType unquantised) {
    for (const std::string_view key : {"kv_cache_quant_algo", "kv_cache_scheme"}) {
      const core::Node* scheme = reader_.node(key);
      if (scheme == nullptr || scheme->is_null()) {
        continue;
      }
      const bool named = scheme->is_string() && scheme->as_string() == "FP8";
      if (!named && !is_8_bit_float(*scheme)) {
        refuse(key, fmt::format("the KV cache format {}", scheme->describe()));
      }
      return DType::kFp8;
    }
    return unquantised;
  }

  /// Whether attention stays in 16 bits; notes a problem where only part of it does.
  bool attention_left_out(std::int64_t num_layers) {
    Exceptions exceptions(num_layers);
    for (const std::string_view key :
         {"ignore", "modules_to_not_convert", "ignored_layers", "exclude_modules"}) {
      const core::Node* patterns = reader_.node(key);
      if (patterns == nullptr || patterns->is_null()) {
        continue;
      }
      if (!patterns->is_list()) {
        reader_.problem(key, fmt::format("{} is not a list of module names", patterns->describe()));
        continue;
      }
      for (const core::Node& pattern : patterns->items()) {
        if (!pattern.is_string() || !exceptions.add(pattern.as_string())) {
          refuse(key, fmt::format("leaving {} unquantised", pattern.describe()));
          return false;
        }
      }
    }
    const auto counts = exceptions.layers_left_out();
    const auto most = *std::max_element(counts.begin(), counts.end());
    const auto fewest = *std::min_element(counts.begin(), counts.end());
    if (most != fewest || (most != 0 && most != num_layers)) {
      refuse(
          "ignore",
          fmt::format(
              "leaving part of self_attn unquantised (up to {} of {} layers)", most, num_layers));
    }
    return most > 0;
  }

 private:
  bool refuse(std::string_view key, std::string_view what) {
    reader_.problem(key, fmt::format("{} is not modelled yet", what), std::string(kSupported));
    return false;
  }

  static bool is_8_bit_float(const core::Node& scheme) {
    const core::Node* bits = scheme.find("num_bits");
    const core::Node* type = scheme.find("type");
    return bits != nullptr && bits->kind() == core::Node::Kind::kInteger &&
           bits->as_integer() == 8 && type != nullptr && type->is_string() &&
           type->as_string() == "float";
  }

  bool groups_are_fp8(const core::Node& groups) {
    if (!groups.is_map() || groups.members().empty()) {
      reader_.problem("config_groups", fmt::format("{} names no group", groups.describe()));
      return false;
    }
    for (const core::Node::Member& group : groups.members()) {
      for (const std::string_view part : {"weights", "input_activations"}) {
        const core::Node* scheme = group.value.find(part);
        if (scheme == nullptr || !is_8_bit_float(*scheme)) {
          return refuse(
              "config_groups",
              fmt::format("{} whose {} are not 8-bit floats", core::quote(group.key), part));
        }
      }
    }
    return true;
  }

  core::ObjectReader reader_;
};

}  // namespace

Precision read_precision(ConfigReader& config, std::int64_t num_layers) {
  const DType base = read_dtype(config);
  Precision precision{.attention = base, .ffn = base, .embedding = base, .kv = base};
  const core::Node* node = config.node("quantization_config");
  if (node == nullptr || node->is_null()) {
    return precision;
  }
  QuantisationReader quantisation(config, *node);
  if (!node->is_map() || !quantisation.is_fp8()) {
    return precision;
  }
  precision.ffn = DType::kFp8;
  precision.attention = quantisation.attention_left_out(num_layers) ? base : DType::kFp8;
  precision.kv = quantisation.kv(base);
  return precision;
}

}  // namespace ridgeline::model
