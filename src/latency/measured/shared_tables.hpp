#pragma once

#include <memory>
#include <string>

#include "core/result.hpp"
#include "latency/measured/kernel_tables.hpp"

namespace ridgeline::latency::measured {

/// Tables of a folder, and what a user of them should know (table_notes.hpp).
struct SharedTables {
  KernelTables tables;
  core::Warnings notes;
};

/// load_bench_data, once for all models of a folder that live at the same time: a validation makes
/// hundreds. Files that changed since are read anew. Thread-safe; changes no result.
[[nodiscard]] core::Result<std::shared_ptr<const SharedTables>> share_bench_data(
    const std::string& directory, const std::string& gpu);

}  // namespace ridgeline::latency::measured
