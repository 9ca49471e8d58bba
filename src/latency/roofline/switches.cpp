#include "latency/roofline/switches.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "latency/measured/lookup.hpp"
#include "latency/roofline/constants.hpp"

namespace ridgeline::latency::roofline {
namespace {

using Words = std::span<const std::string_view>;

// In the order of the enumerations.
constexpr std::array<std::string_view, 4> kLookupWords = {"floor", "interp", "constant", "log"};
constexpr std::array<std::string_view, 4> kMixingWords = {
    "default", "smooth-wa", "additive", "max"};
constexpr std::array<std::string_view, 2> kRowsWords = {"requests", "tokens"};
constexpr std::array<std::string_view, 3> kLengthWords = {"bucket", "actual", "hybrid"};
constexpr std::array<std::string_view, 6> kDecodeWords = {
    "max", "sum", "per-request", "weighted", "range", "range-count"};
constexpr std::array<std::string_view, 2> kTensorParallelWords = {"divide", "shard"};
constexpr std::array<std::string_view, 4> kBandwidthWords = {"one", "per-phase", "split", "hybrid"};
constexpr std::array<std::string_view, 3> kOverheadWords = {"legacy", "per-layer", "none"};
constexpr std::array<std::string_view, 4> kZeroWords = {"published", "nearest", "first", "v1"};
constexpr std::array<std::string_view, 2> kWeightWords = {"twice", "once"};

constexpr double kMostDivisor = 16.0;
constexpr double kMostMinimum = 1e6;
constexpr double kMostByteFactor = 2.0;

/// One switch: its name, and where it is kept. Words are read and written through an index.
struct SwitchSlot {
  std::string_view name;
  Words words = {};
  std::size_t (*get)(const Switches&) = nullptr;
  void (*put)(Switches&, std::size_t) = nullptr;
  bool Switches::* flag = nullptr;
  double Switches::* number = nullptr;
  double ByteFactors::* factor = nullptr;
  double highest = 0.0;
};

template <auto Member>
constexpr SwitchSlot word_slot(std::string_view name, Words words) {
  return {.name = name,
          .words = words,
          .get = [](const Switches& s) { return static_cast<std::size_t>(s.*Member); },
          .put =
              [](Switches& s, std::size_t index) {
                using Value = std::remove_reference_t<decltype(s.*Member)>;
                s.*Member = static_cast<Value>(index);
              }};
}
constexpr SwitchSlot flag_slot(std::string_view name, bool Switches::* flag) {
  return {.name = name, .flag = flag};
}

constexpr std::string_view kMinBucket = "min_bucket";

constexpr auto kSlots = std::to_array<SwitchSlot>({
    word_slot<&Switches::lookup>("lookup", kLookupWords),
    word_slot<&Switches::mixed>("mixed", kMixingWords),
    word_slot<&Switches::prefill_m>("prefill_m", kRowsWords),
    word_slot<&Switches::attention_length>("attention_length", kLengthWords),
    {.name = kMinBucket},
    word_slot<&Switches::decode_attention>("decode_attention", kDecodeWords),
    flag_slot("softmax", &Switches::softmax),
    word_slot<&Switches::tensor_parallel>("tensor_parallel", kTensorParallelWords),
    flag_slot("fuse_qkv", &Switches::fuse_qkv),
    flag_slot("per_component", &Switches::per_component),
    flag_slot("gemm_floor", &Switches::gemm_floor),
    flag_slot("lm_head", &Switches::lm_head),
    word_slot<&Switches::weights_once>("weight_loads", kWeightWords),
    word_slot<&Switches::bandwidth>("bandwidth", kBandwidthWords),
    word_slot<&Switches::overhead>("overhead", kOverheadWords),
    word_slot<&Switches::zero_rows>("zero_rows", kZeroWords),
    {.name = "prefill_attention_divisor",
     .number = &Switches::prefill_attention_divisor,
     .highest = kMostDivisor},
    {.name = "decode_kv_factor", .factor = &ByteFactors::decode_kv},
    {.name = "prefill_kv_factor", .factor = &ByteFactors::prefill_kv},
    {.name = "decode_activation_factor", .factor = &ByteFactors::decode_activations},
    {.name = "prefill_activation_factor", .factor = &ByteFactors::prefill_activations},
    {.name = "minimum_us", .number = &Switches::minimum_us, .highest = kMostMinimum},
});

tl::unexpected<core::Errors> refuse_switch(const std::string& key,
                                           const document::Node& value,
                                           const std::string& expected,
                                           const std::string& hint = {}) {
  return core::fail({.field = "latency.set." + key,
                     .message = fmt::format("found {}, expected {}", value.describe(), expected),
                     .where = value.where(),
                     .hint = hint});
}

bool is_power_of_two(std::int64_t value) {
  return value > 0 && (value & (value - 1)) == 0;
}

}  // namespace

std::vector<SwitchValue> switch_values(const Switches& switches) {
  std::vector<SwitchValue> values;
  for (const SwitchSlot& slot : kSlots) {
    document::Node value = document::Node::integer(switches.min_bucket, {});
    if (slot.get != nullptr) {
      value = document::Node::string(std::string(slot.words[slot.get(switches)]), {});
    } else if (slot.flag != nullptr) {
      value = document::Node::boolean(switches.*slot.flag, {});
    } else if (slot.number != nullptr) {
      value = document::Node::real(switches.*slot.number, {});
    } else if (slot.factor != nullptr) {
      value = document::Node::real(switches.byte_factors.*slot.factor, {});
    }
    values.push_back({.key = std::string(slot.name), .value = std::move(value)});
  }
  return values;
}

std::span<const std::string_view> switch_names() {
  static constexpr auto kNames = [] {
    std::array<std::string_view, kSlots.size()> names;
    for (std::size_t i = 0; i < names.size(); ++i) {
      names[i] = kSlots[i].name;
    }
    return names;
  }();
  return kNames;
}

core::Result<bool> set_switch(Switches& switches,
                              const std::string& key,
                              const document::Node& value) {
  const auto* const slot = std::ranges::find(kSlots, key, &SwitchSlot::name);
  if (slot == kSlots.end()) {
    return false;
  }
  if (slot->get != nullptr) {
    const std::vector<std::string> words(slot->words.begin(), slot->words.end());
    const std::string word = value.is_string() ? value.as_string() : std::string();
    const auto found = std::ranges::find(words, word);
    if (found == words.end()) {
      const auto near = document::nearest(word, words);
      return refuse_switch(key,
                           value,
                           fmt::format("one of {}", fmt::join(words, ", ")),
                           near ? fmt::format("did you mean '{}'?", *near) : "");
    }
    slot->put(switches, static_cast<std::size_t>(found - words.begin()));
    return true;
  }
  if (slot->flag != nullptr) {
    if (value.kind() != document::Node::Kind::kBool) {
      return refuse_switch(key, value, "true or false");
    }
    switches.*slot->flag = value.as_bool();
    return true;
  }
  if (slot->number != nullptr) {
    if (!value.is_number() || !(value.as_real() >= 0.0) || value.as_real() > slot->highest ||
        (slot->number == &Switches::prefill_attention_divisor && value.as_real() == 0.0)) {
      return refuse_switch(key, value, fmt::format("a number up to {}", slot->highest));
    }
    switches.*slot->number = value.as_real();
    return true;
  }
  if (slot->factor != nullptr) {
    if (!value.is_number() || !(value.as_real() >= 0.0) || value.as_real() > kMostByteFactor) {
      return refuse_switch(key, value, fmt::format("a number from 0 to {}", kMostByteFactor));
    }
    switches.byte_factors.*slot->factor = value.as_real();
    return true;
  }
  if (value.kind() != document::Node::Kind::kInteger || !is_power_of_two(value.as_integer()) ||
      value.as_integer() > kMaxBucket) {
    return refuse_switch(key, value, fmt::format("a power of two up to {}", kMaxBucket));
  }
  switches.min_bucket = value.as_integer();
  return true;
}

bool has_effect(Version version,
                const Switches& switches,
                const Constants& constants,
                std::string_view key) {
  const auto any_of = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, key) != names.end();
  };
  if (any_of({"TFlopsPeak", "BwPeakTBs"})) {
    return true;
  }
  if (version == Version::kV0) {
    return any_of({"BwEffConstant",
                   "TOverheadMicros",
                   "perLayerOverhead",
                   "mfuPrefill",
                   "mfuDecode",
                   "allReduceLatency"});
  }
  if (version == Version::kV1) {
    return find_constant(key)->needed_by_v1 || key == "decodeTpScalingExponent";
  }
  const bool constant_mfu =
      switches.lookup == Lookup::kConstant || switches.zero_rows == measured::ZeroRule::kV1;
  const bool legacy = switches.overhead == Overhead::kLegacy;
  const bool replaced = legacy && constants.per_layer_overhead_us > 0.0;
  const bool split = switches.bandwidth == Bandwidth::kSplit;
  const bool split_in_part =
      split && (constants.weight_bandwidth_factor <= 0.0 || constants.kv_bandwidth_factor <= 0.0);
  return (key == "bwEfficiencyFactor" &&
          (switches.bandwidth == Bandwidth::kOne || split_in_part)) ||
         (any_of({"prefillBwFactor", "decodeBwFactor"}) &&
          switches.bandwidth == Bandwidth::kPerPhase) ||
         (any_of({"weightBwFactor", "kvBwFactor"}) && split) ||
         (any_of({"mfuPrefill", "mfuDecode"}) && constant_mfu) ||
         (key == "perLayerOverhead" && switches.overhead != Overhead::kNone) ||
         (key == "allReduceLatency" && legacy) ||
         (any_of({"TOverheadMicros", "prefillOverheadMicros", "mixedPrefillOverheadMicros"}) &&
          legacy && !replaced);
}

bool switch_has_effect(const Switches& switches, std::string_view key) {
  if (key == "fuse_qkv") {
    return switches.tensor_parallel == TensorParallel::kShard;
  }
  if (key == "zero_rows") {
    return switches.lookup != Lookup::kConstant;
  }
  return true;
}

}  // namespace ridgeline::latency::roofline
