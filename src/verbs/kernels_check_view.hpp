#pragma once

#include <string>

#include "document/document.hpp"
#include "latency/measured/check.hpp"

namespace ridgeline::verbs {

/// What a check of measured tables found, for a person: per GPU and kernel, then the findings by
/// their code, then the heads.
[[nodiscard]] std::string kernel_check_table(const latency::measured::TableCheck& check);
/// The check for programs: {kernels[], findings[], networks[], refused[]}. Peaks in TFLOP/s; errors
/// and changes as shares.
[[nodiscard]] document::Node kernel_check_tree(const latency::measured::TableCheck& check);
/// Whether a table contradicts itself.
[[nodiscard]] bool has_contradiction(const latency::measured::TableCheck& check);

}  // namespace ridgeline::verbs
