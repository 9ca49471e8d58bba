#include "model/quantisation.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "core/text.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "model/config_reader.hpp"
#include "model/operators.hpp"

namespace ridgeline::model {
namespace {

constexpr std::string_view kSupported =
    "supported: fp8, mxfp4, awq, gptq, compressed-tensors with 4 or 8 bits, modelopt, quark";

/// INT4 scales that stand closer than this take notable memory (DType::kInt4Group32).
constexpr std::int64_t kFineGroup = 32;
/// Elements that share a scale in MXFP4 and MXFP8.
constexpr std::int64_t kMicroscaled = 32;

/// Integers of a number of bits, as AWQ and GPTQ have them.
std::optional<DType> integer_format(std::optional<std::int64_t> bits,
                                    std::optional<std::int64_t> group) {
  if (bits == 4) {
    return group && *group > 0 && *group <= kFineGroup ? DType::kInt4Group32 : DType::kInt4;
  }
  return bits == 8 ? std::optional(DType::kInt8WeightOnly) : std::nullopt;
}

/// ModelOpt's names of algorithms.
std::optional<DType> algorithm_format(std::string_view name) {
  struct Named {
    std::string_view name;
    DType format;
  };
  static constexpr std::array<Named, 11> kNamed = {{{"FP8", DType::kFp8},
                                                    {"FP8_PER_CHANNEL_PER_TOKEN", DType::kFp8},
                                                    {"FP8_PB_WO", DType::kFp8Block},
                                                    {"FP8_BLOCK_SCALES", DType::kFp8Block},
                                                    {"NVFP4", DType::kNvfp4},
                                                    {"W4A16_NVFP4", DType::kNvfp4WeightOnly},
                                                    {"NVFP4_AWQ", DType::kNvfp4},
                                                    {"MXFP8", DType::kMxfp8},
                                                    {"W4A16_AWQ", DType::kInt4},
                                                    {"W4A8_AWQ", DType::kInt4With8Bit},
                                                    {"W8A8_SQ_PER_CHANNEL", DType::kInt8}}};
  for (const Named& named : kNamed) {
    if (named.name == name) {
      return named.format;
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> integer_at(const document::Node& map, std::string_view key) {
  const document::Node* value = map.find(key);
  return value != nullptr && value->kind() == document::Node::Kind::kInteger
             ? std::optional(value->as_integer())
             : std::nullopt;
}

std::string string_at(const document::Node& map, std::string_view key) {
  const document::Node* value = map.find(key);
  return value != nullptr && value->is_string() ? value->as_string() : std::string();
}

/// A group of compressed-tensors: the format of its weights, given its activations.
std::optional<DType> group_format(const document::Node& group) {
  const document::Node* weights = group.find("weights");
  if (weights == nullptr || !weights->is_map()) {
    return std::nullopt;
  }
  const document::Node* inputs = group.find("input_activations");
  const bool weight_only = inputs == nullptr || inputs->is_null();
  const std::string type = string_at(*weights, "type");
  const auto bits = integer_at(*weights, "num_bits");
  if (type == "float" && bits == 8) {
    if (weight_only) {
      return DType::kFp8WeightOnly;
    }
    if (integer_at(*weights, "group_size") == kMicroscaled) {
      return DType::kMxfp8;
    }
    return string_at(*weights, "strategy") == "block" ? DType::kFp8Block : DType::kFp8;
  }
  if (type == "float" && bits == 4) {
    // MXFP4's scales stand every 32 elements, NVFP4's every 16.
    if (integer_at(*weights, "group_size") == kMicroscaled) {
      return DType::kMxfp4;
    }
    return weight_only ? DType::kNvfp4WeightOnly : DType::kNvfp4;
  }
  if (type == "int" && bits == 8) {
    return weight_only ? DType::kInt8WeightOnly : DType::kInt8;
  }
  if (type == "int" && bits == 4) {
    if (!weight_only && inputs->is_map() && integer_at(*inputs, "num_bits") == 8) {
      return DType::kInt4With8Bit;
    }
    const auto size = integer_at(*weights, "group_size");
    return size && *size > 0 && *size <= kFineGroup ? DType::kInt4Group32 : DType::kInt4;
  }
  return std::nullopt;
}

/// A config of AMD Quark: the format of its weights, given its inputs.
std::optional<DType> quark_format(const document::Node* config) {
  const document::Node* weights =
      config != nullptr && config->is_map() ? config->find("weight") : nullptr;
  if (weights == nullptr || !weights->is_map()) {
    return std::nullopt;
  }
  const document::Node* inputs = config->find("input_tensors");
  const std::string type = string_at(*weights, "dtype");
  if (type == "fp4" && integer_at(*weights, "group_size") == 32) {
    return DType::kMxfp4;
  }
  if (type == "fp8_e4m3") {
    return inputs == nullptr || inputs->is_null() ? DType::kFp8WeightOnly : DType::kFp8;
  }
  return std::nullopt;
}

class QuantisationReader {
 public:
  QuantisationReader(ConfigReader& config,
                     const document::Node& node,
                     DType base,
                     FormatTable& table)
      : reader_(node,
                config.path_of("quantization_config"),
                config.errors(),
                document::ObjectReader::Unknown::kIgnore),
        base_(base),
        table_(table) {}

  std::optional<DType> read() {
    if (!formats()) {
      return std::nullopt;
    }
    exceptions();
    return kv();
  }

 private:
  bool refuse(std::string_view key, std::string_view what) {
    reader_.problem(key, fmt::format("{} is not modelled yet", what), std::string(kSupported));
    return false;
  }

  bool formats() {
    const std::string method = reader_.string("quant_method").value_or("");
    const std::optional<std::string> algorithm = reader_.string("quant_algo");
    if (const document::Node* modules = reader_.node("quantized_layers");
        modules != nullptr && modules->is_map()) {
      if (method == "fp8") {  // NVFP4's exceptions are none of FP8's.
        table_.set_all(fp8_format());
        has_exceptions_ = false;
      }
      return by_module(*modules);
    }
    if (method == "mxfp4") {
      table_.set_experts(DType::kMxfp4);
      return true;
    }
    if (method == "mxfp8") {
      table_.set_all(DType::kMxfp8);
      return true;
    }
    if (method == "awq" || method == "gptq" || method == "awq_marlin" || method == "gptq_marlin") {
      return integers_only();
    }
    if (method == "quark") {
      return by_quark();
    }
    const bool known = method.empty() || method == "fp8" || method == "compressed-tensors" ||
                       method.starts_with("modelopt");
    if (!known) {
      return refuse("quant_method", fmt::format("quantisation {}", core::quote(method)));
    }
    if (const auto experts = reader_.string("moe_quant_algo"); experts && method == "fp8") {
      const auto format = algorithm_format(*experts);
      if (!format) {
        return refuse("moe_quant_algo", fmt::format("quantisation {}", core::quote(*experts)));
      }
      table_.set_all(fp8_format());
      table_.set_experts(*format);
      has_exceptions_ = false;
      return true;
    }
    if (algorithm) {
      const auto format = algorithm_format(*algorithm);
      if (!format) {
        return refuse("quant_algo", fmt::format("quantisation {}", core::quote(*algorithm)));
      }
      table_.set_all(*format);
      return true;
    }
    if (method == "fp8") {
      const std::string format = reader_.string("fmt").value_or("e4m3");
      table_.set_all(fp8_format());
      return format == "e4m3" || format == "float8_e4m3fn" ||
             refuse("fmt", fmt::format("the FP8 format {}", core::quote(format)));
    }
    return by_group(method.empty() ? "quant_method" : "config_groups");
  }

  DType fp8_format() {
    const document::Node* block = reader_.node("weight_block_size");
    return block != nullptr && block->is_list() ? DType::kFp8Block : DType::kFp8;
  }

  bool integers_only() {
    const auto bits = reader_.integer("bits", {1, 64});
    const auto width = bits ? bits : reader_.integer("w_bit", {1, 64});
    const auto group = reader_.integer("group_size", {-1, 1 << 20});
    const auto format = integer_format(width, group);
    if (!format) {
      return refuse("bits", width ? fmt::format("{}-bit weights", *width) : "an unstated width");
    }
    if (!only_named(*format)) {
      table_.set_all(*format);
    }
    const bool has_head = reader_.boolean("lm_head").value_or(false);
    if (has_head) {
      table_.set_lm_head(*format);
    }
    return by_pattern(width, group, has_head);
  }

  /// GPTQ's list of the modules that are quantised, each by a part of its name; false where it has
  /// none.
  bool only_named(DType format) {
    const document::Node* names = reader_.node("modules_in_block_to_quantize");
    if (names == nullptr || !names->is_list() || names->items().empty()) {
      return false;
    }
    for (const document::Node& name : names->items()) {
      for (const document::Node& one :
           name.is_list() ? name.items() : std::vector<document::Node>{name}) {
        if (!one.is_string() ||
            !table_.set_matching(fmt::format("*{}*", one.as_string()), format)) {
          refuse("modules_in_block_to_quantize", fmt::format("the module {}", one.describe()));
        }
      }
    }
    return true;
  }

  /// GPTQ's overrides: the first pattern that matches a module's name from its beginning decides
  /// about it; "-:" leaves it unquantised.
  bool by_pattern(std::optional<std::int64_t> bits,
                  std::optional<std::int64_t> group,
                  bool has_head) {
    const document::Node* patterns = reader_.node("dynamic");
    if (patterns == nullptr || !patterns->is_map()) {
      return true;
    }
    const std::vector<document::Node::Member>& members = patterns->members();
    for (auto member = members.rbegin(); member != members.rend(); ++member) {
      std::string pattern = member->key;
      const bool is_left_out = pattern.starts_with("-:");
      pattern = pattern.substr(is_left_out || pattern.starts_with("+:") ? 2 : 0);
      if (!has_head && pattern.find("lm_head") != std::string::npos) {
        continue;
      }
      const auto own = [&](std::string_view key, std::optional<std::int64_t> otherwise) {
        const auto stated = member->value.is_map() ? integer_at(member->value, key) : std::nullopt;
        return stated ? stated : otherwise;
      };
      const auto format = is_left_out ? std::optional(base_)
                                      : integer_format(own("bits", bits), own("group_size", group));
      if (!format || !table_.set_matching("re:" + pattern, *format)) {
        return refuse("dynamic", fmt::format("the override {}", core::quote(member->key)));
      }
    }
    return true;
  }

  /// One config for all layers, and others by patterns of their names.
  bool by_quark() {
    const auto all = quark_format(reader_.node("global_quant_config"));
    if (!all) {
      return refuse("global_quant_config", "the scheme of Quark's weights");
    }
    table_.set_all(*all);
    const document::Node* layers = reader_.node("layer_quant_config");
    if (layers == nullptr || !layers->is_map()) {
      return true;
    }
    for (const document::Node::Member& layer : layers->members()) {
      const auto format = quark_format(&layer.value);
      if (!format || !table_.set_matching(layer.key, *format)) {
        return refuse("layer_quant_config",
                      fmt::format("the scheme of {}", core::quote(layer.key)));
      }
    }
    return true;
  }

  bool by_module(const document::Node& modules) {
    for (const document::Node::Member& module : modules.members()) {
      const std::string name = string_at(module.value, "quant_algo");
      const auto format = algorithm_format(name);
      if (!format) {
        return refuse(
            "quantized_layers",
            fmt::format("quantisation {} of {}", core::quote(name), core::quote(module.key)));
      }
      table_.set_module(module.key, *format);
    }
    return true;
  }

  bool by_group(std::string_view key_when_missing) {
    const document::Node* groups = reader_.node("config_groups");
    if (groups == nullptr) {
      reader_.problem(
          key_when_missing, "is missing, so the quantisation is unknown", std::string(kSupported));
      return false;
    }
    if (!groups->is_map() || groups->members().empty()) {
      reader_.problem("config_groups", fmt::format("{} names no group", groups->describe()));
      return false;
    }
    for (const document::Node::Member& group : groups->members()) {
      const auto format = group_format(group.value);
      if (!format) {
        return refuse("config_groups", fmt::format("the scheme of {}", core::quote(group.key)));
      }
      if (!targets(group.value, *format)) {
        return false;
      }
    }
    return true;
  }

  bool targets(const document::Node& group, DType format) {
    const document::Node* list = group.find("targets");
    // Some published files have the list as text: "1['Linear']".
    if (list == nullptr || !list->is_list()) {
      table_.set_all(format);
      return true;
    }
    for (const document::Node& target : list->items()) {
      if (!target.is_string()) {
        return refuse("config_groups", fmt::format("the target {}", target.describe()));
      }
      if (target.as_string() == "Linear") {
        table_.set_all(format);
      } else if (!table_.set_matching(target.as_string(), format)) {
        return refuse("config_groups", fmt::format("the target {}", target.describe()));
      }
    }
    return true;
  }

  void exceptions() {
    if (!has_exceptions_) {
      return;
    }
    for (const std::string_view key :
         {"ignore", "modules_to_not_convert", "ignored_layers", "exclude_modules", "exclude"}) {
      const document::Node* patterns = reader_.node(key);
      if (patterns == nullptr || patterns->is_null()) {
        continue;
      }
      if (!patterns->is_list()) {
        reader_.problem(key, fmt::format("{} is not a list of module names", patterns->describe()));
        continue;
      }
      for (const document::Node& pattern : patterns->items()) {
        if (!pattern.is_string() || !table_.set_matching(pattern.as_string(), base_)) {
          refuse(key, fmt::format("leaving {} unquantised", pattern.describe()));
          return;
        }
      }
    }
  }

  std::optional<DType> kv() {
    for (const std::string_view key : {"kv_cache_quant_algo", "kv_cache_scheme"}) {
      const document::Node* scheme = reader_.node(key);
      if (scheme == nullptr || scheme->is_null()) {
        continue;
      }
      const bool named = scheme->is_string() && scheme->as_string() == "FP8";
      const bool described = scheme->is_map() && integer_at(*scheme, "num_bits") == 8 &&
                             string_at(*scheme, "type") == "float";
      if (!named && !described) {
        refuse(key, fmt::format("the KV cache format {}", scheme->describe()));
      }
      return DType::kFp8;
    }
    return std::nullopt;
  }

  document::ObjectReader reader_;
  DType base_;
  FormatTable& table_;
  bool has_exceptions_ = true;
};

}  // namespace

std::optional<DType> read_quantisation(ConfigReader& config,
                                       const document::Node& node,
                                       DType base,
                                       FormatTable& table) {
  return QuantisationReader(config, node, base, table).read();
}

}  // namespace ridgeline::model
