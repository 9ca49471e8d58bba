#pragma once

#include <string>

#include "core/result.hpp"
#include "observe/record.hpp"
#include "observe/tally.hpp"

namespace ridgeline::observe {

/// What a measurement found.
struct ObserveResult {
  RecordHead head;
  RecordTail tail;
  const Tally& tally;
  core::Warnings warnings;
};
/// For a terminal or a file; without the warnings.
[[nodiscard]] std::string summary_table(const ObserveResult& result);
/// data/schemas/observe.schema.json.
[[nodiscard]] std::string summary_json(const ObserveResult& result);

}  // namespace ridgeline::observe
