#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "scenario/scenario.hpp"

/// Questions that several engines are asked at once: each has settings of its own.
namespace ridgeline::plan {

inline constexpr std::string_view kEngineVersion = "engine.version";

/// What of a question one engine is asked: without the settings and axes that it lacks.
struct EngineQuestion {
  document::Node base;
  std::vector<scenario::Override> overrides;
  document::Node axes;
};

/// Every engine, as `engine.version` names it without a version: what "all" stands for.
inline constexpr std::string_view kAllEngines = "all";
[[nodiscard]] document::Node every_engine(const core::Location& where);

/// The members of a map of axes with the section `engine` taken apart, in its place: dotted keys.
[[nodiscard]] std::vector<document::Node::Member> with_dotted_engine(
    const std::vector<document::Node::Member>& axes);

/// An engine by its version alone, nothing else stated.
[[nodiscard]] scenario::EngineSection engine_named(const std::string& version);

/// Settings that are stated and that none of several engines has. Of one engine alone nothing: the
/// scenario's own rule refuses them.
[[nodiscard]] std::vector<std::string_view> settings_of_none(
    const std::vector<std::string>& versions,
    const std::function<bool(std::string_view path)>& is_stated);

/// One part per engine that the axes name, in their order; versions of one engine stay an axis of
/// its part. Where they name no engine or a single one, the question as it is, so that a setting
/// which that engine lacks is refused. `axes` have dotted keys for the section `engine`.
[[nodiscard]] std::vector<EngineQuestion> by_engine(EngineQuestion question);

}  // namespace ridgeline::plan
