#include "latency/kernel/quantised_rows.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {
namespace {

model::Operator product(const char* name, model::DType weights) {
  return {.name = name, .calls = 1, .shape = model::Gemm{.k = 8192, .n = 5120, .weights = weights}};
}

class QuantisedRows : public testing::Test {
 protected:
  [[nodiscard]] std::int64_t rows(const char* name, model::DType weights) const {
    return rows_written_quantised(
        product(name, weights), choice_, exchange_, hardware::find_gpu(gpu_).value());
  }

  KernelChoice choice_ = {.fuse_attn_quant = true};
  /// Exchange of rows of 8,192 in 16 bit over two ranks.
  std::optional<model::AllReduce> exchange_ = model::AllReduce{.width = 8192, .ranks = 2};
  std::string gpu_ = "b200";
};

TEST_F(QuantisedRows, TheExchangeWritesThemUpToItsLimitAndAttentionAll) {
  // 64 MiB of 16 KiB a row.
  EXPECT_EQ(rows("qkv_proj", model::DType::kFp8), 4096);
  EXPECT_EQ(rows("gate_up_proj", model::DType::kNvfp4), 4096);
  EXPECT_EQ(rows("o_proj", model::DType::kFp8), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(rows("down_proj", model::DType::kFp8), 0);
}

TEST_F(QuantisedRows, NothingIsWrittenSoWithoutTheKernelBefore) {
  choice_.fuse_attn_quant = false;
  EXPECT_EQ(rows("o_proj", model::DType::kFp8), 0);
  exchange_.reset();
  EXPECT_EQ(rows("qkv_proj", model::DType::kFp8), 0);
}

TEST_F(QuantisedRows, OtherFormatsAndGpusWithoutTheUnitsAreNotQuantisedSo) {
  for (const auto weights : {model::DType::kBf16, model::DType::kFp8Block, model::DType::kMxfp4}) {
    EXPECT_FALSE(may_be_written_quantised(weights));
    EXPECT_EQ(rows("qkv_proj", weights), 0);
    EXPECT_EQ(rows("o_proj", weights), 0);
  }
  gpu_ = "h100";  // Expands NVFP4 to 16 bit.
  EXPECT_EQ(rows("o_proj", model::DType::kNvfp4), 0);
  EXPECT_GT(rows("o_proj", model::DType::kFp8), 0);
}

}  // namespace
}  // namespace ridgeline::latency::kernel
