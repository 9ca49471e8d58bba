#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace ridgeline::document {

/// Whether the bytes begin as a gzip stream does (RFC 1952: 1F 8B).
[[nodiscard]] bool is_gzip(std::string_view bytes);

/// The most bytes that so many packed ones may unpack to where all of them are held at once,
/// `limit` or fewer: a few kilobytes can claim terabytes. What people pack shrinks less.
[[nodiscard]] std::size_t most_unpacked(std::size_t packed, std::size_t limit);

/// Unpacks a gzip stream of one or more members piece by piece.
class GzipReader {
 public:
  enum class Problem : std::uint8_t { kNone, kNoMemory, kCut, kDamaged };
  /// Gives the packed bytes that come next, which hold until its next call; none at the end.
  using Packed = std::function<std::string_view()>;

  explicit GzipReader(Packed packed);
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;
  GzipReader(GzipReader&&) = delete;
  GzipReader& operator=(GzipReader&&) = delete;
  ~GzipReader();

  /// Fills `buffer`; fewer bytes than `size` mean the end, or a problem().
  std::size_t read(char* buffer, std::size_t size);
  [[nodiscard]] Problem problem() const { return problem_; }

 private:
  struct Stream;
  bool step();

  Packed packed_;
  std::string_view bytes_;  ///< Packed ones that zlib has not seen.
  std::unique_ptr<Stream> stream_;
  bool in_member_ = true;
  Problem problem_ = Problem::kNone;
};

/// What a gzip stream of one or more members holds. Fails on damaged and cut streams, and when more
/// than most_unpacked() come out. `file` names it in errors.
[[nodiscard]] core::Result<std::string> gunzip(std::string_view bytes,
                                               const std::string& file,
                                               std::size_t limit);

/// The bytes of a file, unpacked where they are gzip's. `limit` holds before and after unpacking.
[[nodiscard]] core::Result<std::string> read_unpacked(const std::string& path, std::size_t limit);

}  // namespace ridgeline::document
