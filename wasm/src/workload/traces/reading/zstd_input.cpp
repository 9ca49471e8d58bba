#include <cstddef>
#include <memory>
#include <string_view>

#include "workload/traces/reading/byte_input.hpp"

namespace ridgeline::workload {
namespace {

/// libzstd is not built here.
class ZstdInput final : public ByteInput {
 public:
  std::size_t read(char* /*buffer*/, std::size_t /*size*/) override { return 0; }
  [[nodiscard]] std::string_view problem() const override {
    return "packed with zstd, which this build does not read";
  }
};

}  // namespace

std::unique_ptr<ByteInput> make_zstd_input(std::unique_ptr<ByteInput> /*packed*/) {
  return std::make_unique<ZstdInput>();
}

}  // namespace ridgeline::workload
