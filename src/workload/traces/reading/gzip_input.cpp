#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "document/gzip.hpp"
#include "workload/traces/reading/byte_input.hpp"

namespace ridgeline::workload {
namespace {

constexpr std::size_t kPackedBlock = std::size_t{64} * 1024;

class GzipInput final : public ByteInput {
 public:
  explicit GzipInput(std::unique_ptr<ByteInput> packed)
      : packed_(std::move(packed)),
        block_(kPackedBlock),
        reader_([this] { return next_block(); }) {}

  std::size_t read(char* buffer, std::size_t size) override { return reader_.read(buffer, size); }
  [[nodiscard]] std::string_view problem() const override {
    using Problem = document::GzipReader::Problem;
    switch (reader_.problem()) {
      case Problem::kNone:
        break;
      case Problem::kNoMemory:
        return "there is no memory to unpack gzip";
      case Problem::kCut:
        return "the gzip data is cut short, expected it to go on";
      case Problem::kDamaged:
        return "the gzip data is damaged, expected what gzip writes";
    }
    return {};
  }

 private:
  std::string_view next_block() {
    return {block_.data(), packed_->read(block_.data(), block_.size())};
  }

  std::unique_ptr<ByteInput> packed_;
  std::vector<char> block_;
  document::GzipReader reader_;
};

}  // namespace

std::unique_ptr<ByteInput> make_gzip_input(std::unique_ptr<ByteInput> packed) {
  return std::make_unique<GzipInput>(std::move(packed));
}

}  // namespace ridgeline::workload
