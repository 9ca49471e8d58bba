#pragma once

#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "core/result.hpp"
#include "verbs/request.hpp"

namespace ridgeline::cli {

/// What `sweep` says of itself.
[[nodiscard]] Opening sweep_opening();

/// Takes the first word: run, list, status, merge or submit. Refuses flags that it has no use for.
[[nodiscard]] core::Result<std::string> take_action(Arguments& arguments);

/// What the words say of the sweep, for verbs::take_sweep().
[[nodiscard]] verbs::Request sweep_request(const Arguments& arguments);

/// The words of `sweep submit` that each shard's `sweep run` gets too: without the action, the
/// scheduler, the number of shards, the store and the output.
[[nodiscard]] std::vector<std::string> without_submit_words(Words words);

}  // namespace ridgeline::cli
