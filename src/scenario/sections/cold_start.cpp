#include "scenario/sections/cold_start.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cluster/scaling/cold_start.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "model/operators.hpp"
#include "scenario/deployment.hpp"
#include "scenario/options.hpp"
#include "scenario/time_value.hpp"

namespace ridgeline::scenario {
namespace {

/// The longest phase, 11 days: six of them end before simulated time does.
constexpr core::Duration kLongestPhase = core::Duration::seconds(1'000'000);

/// A time, or {mean, sd}.
std::optional<scaling::StartPhase> phase(document::ObjectReader& reader,
                                         std::string_view key,
                                         core::Errors& errors) {
  const document::Node* const node = reader.node(key);
  if (node == nullptr || node->is_null()) {
    return std::nullopt;
  }
  scaling::StartPhase phase;
  const auto check = [&](core::Duration time) {
    if (time > kLongestPhase) {
      reader.problem(key,
                     fmt::format("{} is out of range, expected at most 1000000s", flow_text(*node)),
                     "40s");
    }
  };
  if (const auto time = time_value(*node)) {
    phase.mean = *time;
    check(phase.mean);
    return phase;
  }
  if (!node->is_map()) {
    reader.problem(
        key, fmt::format("found {}, expected a time or {{mean, sd}}", flow_text(*node)), "40s");
    return std::nullopt;
  }
  document::ObjectReader inner(*node, reader.path_of(key), errors);
  for (const auto& [name, slot] :
       {std::pair<const char*, core::Duration*>{"mean", &phase.mean}, {"sd", &phase.sd}}) {
    const document::Node* const value = inner.node(name);
    const auto time = value == nullptr ? std::nullopt : time_value(*value);
    if (time) {
      *slot = *time;
    } else {
      inner.problem(name, "expected a time", "40s");
    }
  }
  inner.finish();
  check(std::max(phase.mean, phase.sd));
  return phase;
}

}  // namespace

core::Result<scaling::ColdStart> read_cold_start(const std::optional<document::Node>& node,
                                                 const scaling::StartFacts& facts) {
  core::Errors errors;
  const auto is_auto = [](const document::Node* value) {
    return value != nullptr && value->is_string() && value->as_string() == "auto";
  };
  if (node && is_auto(&*node)) {
    return scaling::computed_start(facts);
  }
  scaling::ColdStart start;
  core::BytesPerSecond bandwidth = scaling::kDefaultLoadBandwidth;
  std::optional<scaling::StartPhase> load;
  if (node) {
    document::ObjectReader reader(*node, std::string(kColdStartPath), errors);
    if (const auto given = reader.quantity("load_bandwidth", "bytes_per_second")) {
      bandwidth = core::BytesPerSecond(*given);
      if (*given <= 0.0) {
        reader.problem("load_bandwidth", "expected a rate above zero", "2GB/s");
      }
    }
    if (const document::Node* const base = reader.node("phases"); is_auto(base)) {
      start = scaling::computed_start(facts);
    } else if (base != nullptr) {
      reader.problem("phases", fmt::format("found {}, expected auto", flow_text(*base)));
    }
    load = phase(reader, "load", errors);
    start.schedule = phase(reader, "schedule", errors).value_or(start.schedule);
    start.pull = phase(reader, "pull", errors).value_or(start.pull);
    start.compile = phase(reader, "compile", errors).value_or(start.compile);
    start.capture = phase(reader, "capture", errors).value_or(start.capture);
    start.warm_up = phase(reader, "warm_up", errors).value_or(start.warm_up);
    reader.finish();
  }
  start.load = load.value_or(
      scaling::StartPhase{.mean = core::Duration::saturating(facts.weights / bandwidth)});
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return start;
}

double gpus_of_instance(const Deployment& deployment) {
  return static_cast<double>(deployment.execution.sharding.gpus_of_rank());
}

scaling::StartFacts start_facts(const Deployment& deployment) {
  const double gpus = gpus_of_instance(deployment);
  const bool is_eager = deployment.execution.enforce_eager;
  return {.weights = deployment.memory.weights * gpus,
          .layers = deployment.network.num_layers(),
          .ranks = static_cast<std::int64_t>(gpus),
          .graph_sizes = is_eager ? 0 : std::ssize(deployment.execution.cuda_graph_sizes),
          .host_class = deployment.section.serving.host_class.value_or(1.0)};
}

}  // namespace ridgeline::scenario
