#pragma once

namespace ridgeline::core {

/// Exact sums of products of 64-bit counts.
__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

}  // namespace ridgeline::core
