#pragma once

#include "core/result.hpp"
#include "document/reader.hpp"
#include "scenario/options.hpp"

namespace ridgeline::scenario {

/// Puts the value of an option into its slot, where the map that `reader` reads has the option's
/// key; a value of the wrong kind, unit or range is noted in `errors` and leaves the slot alone.
/// `errors` are also the reader's.
void read_option(const Option& option,
                 Slot slot,
                 document::ObjectReader& reader,
                 core::Errors& errors);

}  // namespace ridgeline::scenario
