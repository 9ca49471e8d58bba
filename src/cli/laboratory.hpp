#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/exit_code.hpp"
#include "evidence/validate/evidence.hpp"

namespace ridgeline::cli {

/// Whether a word is a verb of the laboratory's program, `ridgeline-lab`.
[[nodiscard]] bool is_laboratorys(std::string_view word);

/// Whether words of `validate` are of the laboratory's `records`: rankings, ablations, what is left
/// out.
[[nodiscard]] bool asks_for_records(std::string_view verb, std::span<const std::string> words);

/// Whether records are of the laboratory's collections, which this program does not read.
[[nodiscard]] bool needs_laboratory(const std::vector<evidence::validate::Evidence>& records);

/// Runs `ridgeline-lab VERB` with these words in place of this program, as git runs git-NAME.
/// Returns only where that program does not stand beside this one: an error says how to build it.
[[nodiscard]] ExitCode run_laboratory(std::string_view verb, std::span<const std::string> words);

}  // namespace ridgeline::cli
