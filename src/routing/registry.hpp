#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/result.hpp"
#include "routing/parameters.hpp"
#include "routing/router.hpp"

namespace ridgeline::routing {

/// One routing policy by name.
struct RouterEntry {
  std::string_view name;
  std::string_view summary;  ///< One line for `list routers`.
  std::string_view source;   ///< The system and version that it is taken from.
  std::unique_ptr<Router> (*make)(const RouterSetup&);
  std::span<const Parameter> (*parameters)() = nullptr;  ///< Null: it has none.
  bool profile = false;                                  ///< Whether it takes scorers and a picker.
  bool weights = false;                                  ///< Whether it reads weights of instances.
  bool predicts = false;                                 ///< Whether it predicts latencies.

  /// What a user may set of it.
  [[nodiscard]] std::span<const Parameter> table() const {
    return parameters == nullptr ? std::span<const Parameter>() : parameters();
  }
};

/// What a policy whose class needs its setup, or nothing, is made by.
template <typename Policy>
std::unique_ptr<Router> make_policy(const RouterSetup& setup) {
  if constexpr (std::is_constructible_v<Policy, const RouterSetup&>) {
    return std::make_unique<Policy>(setup);
  } else {
    return std::make_unique<Policy>();
  }
}

/// All policies; the first is the default.
[[nodiscard]] std::span<const RouterEntry> routers();
/// The names of those that read weights of instances, for people.
[[nodiscard]] std::string weighing_routers();
/// The names of those that predict latencies, for people.
[[nodiscard]] std::string predicting_routers();
/// The policy of that name, else an error that names the nearest. The error has no field.
[[nodiscard]] core::Result<const RouterEntry*> find_router(const std::string& name);

}  // namespace ridgeline::routing
