#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/arguments.hpp"

namespace ridgeline::cli {

/// What `ridgeline` says without arguments: what it is, three commands to copy, the verbs.
[[nodiscard]] std::string first_page();

/// The page of one verb, whose flags are explained within `columns`, 100 at most.
[[nodiscard]] std::string verb_page(std::string_view usage,
                                    std::string_view about,
                                    std::span<const FlagSpec> flags,
                                    int columns);

/// Every option of a scenario: key, flag, kind, range, default, meaning, example.
[[nodiscard]] std::string options_page();

}  // namespace ridgeline::cli
