#include "scenario/time_value.hpp"

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/parse.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"

namespace ridgeline::scenario {
namespace {

constexpr double kMillisecondsPerSecond = 1e3;

std::optional<double> bare_number(const document::Node& node) {
  return node.is_number()   ? std::optional(node.as_real())
         : node.is_string() ? core::parse_whole<double>(node.as_string())
                            : std::nullopt;
}

core::Result<double> seconds_with_unit(const document::Node& node, std::string_view hint) {
  core::Error error{.message = fmt::format("expected a time, found {}", node.describe()),
                    .hint = std::string(hint)};
  if (node.is_string()) {
    const auto seconds = document::parse_quantity(node.as_string(), "seconds");
    if (seconds) {
      return *seconds;
    }
    error.message = seconds.error().front().message;
  }
  return core::fail(std::move(error));
}

/// Both ways to write what a bare number of a target most likely means: of ten or more,
/// milliseconds.
std::string in_both_units(double bare) {
  constexpr double kFewestMilliseconds = 10.0;
  const double ms = bare >= kFewestMilliseconds ? bare : bare * kMillisecondsPerSecond;
  return ms > 0.0 && std::isfinite(ms)
             ? fmt::format("{}ms or {}s?", ms, ms / kMillisecondsPerSecond)
             : "500ms";
}

}  // namespace

std::optional<core::Duration> time_value(std::string_view text) {
  if (const auto bare = core::parse_whole<double>(text)) {
    return core::Duration::from_seconds(*bare);
  }
  const auto seconds = document::parse_quantity(text, "seconds");
  return seconds ? core::Duration::from_seconds(*seconds) : std::nullopt;
}

std::optional<core::Duration> time_value(const document::Node& node) {
  if (node.is_number()) {
    return core::Duration::from_seconds(node.as_real());
  }
  return node.is_string() ? time_value(node.as_string()) : std::nullopt;
}

core::Result<double> time_seconds(const document::Node& node) {
  return node.is_number() ? node.as_real()
                          : seconds_with_unit(node, "seconds, or with a unit: 250ms, 60s, 10m");
}

core::Result<double> target_seconds(const document::Node& node) {
  const std::string expected =
      fmt::format("found {}, expected a time above 0 with its unit", node.describe());
  if (const auto bare = bare_number(node)) {
    return core::fail(core::Error{.message = expected, .hint = in_both_units(*bare)});
  }
  auto seconds = seconds_with_unit(node, "500ms or 0.5s");
  if (seconds && !(*seconds > 0.0)) {
    return core::fail(core::Error{.message = expected, .hint = "500ms"});
  }
  return seconds;
}

}  // namespace ridgeline::scenario
