#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <zlib.h>

#include "workload/traces/reading/byte_input.hpp"

namespace ridgeline::workload {
namespace {

constexpr std::size_t kPackedBlock = std::size_t{64} * 1024;

class GzipInput final : public ByteInput {
 public:
  explicit GzipInput(std::unique_ptr<ByteInput> packed)
      : packed_(std::move(packed)), block_(kPackedBlock) {
    // 16: a gzip header and nothing else (zlib.h, inflateInit2).
    constexpr int kGzipWindow = 15 + 16;
    if (inflateInit2(&stream_, kGzipWindow) != Z_OK) {
      problem_ = "there is no memory to unpack gzip";
    }
  }
  GzipInput(const GzipInput&) = delete;
  GzipInput& operator=(const GzipInput&) = delete;
  ~GzipInput() override { inflateEnd(&stream_); }

  std::size_t read(char* buffer, std::size_t size) override {
    std::size_t done = 0;
    while (done < size && problem_.empty() && !ended_) {
      const std::size_t wanted =
          std::min<std::size_t>(size - done, std::numeric_limits<uInt>::max());
      stream_.next_out = reinterpret_cast<Bytef*>(buffer + done);
      stream_.avail_out = static_cast<uInt>(wanted);
      step();
      done += wanted - stream_.avail_out;
    }
    return done;
  }
  [[nodiscard]] std::string_view problem() const override { return problem_; }

 private:
  bool refill() {
    if (stream_.avail_in > 0) {
      return true;
    }
    stream_.next_in = reinterpret_cast<Bytef*>(block_.data());
    stream_.avail_in = static_cast<uInt>(packed_->read(block_.data(), block_.size()));
    return stream_.avail_in > 0;
  }

  void step() {
    if (!refill()) {
      if (in_member_) {
        problem_ = "the gzip data is cut short, expected it to go on";
      }
      ended_ = true;
      return;
    }
    if (!in_member_) {
      // Another member after the last one, as `cat a.gz b.gz` gives.
      inflateReset(&stream_);
      in_member_ = true;
    }
    switch (inflate(&stream_, Z_NO_FLUSH)) {
      case Z_STREAM_END:
        in_member_ = false;
        break;
      case Z_OK:
      case Z_BUF_ERROR:
        break;
      default:
        problem_ = "the gzip data is damaged, expected what gzip writes";
        break;
    }
  }

  std::unique_ptr<ByteInput> packed_;
  std::vector<char> block_;
  z_stream stream_{};
  bool in_member_ = true;
  bool ended_ = false;
  std::string_view problem_;
};

}  // namespace

std::unique_ptr<ByteInput> make_gzip_input(std::unique_ptr<ByteInput> packed) {
  return std::make_unique<GzipInput>(std::move(packed));
}

}  // namespace ridgeline::workload
