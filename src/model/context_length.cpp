#include "model/context_length.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.hpp"
#include "document/document.hpp"

namespace ridgeline::model {
namespace {

using document::Node;

/// Longer than any network's.
constexpr double kLongest = 1e9;

std::optional<double> number_at(const Node& map, std::string_view key) {
  const Node* value = map.find(key);
  const bool is_number = value != nullptr && (value->kind() == Node::Kind::kInteger ||
                                              value->kind() == Node::Kind::kReal);
  return is_number && value->as_real() > 0 ? std::optional(value->as_real()) : std::nullopt;
}

std::string type_of(const Node& rope) {
  for (const std::string_view key : {"rope_type", "type"}) {
    if (const Node* type = rope.find(key); type != nullptr && type->is_string()) {
      return type->as_string();
    }
  }
  return "default";
}

/// The maps of rotary positions: one, or one for each kind of layer.
std::vector<Node> ropes_of(const Node& config) {
  std::vector<Node> ropes;
  for (const std::string_view key : {"rope_scaling", "rope_parameters"}) {
    const Node* rope = config.find(key);
    if (rope == nullptr || !rope->is_map()) {
      continue;
    }
    for (const Node::Member& member : rope->members()) {
      if (member.value.is_map()) {
        ropes.push_back(member.value);
      }
    }
    if (ropes.empty()) {
      ropes.push_back(*rope);
    }
    return ropes;
  }
  return ropes;
}

/// vLLM takes the shortest of what is stated, SGLang the first.
double base_of(const Node& config, double max_position, bool is_sglang) {
  static constexpr std::array<std::string_view, 8> kVllmKeys = {"n_positions",
                                                                "max_seq_len",
                                                                "seq_length",
                                                                "model_max_length",
                                                                "max_target_positions",
                                                                "max_sequence_length",
                                                                "max_seq_length",
                                                                "seq_len"};
  static constexpr std::array<std::string_view, 4> kSglangKeys = {
      "max_sequence_length", "seq_length", "max_seq_len", "model_max_length"};
  if (is_sglang) {
    for (const std::string_view key : kSglangKeys) {
      if (const auto length = number_at(config, key)) {
        return *length;
      }
    }
    return max_position;
  }
  double base = max_position;
  for (const std::string_view key : kVllmKeys) {
    base = std::min(base, number_at(config, key).value_or(base));
  }
  return base;
}

double scaled(double base, const Node& rope, LengthRule rule) {
  const std::string type = type_of(rope);
  const double factor = number_at(rope, "factor").value_or(1.0);
  const auto original = number_at(rope, "original_max_position_embeddings");
  if (type == "llama3") {
    return base;
  }
  if (rule == LengthRule::kSglang) {
    return original || type == "default" ? base : base * factor;
  }
  const bool is_yarn =
      type == "yarn" || type == "deepseek_yarn" || type == "deepseek_llama_scaling";
  if (type == "su" || type == "longrope" || (is_yarn && rule == LengthRule::kVllm)) {
    return base;
  }
  return (type == "yarn" ? original.value_or(base) : base) * factor;
}

}  // namespace

core::Tokens context_length(const Node& config, core::Tokens max_position, LengthRule rule) {
  const Node* family = config.find("model_type");
  const bool is_scaled =
      family != nullptr && family->is_string() && family->as_string().starts_with("gemma3");
  if (rule == LengthRule::kStated) {
    return max_position;
  }
  const double base =
      base_of(config, static_cast<double>(max_position.value()), rule == LengthRule::kSglang);
  double length = base;
  for (const Node& rope : is_scaled ? std::vector<Node>() : ropes_of(config)) {
    length = scaled(base, rope, rule);
  }
  return core::Tokens(static_cast<std::int64_t>(std::min(length, kLongest)));
}

}  // namespace ridgeline::model
