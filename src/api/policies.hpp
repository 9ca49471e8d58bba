#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/result.hpp"
#include "document/document.hpp"
#include "latency/step_time_model.hpp"
#include "ridgeline.h"
#include "scenario/resolve.hpp"
#include "sim/simulation.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::api {

/// The policies of a host (rl_hooks), for one run.
class HostPolicies {
 public:
  explicit HostPolicies(const rl_hooks& hooks) : hooks_(hooks) {}

  [[nodiscard]] bool any() const {
    return hooks_.route != nullptr || hooks_.predict != nullptr || hooks_.scale != nullptr;
  }
  /// What one of them did that ends the run, if any; none is asked again after it.
  [[nodiscard]] const std::optional<core::Error>& failure() const { return failure_; }
  /// What stands for them in a run, which refers to this object.
  [[nodiscard]] sim::HostParts parts();
  /// The result says whose decisions it holds: `said` is {router, step_model, autoscaler} of the
  /// call, each a map, which takes the place of the setting in `config`; and a warning.
  void tell(const document::Node& said, verbs::RunResult& result) const;

 private:
  rl_hooks hooks_;
  std::optional<core::Error> failure_;
  std::unique_ptr<latency::StepTimeModel> model_;
};

}  // namespace ridgeline::api
