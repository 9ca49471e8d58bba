#pragma once

#include "document/document.hpp"
#include "lab/records/evidence_words.hpp"

namespace ridgeline::records {

/// What a record's published recipe says of kernels and of drafts, in its own words, as settings of
/// the engine.
void read_recipe(const document::Node& recipe, ServerFacts& facts);

}  // namespace ridgeline::records
