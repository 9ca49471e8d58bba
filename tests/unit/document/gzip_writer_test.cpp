#include "document/gzip_writer.hpp"

#include <cstddef>
#include <ostream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <zlib.h>

namespace ridgeline::document {
namespace {

std::string packed(const std::string& text) {
  std::ostringstream out;
  GzipWriter writer(out);
  std::ostream stream(&writer);
  stream << text;
  writer.finish();
  return out.str();
}

std::string unpacked(std::string text, std::size_t size) {
  std::string out(size + 1, '\0');
  z_stream stream{};
  inflateInit2(&stream, 15 + 16);
  stream.next_in = reinterpret_cast<unsigned char*>(text.data());
  stream.avail_in = static_cast<unsigned>(text.size());
  stream.next_out = reinterpret_cast<unsigned char*>(out.data());
  stream.avail_out = static_cast<unsigned>(out.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

TEST(GzipWriter, ComesBackAsItWas) {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{65536}, std::size_t{300'001}}) {
    std::string text(size, ' ');
    for (std::size_t i = 0; i < size; ++i) {
      text[i] = static_cast<char>('a' + i * i % 23);
    }
    EXPECT_EQ(unpacked(packed(text), size), text) << size;
    EXPECT_EQ(packed(text), packed(text));
  }
}

}  // namespace
}  // namespace ridgeline::document
