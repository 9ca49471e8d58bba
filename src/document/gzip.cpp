#include "document/gzip.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <zlib.h>

#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::document {
namespace {

/// zlib: windowBits of the largest window, plus 16 for the gzip format.
constexpr int kGzipWindow = 15 + 16;

class Inflater {
 public:
  Inflater() { ready_ = inflateInit2(&stream_, kGzipWindow) == Z_OK; }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  Inflater(Inflater&&) = delete;
  Inflater& operator=(Inflater&&) = delete;
  ~Inflater() { inflateEnd(&stream_); }

  /// Appends what the bytes hold to `text`; why not, or nothing.
  std::string run(std::string_view bytes, std::size_t limit, std::string& text) {
    if (!ready_) {
      return "cannot be unpacked: out of memory";
    }
    feed(bytes);
    std::array<unsigned char, 65536> chunk;
    bool inside = true;
    while (inside || more()) {
      if (!inside && inflateReset(&stream_) != Z_OK) {
        return "is damaged: a gzip member does not begin";
      }
      stream_.next_out = chunk.data();
      stream_.avail_out = static_cast<uInt>(chunk.size());
      const int status = inflate(&stream_, Z_NO_FLUSH);
      text.append(reinterpret_cast<const char*>(chunk.data()), chunk.size() - stream_.avail_out);
      if (text.size() > limit) {
        return fmt::format("unpacks to more than the limit of {} bytes", limit);
      }
      inside = status != Z_STREAM_END;
      if (status == Z_BUF_ERROR && !more()) {
        return "is cut: its gzip stream has no end";
      }
      if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) {
        return "is damaged: it is no whole gzip stream";
      }
    }
    return {};
  }

 private:
  /// zlib counts the input in 32 bits.
  void feed(std::string_view bytes) {
    rest_ = bytes;
    refill();
  }
  void refill() {
    const std::size_t part = std::min<std::size_t>(rest_.size(), std::numeric_limits<uInt>::max());
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest_.data()));
    stream_.avail_in = static_cast<uInt>(part);
    rest_.remove_prefix(part);
  }
  bool more() {
    if (stream_.avail_in == 0 && !rest_.empty()) {
      refill();
    }
    return stream_.avail_in > 0;
  }

  z_stream stream_ = {};
  std::string_view rest_;
  bool ready_ = false;
};

}  // namespace

bool is_gzip(std::string_view bytes) {
  return bytes.size() >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b';
}

core::Result<std::string> gunzip(std::string_view bytes,
                                 const std::string& file,
                                 std::size_t limit) {
  std::string text;
  Inflater inflater;
  const std::string problem = inflater.run(bytes, limit, text);
  if (!problem.empty()) {
    return core::fail(core::Error{.message = problem, .where = {.file = file}});
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
