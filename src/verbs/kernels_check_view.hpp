#pragma once

#include "document/document.hpp"
#include "latency/measured/check.hpp"
#include "report/table/sheet.hpp"

namespace ridgeline::verbs {

/// What a check of measured tables found, from its tree: per GPU and kernel, then the findings by
/// their code, then the heads.
[[nodiscard]] report::Sheet kernel_check_sheet(const document::Node& tree);
/// The check for programs: {kernels[], findings[], networks[], refused[]}. Peaks in TFLOP/s; errors
/// and changes as shares.
[[nodiscard]] document::Node kernel_check_tree(const latency::measured::TableCheck& check);
/// Whether a table contradicts itself.
[[nodiscard]] bool has_contradiction(const latency::measured::TableCheck& check);

}  // namespace ridgeline::verbs
