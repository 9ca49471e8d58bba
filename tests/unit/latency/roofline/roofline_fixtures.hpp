#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "domain/step.hpp"
#include "latency/roofline/roofline_model.hpp"
#include "latency/roofline/switches.hpp"
#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "support/paths.hpp"
#include "unit/latency/kernel_fixtures.hpp"

/// Networks, batches and models for the tests of V0 to V2.
namespace ridgeline::latency::roofline::fixtures {

/// A step that owns its requests.
struct RequestStep {
  std::vector<core::Tokens> decodes;
  std::vector<domain::PrefillChunk> prefills;

  [[nodiscard]] domain::StepBatch batch() const {
    core::Tokens sum;
    for (const core::Tokens context : decodes) {
      sum += context;
    }
    return {.num_decodes = std::ssize(decodes),
            .decode_context = sum,
            .decode_lengths = decodes,
            .prefills = prefills};
  }
};

inline RequestStep request_step(
    const std::vector<std::int64_t>& decodes,
    const std::vector<std::pair<std::int64_t, std::int64_t>>& prefills) {
  RequestStep step;
  for (const std::int64_t context : decodes) {
    step.decodes.emplace_back(context);
  }
  for (const auto& [past, fresh] : prefills) {
    step.prefills.push_back({.past = core::Tokens(past), .new_tokens = core::Tokens(fresh)});
  }
  return step;
}

inline model::ModelSpec llama_31_8b() {
  return latency::fixtures::dense(
      32, 4096, {.heads = 32, .kv_heads = 8, .head_dim = 128}, 14336, 128256);
}

/// A model with all that it refers to; a failure to build it is the test's.
class BuiltModel {
 public:
  BuiltModel(const std::string& preset,
             model::ModelSpec network,
             std::int64_t ranks,
             ModelOptions options)
      : network_(std::move(network)),
        gpu_(latency::fixtures::gpu("h100")),
        execution_{.sharding = {.tensor_parallel_size = ranks}, .cuda_graph_sizes = {}} {
    auto made = make_roofline_model(
        *find_preset(preset),
        {.network = network_, .gpu = gpu_, .execution = execution_, .options = std::move(options)});
    if (made) {
      model_ = std::move(*made);
    } else {
      ADD_FAILURE() << preset << ": " << core::to_string(made.error().front());
    }
  }
  BuiltModel(const BuiltModel&) = delete;
  BuiltModel& operator=(const BuiltModel&) = delete;

  [[nodiscard]] const RooflineModel& operator*() const { return *model_; }
  [[nodiscard]] const RooflineModel* operator->() const { return model_.get(); }
  explicit operator bool() const { return model_ != nullptr; }

 private:
  model::ModelSpec network_;
  hardware::GpuSpec gpu_;
  Execution execution_;
  std::unique_ptr<RooflineModel> model_;
};

inline ModelSetting setting(std::string key, double value) {
  return {.key = std::move(key), .value = document::Node::real(value, {})};
}
inline ModelSetting setting(std::string key, const char* value) {
  return {.key = std::move(key), .value = document::Node::string(value, {})};
}

}  // namespace ridgeline::latency::roofline::fixtures
