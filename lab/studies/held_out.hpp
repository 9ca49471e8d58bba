#pragma once

#include "lab/studies/study.hpp"
#include "latency/measured/kernel_tables.hpp"

namespace ridgeline::studies {

/// How well each look-up (row below, linear, logarithmic) foretells measured latencies: every inner
/// tick of an axis (a GEMM's rows, a prompt's length, decode's context and batch) is taken out of
/// its table with all its rows, and those are looked up in what is left. A row per kernel, axis and
/// look-up; errors of the time that the MFU found would give, against `latency_us`.
[[nodiscard]] StudyTable held_out_table(const latency::measured::KernelTables& tables);

}  // namespace ridgeline::studies
