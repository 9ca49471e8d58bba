#include <span>

#include "workload/traces/format.hpp"

namespace ridgeline::workload {

/// None, as there are no files to read: their readers are no part of the module.
std::span<const TraceFormat* const> trace_formats() {
  return {};
}

}  // namespace ridgeline::workload
