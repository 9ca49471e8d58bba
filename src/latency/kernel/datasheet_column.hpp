#pragma once

#include "latency/kernel/constants.hpp"

namespace ridgeline::latency::kernel {

/// Constants under which every kernel takes what the datasheet says: bytes over bandwidth or FLOPs
/// over peak, whichever is longer, with no launch of its own. For GPUs that no kernel was measured
/// on.
[[nodiscard]] const Column& datasheet_column();

}  // namespace ridgeline::latency::kernel
