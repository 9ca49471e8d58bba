#pragma once

#include <string>
#include <utility>
#include <vector>

#include "scenario/resolve.hpp"

namespace ridgeline::verbs {

/// The settings that a scenario states, by path: the value, and in words where it came from.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> stated_settings(
    const scenario::Resolved& resolved);

/// A command line that runs the scenario again: a flag for each stated setting. Where one has no
/// flag that takes all of it, the command reads the settings from the result instead.
[[nodiscard]] std::string repeat_command(const scenario::Resolved& resolved);

/// The part of a link to the page of `ridgeline ui` behind its "#": the flag of each stated setting
/// and its value, lists and maps as JSON.
[[nodiscard]] std::string settings_link(const scenario::Resolved& resolved);

}  // namespace ridgeline::verbs
