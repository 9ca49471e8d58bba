#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "core/result.hpp"

namespace ridgeline::cli {

/// What rewriters of flags share: they put flags of another program in our words, one by one, and
/// note every problem.
class FlagRewriter {
 protected:
  FlagRewriter(Arguments& arguments, core::Errors& errors)
      : arguments_(arguments), errors_(errors) {}

  GivenFlag* find(std::string_view name) {
    const auto found = std::ranges::find(arguments_.flags, name, &GivenFlag::name);
    return found == arguments_.flags.end() ? nullptr : &*found;
  }
  /// Takes a flag out, and returns it.
  std::optional<GivenFlag> take(std::string_view name) {
    GivenFlag* flag = find(name);
    if (flag == nullptr) {
      return std::nullopt;
    }
    GivenFlag taken = std::move(*flag);
    arguments_.flags.erase(arguments_.flags.begin() + (flag - arguments_.flags.data()));
    return taken;
  }
  /// Sets what is not given, in the name of the flag `typed`.
  void fill(std::string_view name, std::string_view value, const std::string& typed) {
    if (find(name) == nullptr) {
      arguments_.flags.push_back(
          {.name = std::string(name), .value = std::string(value), .typed = typed});
    }
  }
  /// Sets a length that is not given to the default of `program`, with a warning: results depend
  /// on it.
  void fill_length(std::string_view name,
                   std::string_view value,
                   const std::string& typed,
                   std::string_view program) {
    if (find(name) == nullptr) {
      fill(name, value, typed);
      arguments_.ignored.push_back({.name = fmt::format("--{}", name),
                                    .help = fmt::format("not given, {} takes {}", program, value),
                                    .meaning = "W-assumed-lengths"});
    }
  }
  void problem(const std::string& field, std::string message, std::string hint = {}) {
    errors_.push_back(usage_error(field, std::move(message), std::move(hint)));
  }
  /// A warning (W-ignored-flag) in place of an effect.
  void pass_over(std::string typed, std::string_view why) {
    arguments_.ignored.push_back({.name = std::move(typed), .help = std::string(why)});
  }

  Arguments& arguments_;
  core::Errors& errors_;
};

}  // namespace ridgeline::cli
