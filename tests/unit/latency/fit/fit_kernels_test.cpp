#include "latency/fit/fit_kernels.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/units.hpp"
#include "latency/fit/columns_yaml.hpp"
#include "latency/fit/operators.hpp"
#include "latency/fit/read_tables.hpp"
#include "latency/fit/samples.hpp"
#include "latency/kernel/calibration.hpp"
#include "latency/kernel/constants.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"
#include "support/paths.hpp"
#include "unit/latency/kernel_fixtures.hpp"

namespace ridgeline::latency::fit {
namespace {

const Operator& operator_of(std::string_view key) {
  return *std::ranges::find(operators(), key, &Operator::key);
}

/// Tables of block FP8 hold two small kernels more where rows are no multiple of four.
TEST(Predict, RowsThatAreNoMultipleOfFourArePadded) {
  const hardware::GpuSpec gpu = fixtures::gpu("h100");
  Trial trial;
  trial.gemm = kernel::calibrate(kernel::builtin_constants(), gpu).gemm_16bit.values;
  const auto us = [&](std::int64_t rows) {
    const GemmCall call{.shape = {.m = rows, .k = 4096, .n = 4096},
                        .weights = model::DType::kFp8Block};
    return core::as_microseconds(predict(trial, {.call = call, .time = {}}, gpu));
  };
  const double aligned = us(16);
  const double odd = us(17);
  trial.padding = core::microseconds(5.5);
  EXPECT_EQ(us(16), aligned);
  EXPECT_NEAR(us(17), odd + 5.5, 1e-9);
}

/// In the order of the operator's constants: fixed, per wave of KV heads, floor per wave,
/// bandwidth, per wave of query heads.
const std::vector<double> kKnownDecode = {21.0, 0.9, 3.0, 0.87, 0.05};

/// What a call of the built-in H100 takes; the fit must find its way back.
SampleTable decode_table(const Trial& truth) {
  SampleTable table{.file = "made.csv",
                    .version = "1.0",
                    .gpu = fixtures::gpu("h100"),
                    .kind = TableKind::kDecodeAttention,
                    .samples = {}};
  for (const std::int64_t batch : {8, 32, 128, 512}) {
    for (const std::int64_t context : {2048, 4096, 16384, 65536}) {
      for (const std::int64_t heads : {2, 8}) {
        Sample sample{.call = DecodeAttentionCall{.call = {.sequences = batch,
                                                           .tokens = batch,
                                                           .context = batch * context,
                                                           .pairs = 0.0},
                                                  .shape = {.heads = heads == 2 ? 32 : 16,
                                                            .kv_heads = heads,
                                                            .head_dim = 128}},
                      .time = {}};
        sample.time = predict(truth, sample, table.gpu);
        table.samples.push_back(sample);
      }
    }
  }
  return table;
}

TEST(FitKernels, FindsTheConstantsThatMadeTheTable) {
  const Trial truth = trial_of(operator_of("decode_attention").forms.front(), kKnownDecode);
  const auto fits = fit_kernels({decode_table(truth)}, {});
  ASSERT_EQ(fits.size(), 1U);
  EXPECT_LT(fits[0].in_sample.p90, 0.002);
  EXPECT_NEAR(fits[0].values[0], 21.0, 0.5);
  EXPECT_NEAR(fits[0].values[1], 0.9, 0.05);
  EXPECT_NEAR(fits[0].values[3], 0.87, 0.005);
  EXPECT_NEAR(fits[0].values[4], 0.05, 0.01);
  EXPECT_FALSE(fits[0].left_out.has_value());
}

TEST(FitKernels, ThreadsDoNotChangeIt) {
  const Trial truth = trial_of(operator_of("decode_attention").forms.front(), kKnownDecode);
  SampleTable other = decode_table(truth);
  other.gpu = fixtures::gpu("a100-80gb");
  const std::vector<SampleTable> tables = {decode_table(truth), other};
  const auto one = fit_kernels(tables, {.threads = 1});
  const auto three = fit_kernels(tables, {.threads = 3});
  EXPECT_EQ(one.size(), 3U);  // Two GPUs and the common set.
  EXPECT_EQ(columns_yaml(one), columns_yaml(three));
}

TEST(FitKernels, TheNewestTableIsTakenUnlessAskedOtherwise) {
  const Trial truth = trial_of(operator_of("decode_attention").forms.front(), kKnownDecode);
  std::vector<SampleTable> tables(3, decode_table(truth));
  const std::vector<std::string> versions = {"0.9.2", "0.19.0", "0.14.0"};
  for (std::size_t i = 0; i < tables.size(); ++i) {
    tables[i].version = tables[i].file = versions[i];
  }
  const auto file = [&](FitOptions options) { return fit_kernels(tables, options)[0].files[0]; };
  EXPECT_EQ(file({}), "0.19.0");
  EXPECT_EQ(file({.versions = {{"", "0.15.1"}}}), "0.14.0");
  EXPECT_EQ(file({.versions = {{"", "0.15.1"}, {"decode_attention", "0.10"}}}), "0.9.2");
  EXPECT_EQ(file({.versions = {{"", "0.8.0"}}}), "0.9.2");  // None is below: the oldest.
  // One with too few rows is passed over.
  tables[1].samples.resize(3);
  EXPECT_EQ(file({}), "0.14.0");
}

TEST(FitKernels, TheModelReadsWhatIsWritten) {
  const Trial truth = trial_of(operator_of("decode_attention").forms.front(), kKnownDecode);
  const auto fits = fit_kernels({decode_table(truth)}, {});
  const auto constants =
      kernel::read_overlay(columns_yaml(fits), "columns.yaml", kernel::builtin_constants());
  ASSERT_TRUE(constants.has_value()) << core::to_string(constants.error().front());
  const auto h100 = kernel::calibrate(*constants, fixtures::gpu("h100"));
  EXPECT_NEAR(h100.decode_attention.values.bandwidth_efficiency, 0.87, 0.005);
  EXPECT_EQ(h100.decode_attention.values.fixed, h100.decode_attention.values.floor);
  // The rest is the built-in column's.
  const auto before = kernel::calibrate(kernel::builtin_constants(), fixtures::gpu("h100"));
  EXPECT_EQ(h100.gemm_16bit.values.bandwidth_efficiency,
            before.gemm_16bit.values.bandwidth_efficiency);
}

TEST(FitKernels, MeetsItsTargetsOnMeasuredTables) {
  const std::string folder = (test::shared_dir() / "kernels/aiconfigurator").string();
  if (!std::filesystem::is_directory(folder)) {
    GTEST_SKIP() << folder << " is not there";
  }
  auto tables = read_tables(folder);
  ASSERT_TRUE(tables.has_value()) << core::to_string(tables.error().front());
  // Blackwell's kernels are others than those of the four GPUs before it: apart, below.
  std::erase_if(*tables, [](const SampleTable& table) { return table.gpu.name == "b200"; });
  const auto fits = fit_kernels(*tables,
                                {.search_rows = 300,
                                 .versions = {{"", "0.22.0"},
                                              {"gemm_8bit", "0.24.0"},
                                              {"gemm_8bit_block", "0.19.0"},
                                              {"decode_attention_8bit", "0.24.0"},
                                              {"experts_weight_only", "0.24.0"},
                                              {"experts_mxfp4", "0.24.0"}},
                                 .threads = 2});
  // Medians in sample. A fit on 300 rows may be half a percent worse than one on all.
  const std::map<std::string_view, double> targets = {{"gemm_16bit", 0.055},
                                                      {"gemm_8bit", 0.07},
                                                      {"decode_attention", 0.035},
                                                      {"decode_attention_8bit", 0.04},
                                                      {"prefill_attention", 0.06},
                                                      {"experts_16bit_coarse", 0.06},
                                                      {"experts_8bit_coarse", 0.06},
                                                      {"experts_16bit_fine", 0.06},
                                                      {"experts_8bit_fine", 0.06},
                                                      {"experts_weight_only", 0.06},
                                                      {"experts_mxfp4", 0.05},
                                                      {"gemm_8bit_block", 0.09},
                                                      {"gemm_8bit_deep_gemm", 0.06},
                                                      {"experts_8bit_block", 0.06},
                                                      {"all_reduce", 0.03}};
  std::size_t checked = 0;
  for (const OperatorFit& fit : fits) {
    const auto target = targets.find(fit.of->key);
    if (target != targets.end() && fit.gpu != "generic") {
      EXPECT_LT(fit.in_sample.median, target->second) << fit.of->key << " " << fit.gpu;
      ASSERT_TRUE(fit.left_out.has_value());
      ++checked;
      // What it would get without a column: 10 %, 15 % of prefill attention; a search on few rows
      // may miss by two more. Block FP8 of Ada is Triton's, of Hopper CUTLASS'; its few experts in
      // FP8 are 14 % off.
      const bool apart =
          (target->first.ends_with("_block") || target->first == "experts_8bit_coarse") &&
          fit.gpu == "l40s";
      EXPECT_TRUE(apart ||
                  fit.left_out->median < (target->first == "prefill_attention" ? 0.15 : 0.12))
          << fit.of->key << " " << fit.gpu << " " << fit.left_out->median;
    }
  }
  EXPECT_GE(checked, 45U);
}

TEST(FitKernels, MeetsItsTargetsOnBlackwell) {
  const std::string folder = (test::shared_dir() / "kernels/aiconfigurator").string();
  if (!std::filesystem::is_directory(folder)) {
    GTEST_SKIP() << folder << " is not there";
  }
  auto tables = read_tables(folder);
  ASSERT_TRUE(tables.has_value()) << core::to_string(tables.error().front());
  std::erase_if(*tables, [](const SampleTable& table) { return table.gpu.name != "b200"; });
  const auto fits = fit_kernels(*tables,
                                {.search_rows = 300,
                                 .versions = {{"", "0.22.0"},
                                              {"prefill_attention", "0.24.0"},
                                              {"experts_weight_only", "0.24.0"}},
                                 .threads = 2});
  const std::map<std::string_view, double> targets = {{"gemm_16bit", 0.06},
                                                      {"gemm_8bit", 0.075},
                                                      {"gemm_8bit_block", 0.065},
                                                      {"gemm_nvfp4", 0.065},
                                                      {"decode_attention", 0.03},
                                                      {"decode_attention_8bit", 0.03},
                                                      {"prefill_attention", 0.06},
                                                      {"experts_16bit_fine", 0.065},
                                                      {"experts_8bit_fine", 0.065},
                                                      {"experts_8bit_block", 0.08},
                                                      {"experts_nvfp4", 0.065},
                                                      {"experts_mxfp4_mxfp8", 0.08},
                                                      {"experts_weight_only", 0.05},
                                                      {"all_reduce", 0.04}};
  std::size_t checked = 0;
  for (const OperatorFit& fit : fits) {
    if (const auto target = targets.find(fit.of->key); target != targets.end()) {
      EXPECT_LT(fit.in_sample.median, target->second) << fit.of->key;
      ++checked;
    }
  }
  EXPECT_EQ(checked, targets.size());
}

}  // namespace
}  // namespace ridgeline::latency::fit
