#pragma once

#include <string>

#include "core/result.hpp"
#include "latency/measured/kernel_tables.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::latency::measured {

/// Where tables come from: project, folder, commit and licence of the measured ones, and how to do
/// without. The hint of every error for tables that are not there.
/// Source: data/latency/roofline.yaml, lab/docs/original-words.md.
[[nodiscard]] const char* where_tables_come_from();

/// What a user of these tables should know before pricing with them: which of them were made, not
/// measured (W-made-tables), and which contradict themselves (W-table-contradiction).
[[nodiscard]] core::Warnings notes_of(const KernelTables& tables);

/// "loaded 897 rows of 25 kernel tables from DIR (112 gemm, 30 prefill attention, 755 decode
/// attention)", a line for the log of a run; empty where they cannot be read.
[[nodiscard]] std::string loaded_text(const std::string& directory, const hardware::GpuSpec& gpu);

}  // namespace ridgeline::latency::measured
