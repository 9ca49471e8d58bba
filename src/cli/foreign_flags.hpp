#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "core/result.hpp"

namespace ridgeline::cli {

/// The flags of other programs (data/flags) that mean something beside a verb's own: names of a
/// flag in `own`, and answers if the verb describes a deployment (has --model). A name in `own`
/// stays its own.
[[nodiscard]] std::vector<FlagSpec> foreign_flags(std::span<const FlagSpec> own);

/// What to say of Arguments::ignored, one warning per reason: W-ignored-flag, or the code that its
/// `meaning` holds.
[[nodiscard]] core::Warnings flag_warnings(const Arguments& arguments);

/// Every row for a person: `ridgeline help coming-from`.
[[nodiscard]] std::string foreign_page();

}  // namespace ridgeline::cli
