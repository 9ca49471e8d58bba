#include "latency/roofline/constants.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "document/embedded_file.hpp"
#include "document/reader.hpp"
#include "latency/constant_files.hpp"
#include "latency/roofline/setting_names.hpp"
#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::latency::roofline {
namespace {

constexpr std::string_view kSetsFile = "roofline.yaml";
// Far above anything published, far below where sums overflow.
constexpr double kMostTera = 1e5;
constexpr double kMostMicroseconds = 1e7;
constexpr double kMostFactor = 100.0;
constexpr double kMostShare = 1.5;

constexpr auto kKeys = std::to_array<ConstantKey>({
    {"TFlopsPeak", &Constants::tflops_peak, kMostTera, true},
    {"BwPeakTBs", &Constants::bandwidth_peak_tbs, kMostTera, true},
    {"bwEfficiencyFactor", &Constants::bandwidth_efficiency, kMostShare, false},
    {"perLayerOverhead", &Constants::per_layer_overhead_us, kMostMicroseconds, false},
    {"BwEffConstant", &Constants::bandwidth_constant, kMostShare, true},
    {"TOverheadMicros", &Constants::step_overhead_us, kMostMicroseconds, true},
    {"mfuPrefill", &Constants::mfu_prefill, kMostFactor, true},
    {"mfuDecode", &Constants::mfu_decode, kMostFactor, true},
    {"allReduceLatency", &Constants::all_reduce_us, kMostMicroseconds, true},
    {"tpScalingExponent", &Constants::tp_exponent, kMostFactor, true},
    {"decodeTpScalingExponent", &Constants::decode_tp_exponent, kMostFactor, false},
    {"mfuPrefillMultiplier", &Constants::mfu_prefill_multiplier, kMostFactor, true},
    {"mfuDecodeMultiplier", &Constants::mfu_decode_multiplier, kMostFactor, true},
    {"prefillBwFactor", &Constants::prefill_bandwidth_factor, kMostShare, true},
    {"decodeBwFactor", &Constants::decode_bandwidth_factor, kMostShare, true},
    {"vectorPeakFraction", &Constants::vector_peak_fraction, kMostShare, true},
    {"prefillOverheadMicros", &Constants::prefill_overhead_us, kMostMicroseconds, true},
    {"mixedPrefillOverheadMicros", &Constants::mixed_overhead_us, kMostMicroseconds, true},
    {"weightBwFactor", &Constants::weight_bandwidth_factor, kMostShare, false},
    {"kvBwFactor", &Constants::kv_bandwidth_factor, kMostShare, false},
});

ConstantSet read_set(const document::Node& node, core::Errors& errors) {
  document::ObjectReader reader(node, "sets", errors);
  ConstantSet set;
  set.name = reader.required_string("name");
  set.source = reader.required_string("source");
  if (const document::Node* values = reader.node("values")) {
    document::ObjectReader numbers(*values, set.name, errors);
    for (const ConstantKey& key : kKeys) {
      set.values.*key.member = numbers.real(key.name, {0.0, key.highest}).value_or(0.0);
    }
    numbers.finish();
  }
  reader.finish();
  return set;
}

std::vector<ConstantSet> read_sets() {
  const auto files = constant_files();
  const auto file = std::ranges::find(files, kSetsFile, &document::EmbeddedFile::name);
  RIDGELINE_CHECK(file != files.end(), kSetsFile);
  const auto document = document::parse_yaml(file->text, std::string(kSetsFile));
  RIDGELINE_CHECK(document.has_value(), kSetsFile);
  const document::Node* sets = document->find("sets");
  RIDGELINE_CHECK(sets != nullptr && sets->is_list(), kSetsFile);
  std::vector<ConstantSet> found;
  core::Errors errors;
  for (const document::Node& node : sets->items()) {
    found.push_back(read_set(node, errors));
  }
  RIDGELINE_CHECK(errors.empty(), core::to_string(errors.front()));
  return found;
}

/// The name means this GPU: the catalogue's, or one of the market.
bool names_gpu(const std::string& name, const hardware::GpuSpec& gpu) {
  if (name == gpu.name) {
    return true;
  }
  const auto found = hardware::find_gpu(name);
  return found && found->name == gpu.name;
}

/// Takes one member of an entry.
void read_member(const document::Node::Member& member,
                 document::ObjectReader& reader,
                 HardwareConfig& config) {
  const SettingName name = setting_name(member.key);
  if (!name.is_known) {
    config.unknown.push_back(member.key);
    return;
  }
  const bool again =
      std::ranges::find(config.keys, name.key) != config.keys.end() ||
      std::ranges::find(config.switches, name.key, &ModelSetting::key) != config.switches.end();
  if (again && reader.node(member.key) == &member.value) {
    reader.problem(member.key, fmt::format("{} is given twice", name.key));
    return;
  }
  if (const ConstantKey* key = find_constant(name.key)) {
    config.values.*key->member = reader.real(member.key, {0.0, key->highest}).value_or(0.0);
    config.keys.push_back(name.key);
  } else {
    config.switches.push_back({.key = name.key, .value = own_value(name, member.value)});
  }
  if (name.alias != nullptr && name.alias->per_phase) {
    config.per_phase = true;
  }
}

core::Result<HardwareConfig> read_entry(const document::Node& entry, const std::string& path) {
  HardwareConfig config;
  core::Errors errors;
  document::ObjectReader reader(entry, path, errors, document::ObjectReader::Unknown::kIgnore);
  for (const document::Node::Member& member : entry.members()) {
    read_member(member, reader, config);
  }
  reader.finish();
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return config;
}

}  // namespace

std::span<const ConstantKey> constant_keys() {
  return kKeys;
}

const ConstantKey* find_constant(std::string_view name) {
  const auto* const key = std::ranges::find(kKeys, name, &ConstantKey::name);
  return key == kKeys.end() ? nullptr : key;
}

const std::vector<ConstantSet>& constant_sets() {
  static const std::vector<ConstantSet> kSets = read_sets();
  return kSets;
}

core::Result<Constants> find_constant_set(const std::string& name) {
  std::vector<std::string> names;
  for (const ConstantSet& set : constant_sets()) {
    if (set.name == name) {
      return set.values;
    }
    names.push_back(set.name);
  }
  const auto meant = document::nearest(name, names);
  return core::fail(
      {.field = "latency.set.constants",
       .message = fmt::format(
           "'{}' is no set of constants, expected one of {}", name, fmt::join(names, ", ")),
       .where = {},
       .hint = meant ? fmt::format("did you mean '{}'?", *meant) : std::string()});
}

core::Result<HardwareConfig> hardware_config_from(const document::Node& document,
                                                  const hardware::GpuSpec& gpu) {
  if (!document.is_map() || document.members().empty()) {
    return core::fail(
        {.field = "latency.hardware_config",
         .message = fmt::format("found {}, expected a map of GPUs by name", document.describe()),
         .where = document.where()});
  }
  if (std::ranges::any_of(document.members(), [](const document::Node::Member& member) {
        return setting_name(member.key).is_known;
      })) {
    return read_entry(document, "latency.hardware_config");
  }
  std::vector<std::string> names;
  for (const document::Node::Member& member : document.members()) {
    if (names_gpu(member.key, gpu)) {
      if (!member.value.is_map()) {
        return core::fail({.field = member.key,
                           .message = fmt::format("found {}, expected a map of constants",
                                                  member.value.describe()),
                           .where = member.value.where()});
      }
      return read_entry(member.value, member.key);
    }
    names.push_back(member.key);
  }
  return core::fail(
      {.field = "latency.hardware_config",
       .message = fmt::format("has no entry for {}, only for {}", gpu.name, fmt::join(names, ", ")),
       .where = document.where()});
}

core::Result<HardwareConfig> read_hardware_config(const std::string& path,
                                                  const hardware::GpuSpec& gpu) {
  return document::read_document(path).and_then(
      [&](const document::Node& document) { return hardware_config_from(document, gpu); });
}

}  // namespace ridgeline::latency::roofline
