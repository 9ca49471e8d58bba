#pragma once

#include <string>
#include <string_view>
#include <vector>

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

/// Every engine, as `engine.version` names its newest version: what "all" stands for.
[[nodiscard]] std::vector<std::string> every_engine();

/// The members of a map of axes with the section `engine` taken apart, in its place: dotted keys.
[[nodiscard]] std::vector<document::Node::Member> with_dotted_engine(
    const std::vector<document::Node::Member>& axes);

/// An engine by its version alone, nothing else stated.
[[nodiscard]] scenario::EngineSection engine_named(const std::string& version);

/// Whether two values of `engine.version` are of one engine.
[[nodiscard]] bool is_one_engine(const std::string& version, const std::string& other);

/// One part per engine that the axes name, in their order; versions of one engine stay an axis of
/// its part. Where they name no engine or a single one, the question as it is, so that a setting
/// which that engine lacks is refused. `axes` have dotted keys for the section `engine`.
[[nodiscard]] std::vector<EngineQuestion> by_engine(EngineQuestion question);

}  // namespace ridgeline::plan
