#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "deploy/registry.hpp"
#include "document/save.hpp"
#include "plan/answer.hpp"
#include "plan/mix_plan.hpp"

namespace ridgeline::verbs {

/// What deploys the answers of a plan.
struct PlanTargets {
  std::vector<const deploy::Target*> named = {};
  bool are_stated = false;  ///< Otherwise each deployment gets its engine's own.

  /// Those that deploy an engine: all that are stated, whether they do or not.
  [[nodiscard]] std::vector<const deploy::Target*> of(const std::string& engine) const;
};

/// Routing policies that a plan may take; none: any.
struct Routers {
  std::vector<std::string> names = {};
  std::string of = {};  ///< Whose they are: "vllm, kubernetes"
};
/// Those that all of these can bring about.
[[nodiscard]] Routers routers_of(const PlanTargets& targets);

/// Whether any deployment that the question asks about can be written. It is asked before the
/// search, which may take minutes.
[[nodiscard]] core::Errors unwritable(const plan::Question& question, const PlanTargets& targets);

/// What is written of an answer.
struct Saved {
  std::vector<document::NewFile> files = {};
  core::Warnings warnings = {};  ///< Deployments that some target cannot express.
};
/// The files of the best deployments that can be written: top1/ and so on. Fails where none can.
[[nodiscard]] core::Result<Saved> deployments_of(const plan::Answer& answer,
                                                 const PlanTargets& targets);
/// The files of a mix: pool1/ and so on.
[[nodiscard]] core::Result<Saved> files_of_pools(const plan::MixAnswer& answer,
                                                 const PlanTargets& targets);

}  // namespace ridgeline::verbs
