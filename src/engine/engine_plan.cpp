#include "engine/engine_plan.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/parameter.hpp"

namespace ridgeline::engine {
namespace {

struct Differs {
  const document::Node& stated;
  bool operator()(bool standard) const { return stated.as_bool() != standard; }
  bool operator()(std::int64_t standard) const { return stated.as_integer() != standard; }
  bool operator()(double standard) const { return stated.as_real() != standard; }
  bool operator()(std::string_view standard) const { return stated.as_string() != standard; }
};

/// Whether a setting is stated with another value than its default: a written configuration states
/// everything.
bool is_changed(const PlanInputs& in,
                std::span<const document::Parameter> table,
                std::string_view name) {
  const document::Node* const stated = in.settings.stated(name);
  if (stated == nullptr) {
    return false;
  }
  const auto setting = std::ranges::find(table, name, &document::Parameter::name);
  return std::visit(Differs{*stated}, setting->standard);
}

}  // namespace

core::Errors without_effect(const PlanInputs& in,
                            const OwnSettings& own,
                            std::span<const Need> needs) {
  core::Errors errors;
  for (const Need& need : needs) {
    if (!need.is_met && is_changed(in, own.settings, need.setting)) {
      errors.push_back({.field = fmt::format("engine.{}", need.setting),
                        .message = fmt::format("would be ignored: it needs {}", need.needs)});
    }
  }
  return errors;
}

}  // namespace ridgeline::engine
