#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "workload/item_stream.hpp"
#include "workload/traces/format.hpp"

namespace ridgeline::workload {

/// What a conversion did.
struct Conversion {
  std::int64_t requests = 0;
  /// What the new file cannot say, and how often the old one said it: "session (12 requests)".
  std::vector<std::string> lost;
  core::Warnings warnings;  ///< Warnings of the stream.
};

/// Writes a stream in another format. What that format has no room for is counted; where it cannot
/// say that requests wait for answers, they are written at the times at which they come when
/// answers take no time. Fails with the stream's errors, and where the format cannot be written.
[[nodiscard]] core::Result<Conversion> convert(std::unique_ptr<ItemStream> stream,
                                               const TraceFormat& format,
                                               std::ostream& out);

}  // namespace ridgeline::workload
