#pragma once

#include <string>
#include <string_view>

#include "document/document.hpp"
#include "lab/records/evidence_words.hpp"

/// Why a record is not predicted, in its own words.
namespace ridgeline::records {

/// What `measured` holds where it has nothing that is compared: ", but load_s, ready_s".
[[nodiscard]] std::string held_instead(const document::Node& measured);

/// `side` ("input" or "output") of a workload lacks the number of tokens.
[[nodiscard]] std::string no_length(const document::Node& workload, std::string_view side);

}  // namespace ridgeline::records
