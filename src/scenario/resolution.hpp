#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/result.hpp"
#include "scenario/patch.hpp"
#include "scenario/requests.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {

/// A scenario on its way to being Resolved: what was given, what came of it so far, and what is
/// wrong with it. The parts of resolve() work on one in turn.
struct Resolution {
  LoadedScenario loaded;
  const Scenario& given = loaded.scenario;  ///< As loaded, without what is derived.
  std::unique_ptr<Resolved> out = std::make_unique<Resolved>();
  core::Errors errors;

  explicit Resolution(LoadedScenario scenario) : loaded(std::move(scenario)) {
    out->scenario = given;
    out->warnings = loaded.warnings;
    fill_workload(out->scenario.workload);
  }
  Resolution(const Resolution&) = delete;
  Resolution& operator=(const Resolution&) = delete;
  Resolution(Resolution&&) = delete;
  Resolution& operator=(Resolution&&) = delete;
  ~Resolution() = default;

  /// The engine section with what is derived so far.
  [[nodiscard]] EngineSection& engine() const { return out->scenario.engine; }

  void note(std::string_view field, std::string message, std::string hint = {}) {
    errors.push_back({.field = std::string(field),
                      .message = std::move(message),
                      .where = loaded.of(field).where,
                      .hint = std::move(hint)});
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
        error.where = loaded.of(field).where;
      }
      errors.push_back(std::move(error));
    }
    return std::nullopt;
  }

  /// The same of a document that `set` patches: an error in a patched value is that patch's.
  template <class T>
  std::optional<T> keep_patched(core::Result<T> result,
                                std::string_view field,
                                std::string_view target) {
    if (!result) {
      for (auto& error : result.error()) {
        locate_patch_error(error, given.patches, target);
      }
    }
    return keep(std::move(result), field);
  }
};

}  // namespace ridgeline::scenario
