#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/result.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {

/// What the rules of a scenario find: problems with the place of the setting that they are about.
class Findings {
 public:
  Findings(LoadedScenario& loaded, core::Errors& errors) : loaded_(loaded), errors_(errors) {}

  [[nodiscard]] const Scenario& scenario() const { return loaded_.scenario; }
  /// Whether a file or a flag states this option.
  [[nodiscard]] bool given(std::string_view path) const {
    return loaded_.of(path).origin != Provenance::Origin::kDefault;
  }
  void problem(std::string_view path, std::string message, std::string hint = {}) {
    errors_.push_back({.field = std::string(path),
                       .message = std::move(message),
                       .where = loaded_.of(path).where,
                       .hint = std::move(hint)});
  }
  /// The option has no effect beside the others.
  void ignored(std::string_view path, std::string_view why) {
    problem(path,
            fmt::format("would be ignored: {}", why),
            "remove this setting, or the one that it conflicts with");
  }
  void warn(std::string code, std::string message) {
    loaded_.warnings.push_back({.code = std::move(code), .message = std::move(message)});
  }
  [[nodiscard]] LoadedScenario& loaded() { return loaded_; }
  [[nodiscard]] core::Errors& errors() { return errors_; }

 private:
  LoadedScenario& loaded_;
  core::Errors& errors_;
};

}  // namespace ridgeline::scenario
