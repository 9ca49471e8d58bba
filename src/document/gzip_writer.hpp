#pragma once

#include <array>
#include <cstddef>
#include <iosfwd>
#include <memory>
#include <streambuf>

namespace ridgeline::document {

/// A stream buffer that packs what is written with gzip into another stream. The same bytes for the
/// same content: the header names no file and no time.
class GzipWriter final : public std::streambuf {
 public:
  /// `out` outlives it.
  explicit GzipWriter(std::ostream& out);
  GzipWriter(const GzipWriter&) = delete;
  GzipWriter& operator=(const GzipWriter&) = delete;
  GzipWriter(GzipWriter&&) = delete;
  GzipWriter& operator=(GzipWriter&&) = delete;
  ~GzipWriter() override;

  /// Writes the rest; nothing is written afterwards.
  void finish();

 private:
  struct Zlib;
  int_type overflow(int_type character) override;
  void pack(bool is_last);

  std::ostream& out_;
  std::unique_ptr<Zlib> zlib_;
  std::array<char, std::size_t{1} << 16U> room_{};
};

}  // namespace ridgeline::document
