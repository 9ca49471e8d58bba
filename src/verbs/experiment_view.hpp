#pragma once

#include <string>

#include "document/document.hpp"
#include "report/palette.hpp"
#include "report/table/table.hpp"

/// Parts of `validate`'s text that are of experiments with several files.
namespace ridgeline::verbs {

/// Each mean of the records whose servers' own times are known, beside the client's; empty where
/// there are none.
[[nodiscard]] std::string sides_text(const document::Node& validation,
                                     report::Face face,
                                     const report::TextStyle& style);

/// What was read from where and what was taken for granted, of records that say so: each line once,
/// with the number of records where these are not all.
[[nodiscard]] std::string read_text(const document::Node& validation,
                                    const report::TextStyle& style);

}  // namespace ridgeline::verbs
