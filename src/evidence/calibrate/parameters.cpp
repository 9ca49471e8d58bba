#include "evidence/calibrate/parameters.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/time.hpp"
#include "engine/serving.hpp"
#include "evidence/calibrate/calibrate.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::evidence::calibrate {
namespace {

constexpr const char* kHostClass = "host_class";

double builtin_value(const std::string& name) {
  if (name == kHostClass) {
    return 1.0;
  }
  const auto& builtin = engine::serving_constants();
  const auto microseconds = [](core::Duration time) { return time.to_microseconds(); };
  if (name == "delivery_time") {
    return microseconds(builtin.path.deliver);
  }
  if (name == "frontend_token_time") {
    return microseconds(builtin.path.frontend_per_token);
  }
  if (name == "close_time") {
    return microseconds(builtin.path.close);
  }
  return microseconds(name == "host_step_time" ? builtin.host.per_step : builtin.host.per_sequence);
}

}  // namespace

const std::vector<Parameter>& parameters() {
  // Upper bounds are far beyond any server that was seen: of the host's times, some ten times what
  // data/serving/serving.yaml has as the highest. More of them would be a slower GPU.
  static const std::vector<Parameter> kParameters = {
      {.name = "delivery_time",
       .lowest = 0.0,
       .highest = 100'000.0,
       .seen_in = "the client's time to first token"},
      {.name = "frontend_token_time",
       .lowest = 0.0,
       .highest = 50.0,
       .seen_in = "the client's time to first token of prompts of different lengths",
       .each = "prompt tokens",
       .constant = "delivery_time"},
      {.name = "close_time",
       .lowest = 0.0,
       .highest = 100'000.0,
       .seen_in = "the client's end-to-end time beside the time to first token"},
      {.name = "host_step_time",
       .lowest = 0.0,
       .highest = 5000.0,
       .seen_in = "the time per output token of a synchronous engine"},
      {.name = "host_sequence_time",
       .lowest = 0.0,
       .highest = 200.0,
       .seen_in = "the time per output token of a synchronous engine under different loads",
       .each = "sequences in flight",
       .constant = "host_step_time"},
      {.name = kHostClass,
       .lowest = 0.1,
       .highest = 20.0,
       .seen_in = "the time per output token of an asynchronous engine whose GPUs wait",
       .is_factor = true,
       .on_request = true,
       // At 1 every step hides the host's work, so that nothing would depend on it.
       .start = 10.0}};
  return kParameters;
}

std::string Parameter::text(double value) const {
  return fmt::format("{:.3f}{}", value, is_factor ? "" : "us");
}

double Constant::bounded(double at) const {
  return std::clamp(at, parameter.lowest, parameter.highest);
}

Constants constants_of(const std::vector<std::string>& names) {
  Constants constants;
  for (const auto& parameter : parameters()) {
    const bool is_named = std::ranges::find(names, parameter.name) != names.end();
    if (is_named || (names.empty() && !parameter.on_request)) {
      const double builtin = builtin_value(parameter.name);
      constants.push_back({.parameter = parameter, .before = builtin, .value = builtin});
    }
  }
  return constants;
}

std::vector<scenario::Override> overrides_of(const Constants& constants) {
  std::vector<scenario::Override> overrides;
  overrides.reserve(constants.size());
  for (const auto& constant : constants) {
    overrides.push_back(
        {.path = fmt::format("serving.{}", constant.parameter.name),
         .text =
             fmt::format("{:.6f}{}", constant.value, constant.parameter.is_factor ? "" : "us")});
  }
  return overrides;
}

}  // namespace ridgeline::evidence::calibrate
