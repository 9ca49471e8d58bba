#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <zstd.h>

#include "workload/traces/reading/byte_input.hpp"

namespace ridgeline::workload {
namespace {

class ZstdInput final : public ByteInput {
 public:
  explicit ZstdInput(std::unique_ptr<ByteInput> packed)
      : packed_(std::move(packed)),
        block_(ZSTD_DStreamInSize()),
        stream_(ZSTD_createDStream(), &ZSTD_freeDStream) {
    if (stream_ == nullptr) {
      problem_ = "there is no memory to unpack zstd";
    }
  }

  std::size_t read(char* buffer, std::size_t size) override {
    ZSTD_outBuffer out{.dst = buffer, .size = size, .pos = 0};
    while (out.pos < out.size && problem_.empty() && !ended_) {
      if (in_.pos == in_.size && !refill()) {
        break;
      }
      const std::size_t hint = ZSTD_decompressStream(stream_.get(), &out, &in_);
      if (ZSTD_isError(hint) != 0) {
        problem_ = "the zstd data is damaged, expected what zstd writes";
      }
      in_frame_ = hint != 0;
    }
    return out.pos;
  }
  [[nodiscard]] std::string_view problem() const override { return problem_; }

 private:
  bool refill() {
    in_ = {.src = block_.data(), .size = packed_->read(block_.data(), block_.size()), .pos = 0};
    if (in_.size > 0) {
      return true;
    }
    if (in_frame_) {
      problem_ = "the zstd data is cut short, expected it to go on";
    }
    ended_ = true;
    return false;
  }

  std::unique_ptr<ByteInput> packed_;
  std::vector<char> block_;
  std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream_;
  ZSTD_inBuffer in_{.src = nullptr, .size = 0, .pos = 0};
  bool in_frame_ = true;
  bool ended_ = false;
  std::string_view problem_;
};

}  // namespace

std::unique_ptr<ByteInput> make_zstd_input(std::unique_ptr<ByteInput> packed) {
  return std::make_unique<ZstdInput>(std::move(packed));
}

}  // namespace ridgeline::workload
