#include "document/gzip_writer.hpp"

#include <array>
#include <cstddef>
#include <ios>
#include <memory>
#include <ostream>

#include <zlib.h>

#include "core/check.hpp"

namespace ridgeline::document {

struct GzipWriter::Zlib {
  z_stream stream{};
};

GzipWriter::GzipWriter(std::ostream& out) : out_(out), zlib_(std::make_unique<Zlib>()) {
  constexpr int kGzipHeader = 16;  // zlib's manual, deflateInit2: added to the window's bits.
  constexpr int kWindowBits = 15;
  constexpr int kMemoryLevel = 8;
  const int done = deflateInit2(&zlib_->stream,
                                Z_DEFAULT_COMPRESSION,
                                Z_DEFLATED,
                                kWindowBits + kGzipHeader,
                                kMemoryLevel,
                                Z_DEFAULT_STRATEGY);
  RIDGELINE_CHECK(done == Z_OK, "gzip: zlib has room to begin");
  setp(room_.data(), room_.data() + room_.size());
}

GzipWriter::~GzipWriter() {
  deflateEnd(&zlib_->stream);
}

GzipWriter::int_type GzipWriter::overflow(int_type character) {
  pack(false);
  if (character != traits_type::eof()) {
    *pptr() = traits_type::to_char_type(character);
    pbump(1);
  }
  return traits_type::not_eof(character);
}

void GzipWriter::finish() {
  pack(true);
}

void GzipWriter::pack(bool is_last) {
  std::array<unsigned char, std::size_t{1} << 16U> packed{};
  z_stream& stream = zlib_->stream;
  stream.next_in = reinterpret_cast<unsigned char*>(pbase());
  stream.avail_in = static_cast<unsigned>(pptr() - pbase());
  do {
    stream.next_out = packed.data();
    stream.avail_out = static_cast<unsigned>(packed.size());
    deflate(&stream, is_last ? Z_FINISH : Z_NO_FLUSH);
    out_.write(reinterpret_cast<const char*>(packed.data()),
               static_cast<std::streamsize>(packed.size() - stream.avail_out));
  } while (stream.avail_out == 0);
  setp(room_.data(), room_.data() + room_.size());
}

}  // namespace ridgeline::document
