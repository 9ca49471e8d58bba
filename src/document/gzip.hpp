#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace ridgeline::document {

/// Whether the bytes begin as a gzip stream does (RFC 1952: 1F 8B).
[[nodiscard]] bool is_gzip(std::string_view bytes);

/// What a gzip stream of one or more members holds. Fails on damaged and cut streams, and when more
/// than `limit` bytes come out: a few kilobytes can claim terabytes. `file` names it in errors.
[[nodiscard]] core::Result<std::string> gunzip(std::string_view bytes,
                                               const std::string& file,
                                               std::size_t limit);

/// The bytes of a file, unpacked where they are gzip's. `limit` holds before and after unpacking.
[[nodiscard]] core::Result<std::string> read_unpacked(const std::string& path, std::size_t limit);

}  // namespace ridgeline::document
