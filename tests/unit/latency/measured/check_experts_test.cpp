#include "latency/measured/check_experts.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "latency/measured/check.hpp"
#include "support/paths.hpp"
#include "unit/latency/measured/table_files.hpp"

namespace ridgeline::latency::measured {
namespace {

using testing::HasSubstr;

const KernelCheck* find_kernel(const TableCheck& check, const std::string& gpu, const char* name) {
  const auto at = std::ranges::find_if(check.kernels, [&](const KernelCheck& kernel) {
    return kernel.gpu == gpu && kernel.kernel == name;
  });
  return at == check.kernels.end() ? nullptr : &*at;
}

std::vector<Finding> findings_of(const TableCheck& check, const std::string& code) {
  std::vector<Finding> found;
  std::ranges::copy_if(check.findings, std::back_inserter(found), [&](const Finding& finding) {
    return finding.code == code;
  });
  return found;
}

/// Latent attention at 500 TFLOP/s of a peak of 989 (MFU 0.5056), by the FLOPs of a pair derived in
/// expert_tables_test; one row is a third slower than its MFU says.
void write_latent(const TableFolder& folder) {
  std::string decode = "dtype,kv_dtype,batch_size,kv_len,latency_us,mfu\n";
  for (const double batch : {16.0, 64.0}) {
    for (const double kv_len : {4096.0, 16384.0}) {
      const double us = batch * kv_len * 278528.0 / 500e12 * 1e6;
      decode += fmt::format("bf16,bf16,{},{},{:.4f},{:.4f}\n",
                            batch,
                            kv_len,
                            batch == 64.0 && kv_len == 4096.0 ? us * 4 / 3 : us,
                            500.0 / 989.0);
    }
  }
  folder.write("mla/decode/h100/128-512-64.csv", decode);
  std::string prefill = "dtype,seq_len,latency_us,mfu\n";
  for (const double length : {1024.0, 8192.0}) {
    prefill += fmt::format("bf16,{},{:.4f},{:.4f}\n",
                           length,
                           length * length * 81920.0 / 2.0 / 500e12 * 1e6,
                           500.0 / 989.0);
  }
  folder.write("mla/prefill/h100/128-128-64.csv", prefill);
}

TEST(CheckLatentAttention, FindsPeakAndOddRow) {
  const TableFolder folder;
  write_latent(folder);
  folder.write("dsa/h100/readme.txt", "");
  const auto check = check_tables(folder.path()).value();
  EXPECT_TRUE(check.refused.empty()) << all_errors(check.refused);
  const auto* decode = find_kernel(check, "h100", "decode latent attention");
  ASSERT_NE(decode, nullptr);
  EXPECT_NEAR(decode->convention.peak.middle(), 989.0, 1.0);
  EXPECT_EQ(decode->convention.agreeing, 3U);
  const auto* prefill = find_kernel(check, "h100", "prefill latent attention");
  ASSERT_NE(prefill, nullptr);
  EXPECT_EQ(prefill->convention.name, "causal half, all heads");
  EXPECT_NEAR(prefill->convention.peak.middle(), 989.0, 1.0);
  const auto odd = findings_of(check, "impossible-row");
  ASSERT_EQ(odd.size(), 1U);
  EXPECT_EQ(odd.front().line, 4);
  ASSERT_EQ(findings_of(check, "not-read").size(), 1U);
  EXPECT_THAT(findings_of(check, "not-read").front().file, HasSubstr("dsa"));
}

// 8 experts of 100 tokens, 1000 x 500 up (twice) and down: 2*8*100*1000*1000 and half of it. At
// 10 us and MFU 0.5 the first means a peak of 1.6e9/10us/0.5 = 320 TFLOP/s; 5 us below the same.
TEST(CheckGroupedGemms, StateThePeakOfTheMedianRow) {
  const TableFolder folder;
  folder.write("grouped_gemm/decode/h20/data.csv",
               "num_experts,num_gpus,num_local_experts,topk,hidden_size,intermediate_size,"
               "batch_size_per_gpu,tokens_per_expert,up_proj_us,up_mfu,down_proj_us,down_mfu\n"
               "8,1,8,2,1000,500,400,100,10,0.5,5,0.5\n"
               "8,1,8,2,1000,500,800,200,20,0.5,10,0.5\n");
  const auto check = check_tables(folder.path()).value();
  const auto* kernel = find_kernel(check, "h20", "decode grouped gemm");
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(kernel->rows, 2U);
  EXPECT_NEAR(kernel->convention.peak.middle(), 320.0, 1e-9);
  EXPECT_EQ(kernel->convention.agreeing, 2U);
  EXPECT_THAT(findings_of(check, "drawn-tokens").front().message, HasSubstr("320 TFLOP/s"));
}

// Peaks of the data sheets: 148 of BF16 and 296 of FP8 on the H20, 989 on the H800.
TEST(CheckLatentAttention, OfThePublishedTables) {
  const auto shared = test::shared_dir() / "kernels" / "infersim";
  if (!std::filesystem::is_directory(shared)) {
    GTEST_SKIP() << "no " << shared;
  }
  const auto check = check_tables(shared.string()).value();
  EXPECT_THAT(all_errors(check.refused), testing::Not(HasSubstr("/mla/")));
  EXPECT_THAT(all_errors(check.refused), testing::Not(HasSubstr("/grouped_gemm/")));
  const auto peak = [&](const char* gpu, const char* name) {
    const auto* kernel = find_kernel(check, gpu, name);
    return kernel == nullptr ? 0.0 : kernel->convention.peak.middle();
  };
  EXPECT_NEAR(peak("h20", "decode latent attention"), 148.0, 0.2);
  EXPECT_NEAR(peak("h800", "decode latent attention"), 989.0, 1.0);
  EXPECT_NEAR(peak("h800", "prefill latent attention"), 989.0, 1.5);
  EXPECT_NEAR(peak("h20", "prefill grouped gemm"), 296.0, 15.0);
}

}  // namespace
}  // namespace ridgeline::latency::measured
