#pragma once

#include "document/document.hpp"
#include "latency/measured/lookup_question.hpp"
#include "report/table/sheet.hpp"

namespace ridgeline::verbs {

/// One look-up in measured tables, from its tree.
[[nodiscard]] report::Sheet kernel_lookup_sheet(const document::Node& tree);
/// One look-up, for programs. Latency in microseconds.
[[nodiscard]] document::Node kernel_lookup_tree(const latency::measured::LookupAnswer& answer);

}  // namespace ridgeline::verbs
