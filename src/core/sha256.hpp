#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace ridgeline::core {

/// The SHA-256 of bytes (FIPS 180-4): eight words, the first one first.
using Sha256 = std::array<std::uint32_t, 8>;
[[nodiscard]] Sha256 sha256(std::string_view bytes);

}  // namespace ridgeline::core
