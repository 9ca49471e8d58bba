#include "latency/kernel/settings.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::latency::kernel {
namespace {

constexpr double kPerMillion = 1e-6;
/// Far beyond any sound value: a slip of unit.
constexpr double kLargestSetting = 1e6;

struct Setting {
  std::string_view key;
  void (*set)(Constants& constants, double value);
};

constexpr auto kSettings = std::to_array<Setting>({
    {"host_launch_us",
     [](Constants& all, double us) { all.step.host_launch = core::microseconds(us); }},
    {"host_experts_us",
     [](Constants& all, double us) { all.step.host_experts = core::microseconds(us); }},
    {"host_pieces_us",
     [](Constants& all, double us) { all.step.host_pieces = core::microseconds(us); }},
    {"indexer_us", [](Constants& all, double us) { all.step.indexer = core::microseconds(us); }},
    {"recurrence_us",
     [](Constants& all, double us) { all.step.recurrence = core::microseconds(us); }},
    {"layer_launch_gap_us",
     [](Constants& all, double us) { all.step.layer_launch_gap = core::microseconds(us); }},
    {"norm_us", [](Constants& all, double us) { all.step.norm = core::microseconds(us); }},
    {"piecewise_layer_gap_us",
     [](Constants& all, double us) { all.step.piecewise_layer_gap = core::microseconds(us); }},
    {"uncaptured_expert_gap_us",
     [](Constants& all, double us) {
       // A value of the user's own holds for the user's own server.
       all.step.uncaptured_expert_gap = core::microseconds(us);
       all.step.uncaptured_expert_gap_on.reset();
     }},
    {"step_gap_us", [](Constants& all, double us) { all.step.step_gap = core::microseconds(us); }},
    {"elementwise_traffic_factor",
     [](Constants& all, double factor) { all.step.elementwise_traffic_factor = factor; }},
    {"streamed_expert_fraction",
     [](Constants& all, double share) {
       all.step.streamed_expert_fraction = std::min(share, 1.0);
     }},
    {"random_tokens_popularity_shape",
     [](Constants& all, double shape) {
       all.step.random_tokens_popularity_shape = std::max(shape, 0.0);
     }},
    {"uneven_marlin_experts",
     [](Constants& all, double factor) { all.step.uneven_marlin_experts = std::max(factor, 1.0); }},
    {"uneven_experts",
     [](Constants& all, double factor) { all.step.uneven_experts = std::max(factor, 1.0); }},
    {"uneven_coarse_experts",
     [](Constants& all, double factor) { all.step.uneven_coarse_experts = std::max(factor, 1.0); }},
    {"fp32_routers", [](Constants& all, double on) { all.step.fp32_routers = on > 0.0; }},
    {"unfused_routing_us",
     [](Constants& all, double us) { all.step.unfused_routing = core::microseconds(us); }},
    {"wide_norm_kernels",
     [](Constants& all, double count) {
       all.step.wide_norm_kernels = std::max<std::int64_t>(1, static_cast<std::int64_t>(count));
     }},
    {"fused_norm_us",
     [](Constants& all, double us) { all.step.fused_norm = core::microseconds(us); }},
    {"fused_quantisation_us",
     [](Constants& all, double us) { all.step.fused_quantisation = core::microseconds(us); }},
    {"mixed_tile_efficiency",
     [](Constants& all, double share) {
       all.attention.mixed_tile_efficiency = std::min(share, 1.0);
     }},
    {"exponentials", [](Constants& all, double on) { all.attention.exponentials = on > 0.0; }},
    {"verified_experts_in_common",
     [](Constants& all, double share) {
       all.step.verified_experts_in_common = std::min(share, 1.0);
     }},
    {"bytes_per_logit",
     [](Constants& all, double bytes) { all.sampling.bytes_per_logit = core::Bytes(bytes); }},
    {"truncation_us",
     [](Constants& all, double us) { all.sampling.truncation = core::microseconds(us); }},
    {"truncation_us_per_million_logits",
     [](Constants& all, double us) {
       all.sampling.truncation_per_logit = core::microseconds(us * kPerMillion);
     }},
    {"penalty_us_per_million_logits",
     [](Constants& all, double us) {
       all.sampling.penalty_per_logit = core::microseconds(us * kPerMillion);
     }},
});

core::Error bad_setting(const ModelSetting& setting, std::string message, std::string hint) {
  return {.field = fmt::format("latency.set.{}", setting.key),
          .message = std::move(message),
          .where = setting.value.where(),
          .hint = std::move(hint)};
}

}  // namespace

core::Result<Constants> with_settings(Constants constants,
                                      const std::vector<ModelSetting>& settings) {
  core::Errors errors;
  for (const auto& setting : settings) {
    const auto* const known = std::ranges::find(kSettings, setting.key, &Setting::key);
    if (known == kSettings.end()) {
      std::vector<std::string> names;
      for (const auto& candidate : kSettings) {
        names.emplace_back(candidate.key);
      }
      const auto meant = document::nearest(setting.key, names);
      errors.push_back(bad_setting(setting,
                                   "is no constant of the kernel model that can be set",
                                   meant ? fmt::format("did you mean '{}'?", *meant)
                                         : fmt::format("{}", fmt::join(names, ", "))));
      continue;
    }
    if (!setting.value.is_number() || !(setting.value.as_real() >= 0.0) ||
        setting.value.as_real() > kLargestSetting) {
      errors.push_back(bad_setting(
          setting,
          fmt::format(
              "{} is out of range, expected 0 to {}", setting.value.describe(), kLargestSetting),
          ""));
      continue;
    }
    known->set(constants, setting.value.as_real());
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return constants;
}

}  // namespace ridgeline::latency::kernel
