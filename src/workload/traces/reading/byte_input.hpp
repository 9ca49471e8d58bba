#pragma once

#include <cstddef>
#include <istream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace ridgeline::workload {

/// Bytes read front to back.
class ByteInput {
 public:
  virtual ~ByteInput() = default;
  /// Fills `buffer` as far as there is something to read; fewer bytes than `size` mean the end, or
  /// a problem().
  virtual std::size_t read(char* buffer, std::size_t size) = 0;
  /// Why reading ended early; empty when it did not.
  [[nodiscard]] virtual std::string_view problem() const { return {}; }
  /// The packed bytes read so far, of an input that is unpacked.
  [[nodiscard]] virtual std::optional<std::size_t> packed_bytes() const { return std::nullopt; }
};

/// A stream as it is.
[[nodiscard]] std::unique_ptr<ByteInput> make_plain_input(std::unique_ptr<std::istream> input);
/// What gzip (RFC 1952, also several members in a row) or zstd (RFC 8878) packed.
[[nodiscard]] std::unique_ptr<ByteInput> make_gzip_input(std::unique_ptr<ByteInput> packed);
[[nodiscard]] std::unique_ptr<ByteInput> make_zstd_input(std::unique_ptr<ByteInput> packed);

/// The bytes of `input`, unpacked where its first bytes say that they are packed: as many as a
/// trace can shrink by, not the terabytes that a few kilobytes can claim.
[[nodiscard]] std::unique_ptr<ByteInput> unpacked(std::unique_ptr<ByteInput> input);

/// A regular file, unpacked. Fails for what is none and for what cannot be opened.
[[nodiscard]] core::Result<std::unique_ptr<ByteInput>> open_input(const std::string& path);

/// The most bytes that a format takes which is read as a whole (a JSON document).
inline constexpr std::size_t kMaxWholeBytes = std::size_t{1} * 1024 * 1024 * 1024;

/// All bytes of an input, of a packed one at most document::most_unpacked(); `name` stands for it
/// in errors.
[[nodiscard]] core::Result<std::string> read_whole(ByteInput& input, const std::string& name);

}  // namespace ridgeline::workload
