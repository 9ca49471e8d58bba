#pragma once

#include <string>

#include "document/document.hpp"
#include "latency/measured/lookup_question.hpp"

namespace ridgeline::verbs {

/// One look-up in measured tables, for a person. Latency in microseconds.
[[nodiscard]] std::string kernel_lookup_table(const latency::measured::LookupAnswer& answer);
/// One look-up, for programs.
[[nodiscard]] document::Node kernel_lookup_tree(const latency::measured::LookupAnswer& answer);

}  // namespace ridgeline::verbs
