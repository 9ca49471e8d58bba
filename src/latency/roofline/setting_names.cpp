#include "latency/roofline/setting_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string>
#include <string_view>

#include "document/document.hpp"
#include "latency/roofline/constants.hpp"
#include "latency/roofline/switches.hpp"

namespace ridgeline::latency::roofline {
namespace {

constexpr std::string_view kMixed = "mixed";

// Source: the plan review and H1 to H5 of the original simulator.
constexpr auto kAliases = std::to_array<SettingAlias>({
    {.theirs = "PerLayerCPUOverhead", .ours = "perLayerOverhead"},
    {.theirs = "mixedBatchMode", .ours = kMixed},
    {.theirs = "fuseQKV", .ours = "fuse_qkv"},
    {.theirs = "perComponentRoofline", .ours = "per_component"},
    {.theirs = "PrefillAttnScalingFactor", .ours = "prefill_attention_divisor"},
    {.theirs = "AttentionPrefillCorrectionFactor",
     .ours = "prefill_attention_divisor",
     .zero_is_one = true},
    {.theirs = "PrefillBwEfficiency", .ours = "prefillBwFactor", .per_phase = true},
    {.theirs = "DecodeBwEfficiency", .ours = "decodeBwFactor", .per_phase = true},
});

bool equal_in_any_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char left, unsigned char right) {
    return std::tolower(left) == std::tolower(right);
  });
}

}  // namespace

std::span<const SettingAlias> setting_aliases() {
  return kAliases;
}

SettingName setting_name(std::string_view typed) {
  for (const ConstantKey& key : constant_keys()) {
    if (equal_in_any_case(key.name, typed)) {
      return {.key = std::string(key.name), .is_known = true};
    }
  }
  for (const std::string_view name : switch_names()) {
    if (equal_in_any_case(name, typed)) {
      return {.key = std::string(name), .is_known = true};
    }
  }
  const auto* const alias = std::ranges::find_if(
      kAliases, [&](const SettingAlias& known) { return equal_in_any_case(known.theirs, typed); });
  if (alias != kAliases.end()) {
    return {.key = std::string(alias->ours), .is_known = true, .alias = alias};
  }
  return {.key = std::string(typed)};
}

document::Node own_value(const SettingName& name, const document::Node& value) {
  if (name.alias == nullptr) {
    return value;
  }
  if (name.alias->zero_is_one && value.is_number() && value.as_real() == 0.0) {
    return document::Node::real(1.0, value.where());
  }
  if (name.key == kMixed && value.is_string() && value.as_string().empty()) {
    return document::Node::string("default", value.where());
  }
  return value;
}

}  // namespace ridgeline::latency::roofline
