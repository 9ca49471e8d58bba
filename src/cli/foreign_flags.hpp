#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.hpp"
#include "core/result.hpp"
#include "engine/engine_plan.hpp"

namespace ridgeline::cli {

/// A flag of `vllm serve`, `vllm bench serve` or inference-sim that is a flag of ours under another
/// name.
struct ForeignAlias {
  std::string_view name;     ///< Without dashes.
  std::string_view meaning;  ///< Our flag, without dashes.
};
[[nodiscard]] std::span<const ForeignAlias> foreign_aliases();

/// Flags of theirs, and of the other engines' servers, that share an answer: "has no effect on
/// timing: ...", "is not modelled: ...".
using ForeignAnswer = engine::ServerFlags;
[[nodiscard]] std::span<const ForeignAnswer> foreign_answers();

/// Flags that change no result. A name that ends in "=" takes a value, one that ends in "*" all
/// words up to the next flag.
[[nodiscard]] std::span<const ForeignAnswer> foreign_without_effect();

/// The flags of a verb, and the rows of the tables that mean something beside them: aliases of a
/// flag in `own`, and answers if the verb describes a deployment (has --model). A name in `own`
/// stays its own.
[[nodiscard]] std::vector<FlagSpec> with_foreign_flags(std::span<const FlagSpec> own);

/// What to say of Arguments::ignored, one warning per reason: W-ignored-flag, or the code that its
/// `meaning` holds.
[[nodiscard]] core::Warnings flag_warnings(const Arguments& arguments);

/// The tables for a person: `ridgeline help coming-from`.
[[nodiscard]] std::string foreign_page();

}  // namespace ridgeline::cli
