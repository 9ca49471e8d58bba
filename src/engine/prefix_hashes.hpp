#pragma once

#include <cstdint>
#include <vector>

#include "core/units.hpp"
#include "domain/request.hpp"

namespace ridgeline::engine {

/// The hashes by which vLLM's prefix cache knows the full blocks of a request's prompt, in order:
/// those that a KvConnector gets.
[[nodiscard]] std::vector<std::uint64_t> prefix_hashes(const domain::Request& request,
                                                       core::Tokens block_size);

}  // namespace ridgeline::engine
