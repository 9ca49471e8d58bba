#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "scenario/deployment.hpp"
#include "scenario/patch.hpp"
#include "scenario/requests.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {

/// A deployment on its way to being resolved: what came of it so far, and what is wrong with it.
/// The parts of resolve_deployment() work on one in turn.
struct Resolution {
  const std::vector<Provenance>& provenance;
  const Workload& workload;
  std::shared_ptr<Deployment> out = std::make_shared<Deployment>();
  core::Errors errors;

  Resolution(DeploymentSection section,
             const std::vector<Provenance>& origins,
             const Workload& asked)
      : provenance(origins), workload(asked) {
    out->section = std::move(section);
  }

  /// The section with what is derived so far.
  [[nodiscard]] DeploymentSection& section() const { return out->section; }
  [[nodiscard]] EngineSection& engine() const { return out->section.engine; }

  /// Whether a value is the scenario's own, neither a default nor derived.
  [[nodiscard]] bool is_given(std::string_view path) const {
    return provenance_of(provenance, path).origin != Provenance::Origin::kDefault;
  }
  [[nodiscard]] core::Location place_of(std::string_view path) const {
    return provenance_of(provenance, path).where;
  }
  /// Whether the command line puts another network in the place of a file's that states `path`.
  [[nodiscard]] bool is_of_replaced_network(std::string_view path) const {
    return provenance_of(provenance, "model").origin == Provenance::Origin::kFlag &&
           provenance_of(provenance, path).origin == Provenance::Origin::kFile;
  }

  void note(std::string_view field, std::string message, std::string hint = {}) {
    errors.push_back({.field = std::string(field),
                      .message = std::move(message),
                      .where = place_of(field),
                      .hint = std::move(hint)});
  }

  /// A setting that changes nothing here, and why.
  void without_effect(std::string_view setting, std::string_view why) {
    out->warnings.push_back({.code = "W-ignored-setting",
                             .message = fmt::format("{} is without effect: {}", setting, why),
                             .hint = {}});
  }

  void infeasible(std::string_view field, std::string message, std::string hint) {
    note(field, std::move(message), std::move(hint));
    errors.back().code = core::ErrorCode::kInfeasible;
  }

  /// Errors of another layer about the value of an option: they get its name and place where they
  /// have none.
  template <class T>
  std::optional<T> keep(core::Result<T> result, std::string_view field) {
    if (result) {
      return std::move(*result);
    }
    for (auto& error : result.error()) {
      if (error.field.empty()) {
        error.field = field;
      }
      if (error.where.file.empty()) {
        error.where = place_of(field);
      }
      errors.push_back(std::move(error));
    }
    return std::nullopt;
  }

  /// keep() for a document that `set` patches: an error in a patched value is that patch's.
  template <class T>
  std::optional<T> keep_patched(core::Result<T> result,
                                std::string_view field,
                                std::string_view target) {
    if (!result) {
      for (auto& error : result.error()) {
        locate_patch_error(error, section().patches, target);
      }
    }
    return keep(std::move(result), field);
  }
};

}  // namespace ridgeline::scenario
