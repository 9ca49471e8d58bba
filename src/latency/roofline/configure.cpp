#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "latency/measured/lookup.hpp"
#include "latency/measured/table_notes.hpp"
#include "latency/roofline/constants.hpp"
#include "latency/roofline/roofline_model.hpp"
#include "latency/roofline/setting_names.hpp"
#include "latency/roofline/switches.hpp"
#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::latency::roofline {
namespace {

constexpr double kTeraOfFacts = 1e12;
constexpr std::string_view kConstantsKey = "constants";

/// Which GPUs the published sets are for.
struct PublishedFor {
  std::string_view gpu;
  std::string_view set;
};
constexpr PublishedFor kOtherGpus[] = {{"a100-80gb", "a100-final"}, {"a100-40gb", "a100-final"}};

class Configurator {
 public:
  Configurator(const Preset& preset, const hardware::GpuSpec& gpu, const ModelOptions& options)
      : preset_(preset), gpu_(gpu), options_(options) {
    out_.name = preset.name;
    out_.version = preset.version;
    out_.switches = preset.switches;
    out_.ridge_point = gpu.ridge_point();
  }

  core::Result<Configuration> run() {
    start_constants();
    if (!options_.hardware_config.empty()) {
      read_file();
    }
    for (const ModelSetting& setting : options_.settings) {
      apply(setting);
    }
    if (!options_.lookup.empty()) {
      out_.switches.lookup = options_.lookup == "floor" ? Lookup::kFloor : Lookup::kInterpolate;
    }
    if (errors_.empty()) {
      check();
    }
    if (!errors_.empty()) {
      return core::fail(std::move(errors_));
    }
    note_without_effect();
    return std::move(out_);
  }

 private:
  void start_constants() {
    std::string_view set = preset_.constants;
    bool published = gpu_.name == "h100";
    for (const PublishedFor& other : kOtherGpus) {
      if (preset_.version == Version::kV2 && gpu_.name == other.gpu) {
        set = other.set;
        published = true;
      }
    }
    const auto constants = find_constant_set(std::string(set));
    RIDGELINE_CHECK(constants.has_value(), set);
    out_.constants = *constants;
    if (published) {
      return;
    }
    out_.constants.tflops_peak = gpu_.peak_bf16.value() / kTeraOfFacts;
    out_.constants.bandwidth_peak_tbs = gpu_.mem_bandwidth.value() / kTeraOfFacts;
    unpublished_ = true;
  }

  void read_file() {
    auto config = read_hardware_config(options_.hardware_config, gpu_);
    if (!config) {
      const auto errors = core::with_field(std::move(config).error(), "latency.hardware_config");
      errors_.insert(errors_.end(), errors.begin(), errors.end());
      return;
    }
    out_.constants = config->values;
    in_file_ = config->keys;
    unknown_ = config->unknown;
    unpublished_ = false;
    has_file_ = true;
    if (config->per_phase) {
      out_.switches.bandwidth = Bandwidth::kPerPhase;
    }
    for (const ModelSetting& setting : config->switches) {
      if (preset_.version == Version::kV2) {
        put_switch(setting.key, setting);
      } else {
        unknown_.push_back(setting.key);
      }
    }
    fused_by_file_ = out_.switches.fuse_qkv;
  }

  /// Sets the switch of that name, or says what is wrong.
  void put_switch(const std::string& key, const ModelSetting& setting) {
    const auto done = preset_.version == Version::kV2
                          ? set_switch(out_.switches, key, setting.value)
                          : core::Result<bool>(false);
    if (!done) {
      errors_.insert(errors_.end(), done.error().begin(), done.error().end());
    } else if (!*done) {
      refuse_key(setting);
    } else {
      given_.push_back(key);
    }
  }

  void apply(const ModelSetting& setting) {
    if (setting.key == kConstantsKey) {
      choose_set(setting.value);
      return;
    }
    const SettingName name = setting_name(setting.key);
    const document::Node value = own_value(name, setting.value);
    if (name.alias != nullptr && name.alias->per_phase &&
        std::ranges::find(given_, "bandwidth") == given_.end()) {
      out_.switches.bandwidth = Bandwidth::kPerPhase;
    }
    if (const ConstantKey* key = find_constant(name.key)) {
      set_constant(*key, value);
      return;
    }
    put_switch(name.key, {.key = setting.key, .value = value});
  }

  void choose_set(const document::Node& value) {
    const auto set = value.is_string() ? find_constant_set(value.as_string())
                                       : find_constant_set(value.describe());
    if (!set) {
      errors_.insert(errors_.end(), set.error().begin(), set.error().end());
      return;
    }
    out_.constants = *set;
    unpublished_ = false;
    has_file_ = false;
  }

  void set_constant(const ConstantKey& key, const document::Node& value) {
    if (!value.is_number() || !(value.as_real() >= 0.0) || value.as_real() > key.highest) {
      errors_.push_back(
          {.field = fmt::format("latency.set.{}", key.name),
           .message = fmt::format(
               "found {}, expected a number from 0 to {}", value.describe(), key.highest),
           .where = value.where()});
      return;
    }
    out_.constants.*key.member = value.as_real();
    given_.emplace_back(key.name);
    if (has_file_) {
      in_file_.emplace_back(key.name);
    }
  }

  void refuse_key(const ModelSetting& setting) {
    std::vector<std::string> names = {std::string(kConstantsKey)};
    for (const ConstantKey& key : constant_keys()) {
      names.emplace_back(key.name);
    }
    if (preset_.version == Version::kV2) {
      for (const std::string_view name : switch_names()) {
        names.emplace_back(name);
      }
    }
    const auto near = document::nearest(setting.key, names);
    errors_.push_back({.field = fmt::format("latency.set.{}", setting.key),
                       .message = fmt::format("{} has no such constant or switch", preset_.name),
                       .where = setting.value.where(),
                       .hint = near ? fmt::format("did you mean '{}'?", *near)
                                    : fmt::format("it has {}", fmt::join(names, ", "))});
  }

  void check() {
    if (has_file_ && preset_.version != Version::kV2) {
      missing_constants();
    }
    if (!(out_.constants.tflops_peak > 0.0) || !(out_.constants.bandwidth_peak_tbs > 0.0)) {
      errors_.push_back({.field = "latency.set",
                         .message = "TFlopsPeak and BwPeakTBs must be greater than 0",
                         .where = {.file = options_.hardware_config}});
    }
    const Switches& s = out_.switches;
    const bool tables = preset_.version == Version::kV2 && s.lookup != Lookup::kConstant;
    if (tables && options_.bench_data.empty()) {
      errors_.push_back(
          {.field = "latency.bench_data",
           .message = fmt::format("missing: {} looks kernels up in measured tables", preset_.name),
           .where = {},
           .hint =
               fmt::format("{}; --latency kernel needs none", measured::where_tables_come_from())});
    }
    const bool constant = s.lookup == Lookup::kConstant;
    if (preset_.version == Version::kV2 && (constant || s.zero_rows == measured::ZeroRule::kV1) &&
        (out_.constants.mfu_prefill <= 0.0 || out_.constants.mfu_decode <= 0.0)) {
      errors_.push_back({.field = "latency.set",
                         .message = fmt::format("{} needs mfuPrefill and mfuDecode above 0",
                                                constant ? "lookup constant" : "zero_rows v1"),
                         .where = {},
                         .hint = "--latency-set mfuPrefill=0.6 --latency-set mfuDecode=0.3"});
    }
    if (s.fuse_qkv && s.tensor_parallel == TensorParallel::kDivide && fused_by_file_) {
      // The file is of a state that sharded; this one reads it and has nothing to fuse.
      out_.switches.fuse_qkv = false;
      out_.notes.push_back({.code = "W-without-effect",
                            .message = fmt::format("{} divides whole shapes: fuseQKV of {} fuses "
                                                   "sharded ones alone",
                                                   preset_.name,
                                                   options_.hardware_config),
                            .hint = "--latency-set tensor_parallel=shard"});
    } else if (s.fuse_qkv && s.tensor_parallel == TensorParallel::kDivide) {
      errors_.push_back({.field = "latency.set.fuse_qkv",
                         .message = "would be ignored: only sharded shapes are fused",
                         .where = {},
                         .hint = "--latency-set tensor_parallel=shard"});
    }
  }

  /// As the original did: without its constants V1 means nothing.
  void missing_constants() {
    std::vector<std::string_view> missing;
    for (const ConstantKey& key : constant_keys()) {
      const bool needed =
          preset_.version == Version::kV1
              ? key.needed_by_v1
              : has_effect(preset_.version, out_.switches, out_.constants, key.name);
      if (needed && std::ranges::find(in_file_, key.name) == in_file_.end()) {
        missing.push_back(key.name);
      }
    }
    if (!missing.empty()) {
      errors_.push_back(
          {.field = "latency.hardware_config",
           .message = fmt::format("{} needs {} more constants for {}: {}",
                                  preset_.name,
                                  missing.size(),
                                  gpu_.name,
                                  fmt::join(missing, ", ")),
           .where = {.file = options_.hardware_config},
           .hint = fmt::format("the v2 models do without them, with kernel tables; {}",
                               measured::where_tables_come_from())});
    }
  }

  void note_without_effect() {
    std::vector<std::string> idle = unknown_;
    const auto keep = [&](const std::vector<std::string>& keys) {
      for (const std::string& key : keys) {
        const bool of_use = find_constant(key) != nullptr
                                ? has_effect(out_.version, out_.switches, out_.constants, key)
                                : switch_has_effect(out_.switches, key);
        if (!of_use && std::ranges::find(idle, key) == idle.end()) {
          idle.push_back(key);
        }
      }
    };
    keep(in_file_);
    keep(given_);
    if (fused_by_file_) {
      std::erase(idle, "fuse_qkv");  // run() has said so.
    }
    if (preset_.version != Version::kV2 && !options_.bench_data.empty()) {
      idle.emplace_back("--bench-data");
    }
    if (!idle.empty()) {
      out_.notes.push_back(
          {.code = "W-without-effect",
           .message = fmt::format("{} does not read {}", out_.name, fmt::join(idle, ", ")),
           .hint = "take them out, or choose a model that does"});
    }
    if (has_file_ && out_.version == Version::kV2) {
      note_absent();
    }
    if (unpublished_) {
      out_.notes.push_back(
          {.code = "W-constants",
           .message = fmt::format("no constants of {} were published for {}: peaks of its data "
                                  "sheet, the rest as on an H100",
                                  out_.name,
                                  gpu_.name),
           .hint = "--hardware-config FILE, or --latency-set KEY=VALUE"});
    }
  }

  /// What a file leaves out counts as it did in the original: no factor, no overhead.
  void note_absent() {
    std::vector<std::string_view> absent;
    for (const ConstantKey& key : constant_keys()) {
      if (has_effect(out_.version, out_.switches, out_.constants, key.name) &&
          std::ranges::find(in_file_, key.name) == in_file_.end()) {
        absent.push_back(key.name);
      }
    }
    if (!absent.empty()) {
      out_.notes.push_back(
          {.code = "W-absent-constants",
           .message = fmt::format("{} has no {}: taken as none, as in the original",
                                  options_.hardware_config,
                                  fmt::join(absent, ", ")),
           .hint = "--latency-set KEY=VALUE"});
    }
  }

  const Preset& preset_;
  const hardware::GpuSpec& gpu_;
  const ModelOptions& options_;
  Configuration out_;
  core::Errors errors_;
  std::vector<std::string> in_file_;
  bool fused_by_file_ = false;
  std::vector<std::string> given_;
  std::vector<std::string> unknown_;
  bool has_file_ = false;
  bool unpublished_ = false;
};

}  // namespace

core::Result<Configuration> configure(const Preset& preset,
                                      const hardware::GpuSpec& gpu,
                                      const ModelOptions& options) {
  return Configurator(preset, gpu, options).run();
}

}  // namespace ridgeline::latency::roofline
