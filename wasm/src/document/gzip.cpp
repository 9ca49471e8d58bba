#include "document/gzip.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "core/result.hpp"
#include "document/document.hpp"

// zlib is not built here: packed bytes count as damaged.
namespace ridgeline::document {

struct GzipReader::Stream {};

/// Nothing is unpacked here.
std::size_t most_unpacked(std::size_t /*packed*/, std::size_t limit) {
  return limit;
}

bool is_gzip(std::string_view bytes) {
  return bytes.starts_with("\x1f\x8b");
}

GzipReader::GzipReader(Packed packed) : packed_(std::move(packed)), problem_(Problem::kDamaged) {}
GzipReader::~GzipReader() = default;

std::size_t GzipReader::read(char* /*buffer*/, std::size_t /*size*/) {
  return 0;
}

core::Result<std::string> gunzip(std::string_view /*bytes*/,
                                 const std::string& file,
                                 std::size_t /*limit*/) {
  return core::fail(
      core::Error{.message = "is packed, which this build does not read", .where = {.file = file}});
}

core::Result<std::string> read_unpacked(const std::string& path, std::size_t limit) {
  return read_file(path, limit);
}

}  // namespace ridgeline::document
