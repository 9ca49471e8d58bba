#include "document/gzip.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <zlib.h>

#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::document {
namespace {

/// zlib: windowBits of the largest window, plus 16 for the gzip format.
constexpr int kGzipWindow = 15 + 16;

/// A JSON of numbers that repeat shrinks to a hundredth (measured: client results and traces, 5 to
/// 30 times); gzip reaches 1032, zstd 30,000.
constexpr std::size_t kMostRatio = 100;
constexpr std::size_t kAlwaysUnpacked = std::size_t{64} * 1024 * 1024;

uInt zlib_size(std::size_t size) {
  return static_cast<uInt>(std::min<std::size_t>(size, std::numeric_limits<uInt>::max()));
}

std::string_view text_of(GzipReader::Problem problem) {
  switch (problem) {
    case GzipReader::Problem::kNone:
      return {};
    case GzipReader::Problem::kNoMemory:
      return "cannot be unpacked: out of memory";
    case GzipReader::Problem::kCut:
      return "is cut: its gzip stream has no end";
    case GzipReader::Problem::kDamaged:
      return "is damaged: it is no whole gzip stream";
  }
  return {};
}

}  // namespace

struct GzipReader::Stream {
  z_stream z = {};
};

GzipReader::GzipReader(Packed packed)
    : packed_(std::move(packed)), stream_(std::make_unique<Stream>()) {
  if (inflateInit2(&stream_->z, kGzipWindow) != Z_OK) {
    problem_ = Problem::kNoMemory;
  }
}

GzipReader::~GzipReader() {
  inflateEnd(&stream_->z);
}

std::size_t GzipReader::read(char* buffer, std::size_t size) {
  std::size_t done = 0;
  bool more = problem_ == Problem::kNone;
  while (done < size && more) {
    const uInt wanted = zlib_size(size - done);
    stream_->z.next_out = reinterpret_cast<Bytef*>(buffer + done);
    stream_->z.avail_out = wanted;
    more = step();
    done += wanted - stream_->z.avail_out;
  }
  return done;
}

/// Unpacks some bytes; false at the end, and where there is a problem.
bool GzipReader::step() {
  z_stream& z = stream_->z;
  if (z.avail_in == 0) {
    bytes_ = bytes_.empty() ? packed_() : bytes_;
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes_.data()));
    z.avail_in = zlib_size(bytes_.size());
    bytes_.remove_prefix(z.avail_in);
  }
  if (z.avail_in == 0) {
    problem_ = in_member_ ? Problem::kCut : Problem::kNone;
    return false;
  }
  if (!in_member_) {
    inflateReset(&z);  // Another member after the last one, as `cat a.gz b.gz` gives.
  }
  const int status = inflate(&z, Z_NO_FLUSH);
  in_member_ = status != Z_STREAM_END;
  if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) {
    problem_ = Problem::kDamaged;
  }
  return problem_ == Problem::kNone;
}

std::size_t most_unpacked(std::size_t packed, std::size_t limit) {
  return std::min(limit, std::max(kAlwaysUnpacked, std::min(packed, limit) * kMostRatio));
}

bool is_gzip(std::string_view bytes) {
  return bytes.size() >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b';
}

core::Result<std::string> gunzip(std::string_view bytes,
                                 const std::string& file,
                                 std::size_t limit) {
  const auto refuse = [&](std::string_view problem) {
    return core::fail(core::Error{.message = std::string(problem), .where = {.file = file}});
  };
  const std::size_t most = most_unpacked(bytes.size(), limit);
  GzipReader reader([&bytes] { return std::exchange(bytes, {}); });
  std::string text;
  std::array<char, 65536> chunk;
  for (std::size_t size = chunk.size(); size == chunk.size();) {
    size = reader.read(chunk.data(), chunk.size());
    text.append(chunk.data(), size);
    if (text.size() > most) {
      return refuse(fmt::format("unpacks to more than the limit of {} bytes{}",
                                most,
                                most < limit ? " for its size" : ""));
    }
  }
  if (reader.problem() != GzipReader::Problem::kNone) {
    return refuse(text_of(reader.problem()));
  }
  return text;
}

core::Result<std::string> read_unpacked(const std::string& path, std::size_t limit) {
  auto bytes = read_file(path, limit);
  if (!bytes || !is_gzip(*bytes)) {
    return bytes;
  }
  return gunzip(*bytes, path, limit);
}

}  // namespace ridgeline::document
