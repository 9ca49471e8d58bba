#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/core.h>

#include "model/module_pattern.hpp"
#include "model/operators.hpp"
#include "model/quantisation.hpp"

namespace ridgeline::model {
namespace {

constexpr std::string_view kLayersPrefix = "layers.";
/// Regular expressions that mention numbers are tried on every layer.
constexpr int kMostNumberedExpressions = 64;

bool names_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [text](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

/// The largest modules of each part, as the families' checkpoints call them: what happens to them
/// happens to the part.
std::span<const std::string_view> modules_of(Part part) {
  static constexpr std::array<std::string_view, 8> kInModules = {"self_attn.q_proj",
                                                                 "self_attn.qkv_proj",
                                                                 "self_attn.q_b_proj",
                                                                 "attn.wq_b",
                                                                 "linear_attn.in_proj_qkv",
                                                                 "linear_attn.in_proj_qkvz",
                                                                 "mixer.q_proj",
                                                                 "mixer.in_proj"};
  static constexpr std::array<std::string_view, 5> kOutModules = {
      "self_attn.o_proj", "attn.wo_b", "linear_attn.out_proj", "mixer.o_proj", "mixer.out_proj"};
  static constexpr std::array<std::string_view, 6> kFfnModules = {"mlp.gate_proj",
                                                                  "mlp.up_proj",
                                                                  "mlp.gate_up_proj",
                                                                  "feed_forward.gate_proj",
                                                                  "feed_forward.up_proj",
                                                                  "mixer.up_proj"};
  static constexpr std::array<std::string_view, 8> kRoutedModules = {
      "mlp.experts",
      "mlp.experts.0.gate_proj",
      "mlp.experts.0.up_proj",
      "feed_forward.experts",
      "block_sparse_moe.experts.0.w1",
      "mixer.experts.0.up_proj",
      "experts",
      "ffn.experts.0.w1"};
  static constexpr std::array<std::string_view, 6> kSharedModules = {
      "mlp.shared_experts.gate_proj",
      "mlp.shared_expert.gate_proj",
      "feed_forward.shared_expert.gate_proj",
      "block_sparse_moe.shared_experts.gate_proj",
      "mixer.shared_experts.up_proj",
      "share_expert.gate_proj"};
  switch (part) {
    case Part::kMixerIn:
      return kInModules;
    case Part::kMixerOut:
      return kOutModules;
    case Part::kFfn:
      return kFfnModules;
    case Part::kRouted:
      return kRoutedModules;
    case Part::kShared:
      break;
  }
  return kSharedModules;
}

constexpr std::array<Part, kNumParts> kParts = {
    Part::kMixerIn, Part::kMixerOut, Part::kFfn, Part::kRouted, Part::kShared};

/// "a.layers.12.b" gives 12 and "b"; nothing where no number follows.
struct Place {
  std::int64_t layer = 0;
  std::string_view inside;
};
std::optional<Place> place_of(std::string_view name) {
  const std::size_t at = name.find(kLayersPrefix);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view rest = name.substr(at + kLayersPrefix.size());
  Place place;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), place.layer);
  if (error != std::errc{} || place.layer < 0) {
    return std::nullopt;
  }
  place.inside = rest.substr(static_cast<std::size_t>(end - rest.data()));
  return place;
}

}  // namespace

std::optional<Part> part_of_module(std::string_view name) {
  if (names_any(name, {"norm", "conv1d", "indexer", "router", "rotary", "shared_expert_gate"}) ||
      name.ends_with(".gate") || name.ends_with("_bias")) {
    return std::nullopt;
  }
  if (names_any(name, {"shared_expert", "share_expert", "_latent_proj"})) {
    return Part::kShared;
  }
  if (names_any(name, {"experts"})) {
    return Part::kRouted;
  }
  if (names_any(name, {"o_proj", "out_proj", "wo_a", "wo_b"})) {
    return Part::kMixerOut;
  }
  if (names_any(name,
                {"q_proj",
                 "qkv",
                 "q_a_proj",
                 "q_b_proj",
                 "kv_a_proj",
                 "kv_b_proj",
                 "in_proj",
                 "k_proj",
                 "v_proj",
                 "wq_",
                 "wkv"})) {
    return Part::kMixerIn;
  }
  if (names_any(name, {"gate_proj", "up_proj", "down_proj", "gate_up_proj"})) {
    return Part::kFfn;
  }
  return std::nullopt;
}

FormatTable::FormatTable(std::int64_t num_layers, DType base)
    : formats_(static_cast<std::size_t>(num_layers) * kNumParts, base), lm_head_(base) {}

void FormatTable::set(std::int64_t layer, Part part, DType format) {
  formats_[static_cast<std::size_t>(layer) * kNumParts + static_cast<std::size_t>(part)] = format;
}

DType FormatTable::at(std::int64_t layer, Part part) const {
  return formats_[static_cast<std::size_t>(layer) * kNumParts + static_cast<std::size_t>(part)];
}

void FormatTable::set_all(DType format) {
  std::fill(formats_.begin(), formats_.end(), format);
}

void FormatTable::set_experts(DType format) {
  for (std::int64_t layer = 0; layer < num_layers(); ++layer) {
    set(layer, Part::kRouted, format);
  }
}

void FormatTable::set_module(std::string_view name, DType format) {
  if (name.ends_with("lm_head")) {
    lm_head_ = format;
    return;
  }
  const std::optional<Place> place = place_of(name);
  if (!place || place->layer >= num_layers() || name.starts_with("mtp")) {
    return;
  }
  const std::optional<Part> part = part_of_module(place->inside);
  if (!part) {
    return;
  }
  // Keys and values are small beside queries: theirs is not the part's format.
  const bool minor = names_any(place->inside, {"k_proj", "v_proj", "kv_a_proj"});
  if (!minor || *part != Part::kMixerIn) {
    set(place->layer, *part, format);
  }
}

std::optional<bool> FormatTable::matches_part(std::string_view pattern,
                                              std::int64_t layer,
                                              Part part) const {
  for (const std::string_view module : modules_of(part)) {
    if (experts_apart_ && part == Part::kRouted && module.find('.') != std::string_view::npos) {
      continue;
    }
    // Checkpoints differ in what stands before "layers".
    for (const std::string_view prefix :
         {"model.", "model.language_model.", "language_model.model.", "backbone.", ""}) {
      const auto match =
          matches_module(pattern, fmt::format("{}layers.{}.{}", prefix, layer, module));
      if (!match || *match) {
        return match;
      }
    }
  }
  return false;
}

bool FormatTable::set_matching_in(std::string_view pattern, std::int64_t layer, DType format) {
  for (const Part part : kParts) {
    const std::optional<bool> match = matches_part(pattern, layer, part);
    if (!match) {
      return false;
    }
    if (*match) {
      set(layer, part, format);
    }
  }
  return true;
}

bool FormatTable::set_matching(std::string_view pattern, DType format) {
  const bool expression = pattern.starts_with("re:");
  if (pattern.find("lm_head") != std::string_view::npos) {
    lm_head_ = format;
    return true;
  }
  if (const std::optional<Place> place = place_of(pattern); place && !expression) {
    return place->layer >= num_layers() || set_matching_in(pattern, place->layer, format);
  }
  const bool numbered = expression && std::any_of(pattern.begin(), pattern.end(), [](char letter) {
                          return letter >= '0' && letter <= '9';
                        });
  if (numbered) {
    if (++numbered_expressions_ > kMostNumberedExpressions) {
      return false;
    }
    for (std::int64_t layer = 0; layer < num_layers(); ++layer) {
      if (!set_matching_in(pattern, layer, format)) {
        return false;
      }
    }
    return true;
  }
  // Without a number it means every layer alike.
  for (const Part part : kParts) {
    const std::optional<bool> match = matches_part(pattern, 0, part);
    if (!match) {
      return false;
    }
    for (std::int64_t layer = 0; *match && layer < num_layers(); ++layer) {
      set(layer, part, format);
    }
  }
  return true;
}

}  // namespace ridgeline::model
