#include "latency/fit/read_tables.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "latency/fit/samples.hpp"
#include "latency/fit/table_rows.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::fit {
namespace {

using testing::HasSubstr;

std::vector<Sample> sound(std::string_view text,
                          TableKind kind,
                          TableSource source = TableSource::kAiconfigurator) {
  const auto samples = read_samples(text, "t.csv", kind, source);
  EXPECT_TRUE(samples.has_value()) << core::to_string(samples.error().front());
  return samples.value_or(std::vector<Sample>());
}

std::string refused(std::string_view text,
                    TableKind kind,
                    TableSource source = TableSource::kAiconfigurator) {
  const auto samples = read_samples(text, "t.csv", kind, source);
  EXPECT_FALSE(samples.has_value());
  return samples ? std::string() : core::to_string(samples.error().front());
}

TEST(FitTables, GemmRowsInMilliseconds) {
  const auto samples = sound(
      "gemm_dtype,m,n,k,latency\nbfloat16,16,4096,8192,0.5\nfp8,1,64,32,0.25\nint4_wo,1,2,3,1\n",
      TableKind::kGemm);
  ASSERT_EQ(samples.size(), 2U);
  const auto& call = std::get<GemmCall>(samples[0].call);
  EXPECT_EQ(call.shape.m, 16);
  EXPECT_EQ(call.shape.n, 4096);
  EXPECT_EQ(call.shape.k, 8192);
  EXPECT_EQ(samples[0].time.value(), 0.5e-3);
  EXPECT_EQ(std::get<GemmCall>(samples[1].call).weights, model::DType::kFp8);
}

TEST(FitTables, GemmRowsNameTheKernelOfFp8InBlocks) {
  const auto samples = sound(
      "gemm_dtype,m,n,k,kernel_source,latency\n"
      "fp8_block,64,4096,8192,DeepGemmFp8BlockScaledMMKernel,0.5\n"
      "fp8_block,8,4096,8192,FlashInferFp8BlockScaledMMKernel,0.5\n"
      "fp8_block,64,4096,8192,CutlassFp8BlockScaledMMKernel,0.5\n",
      TableKind::kGemm);
  ASSERT_EQ(samples.size(), 3U);
  const auto source = [&](std::size_t i) { return std::get<GemmCall>(samples[i].call).source; };
  EXPECT_EQ(source(0), BlockGemmSource::kDeepGemm);
  EXPECT_EQ(source(1), BlockGemmSource::kFlashInfer);
  EXPECT_EQ(source(2), BlockGemmSource::kDefault);
}

TEST(FitTables, DecodeRowsCountTheContextBeforeTheStep) {
  // 3 sequences at step 5 after 100 tokens: 104 tokens are cached. 0 KV heads: one per query head.
  const auto samples = sound(
      "batch_size,isl,num_heads,num_key_value_heads,head_dim,attn_dtype,kv_cache_dtype,step,"
      "window_size,latency\n"
      "3,100,32,0,128,bfloat16,bfloat16,5,0,1\n"
      "3,100,32,8,128,bfloat16,bfloat16,5,128,1\n"
      "3,100,32,8,128,fp8,fp8,5,0,1\n",
      TableKind::kDecodeAttention);
  ASSERT_EQ(samples.size(), 1U);
  const auto& call = std::get<DecodeAttentionCall>(samples[0].call);
  EXPECT_EQ(call.call.context, 3 * 104);
  EXPECT_EQ(call.call.tokens, 3);
  EXPECT_EQ(call.shape.kv_heads, 32);
}

TEST(FitTables, PrefillRowsOfTheProfilerHaveAPast) {
  const auto samples =
      sound("dtype,heads,kv_heads,head_dim,batch,past,new,latency_us\nbf16,32,8,128,2,1000,10,7\n",
            TableKind::kPrefillAttention,
            TableSource::kProfiler);
  ASSERT_EQ(samples.size(), 1U);
  const auto& call = std::get<PrefillAttentionCall>(samples[0].call);
  EXPECT_EQ(call.call.chunks, 2);
  EXPECT_EQ(call.call.kv_tokens, 2 * 1010);
  EXPECT_EQ(call.call.longest, 1010);
  // n * p + n^2 / 2 of each.
  EXPECT_EQ(call.call.pairs, 2 * (10.0 * 1000 + 50));
  EXPECT_DOUBLE_EQ(samples[0].time.value(), 7e-6);
}

TEST(FitTables, ExpertRowsAreOfOneRank) {
  const auto samples = sound(
      "moe_dtype,distribution,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,"
      "moe_ep_size,latency\n"
      "bfloat16,power_law_1.01,7,4096,1536,8,128,4,2,1\n"
      "bfloat16,balanced,7,4096,1536,8,128,4,2,1\n",
      TableKind::kExperts);
  ASSERT_EQ(samples.size(), 1U);
  const auto& call = std::get<ExpertCall>(samples[0].call);
  EXPECT_EQ(call.shape.width, 384);
  EXPECT_EQ(call.shape.experts_on_rank, 64);
  EXPECT_EQ(call.tensor_parallel, 4);
}

/// How many experts have a token is in the bytes that the profiler counts. 16 tokens of 4 experts
/// each, 64 pairs, 10 experts hit: up 64*(2*512 + 4*256) + activation 64*6*256 + down
/// 64*(2*256 + 2*512) + sum 2*(64 + 16)*512 bytes of activations in BF16, and 10*3*512*256*2 of
/// weights. In FP8 rows of products are read in one byte: 64*(512 + 256) less; 11 experts.
TEST(FitTables, ProfiledExpertsAreWholeLayersOfAllExperts) {
  const std::int64_t activations = 131'072 + 98'304 + 98'304 + 81'920;
  const std::int64_t bf16 = activations + 7'864'320;
  const std::int64_t fp8 = activations - 49'152 + 4'325'376;
  const auto samples =
      sound(fmt::format("dtype,part,hidden,width,experts,local_experts,top_k,tokens,routing,bytes,"
                        "latency_us\n"
                        "bf16,layer,512,256,32,32,4,16,skewed,{0},7\n"
                        "fp8,layer,512,256,32,32,4,16,skewed,{1},8\n"
                        "bf16,up,512,256,32,32,4,16,skewed,{0},3\n"
                        "bf16,layer,512,256,32,4,4,16,skewed,{0},3\n"
                        "fp32,layer,512,256,32,32,4,16,skewed,{0},3\n",
                        bf16,
                        fp8),
            TableKind::kExperts,
            TableSource::kProfiler);
  ASSERT_EQ(samples.size(), 2U);
  const auto& first = std::get<ExpertCall>(samples[0].call);
  EXPECT_EQ(first.experts_hit, 10.0);
  EXPECT_EQ(first.tokens, 16);
  EXPECT_EQ(first.shape.experts_on_rank, 32);
  EXPECT_EQ(first.shape.width, 256);
  EXPECT_FALSE(first.tensor_parallel.has_value());
  EXPECT_DOUBLE_EQ(samples[0].time.value(), 7e-6);
  const auto& second = std::get<ExpertCall>(samples[1].call);
  EXPECT_EQ(second.experts_hit, 11.0);
  EXPECT_EQ(second.shape.weights, model::DType::kFp8);
}

/// One-shot and two-shot kernels and NCCL are all measured at all sizes; vLLM takes one of them.
TEST(FitTables, ProfiledAllReducesAreOfTheWayThatVllmGoes) {
  std::string table = "kind,algorithm,ranks,kibibytes,latency_us\nall_to_all,nccl,2,16384,1\n";
  for (const std::string way : {"nccl", "one_shot", "two_shot"}) {
    const int us = way == "nccl" ? 3 : way == "two_shot" ? 2 : 1;
    for (const std::string call : {"2,4096", "4,256", "4,512", "8,128", "8,256", "8,8192"}) {
      table += fmt::format("all_reduce,{},{},{}\n", way, call, us);
    }
  }
  const auto samples = sound(table, TableKind::kAllReduce, TableSource::kProfiler);
  std::map<std::pair<std::int64_t, double>, double> times;
  for (const Sample& sample : samples) {
    const auto& call = std::get<AllReduceCall>(sample.call);
    times[{call.ranks, call.message.value() / 1024.0}] = std::round(sample.time.value() * 1e6);
  }
  // Two ranks below 8 MiB and small messages in one shot; from 8 MiB on NCCL's.
  const std::map<std::pair<std::int64_t, double>, double> expected = {{{2, 4096.0}, 1.0},
                                                                      {{4, 256.0}, 1.0},
                                                                      {{4, 512.0}, 2.0},
                                                                      {{8, 128.0}, 1.0},
                                                                      {{8, 256.0}, 2.0},
                                                                      {{8, 8192.0}, 3.0}};
  EXPECT_EQ(samples.size(), expected.size());
  EXPECT_EQ(times, expected);
}

TEST(FitTables, MessagesAreElementsOf16Bit) {
  const auto samples =
      sound("num_gpus,message_size,latency,backend\n4,1024,1,vllm_graph\n4,1024,2,vllm_eager\n",
            TableKind::kAllReduce);
  ASSERT_EQ(samples.size(), 1U);
  EXPECT_EQ(std::get<AllReduceCall>(samples[0].call).message.value(), 2048.0);
}

/// PyTorch runs a chunk behind a prefix by a slower kernel than whole prompts, unlike engines.
TEST(FitTables, ProfiledChunksOfAnotherKernelDoNotCount) {
  const std::string header = "dtype,heads,kv_heads,head_dim,batch,past,new,latency_us,kernel\n";
  const auto rows_of_chunk = [&](const std::string& kernel) {
    return read_samples(header + "bf16,8,8,128,1,0,128,9,flash\n" +
                            "bf16,8,8,128,1,0,4096,60,cudnn\n" + "bf16,8,8,128,1,1024,128,30," +
                            kernel + "\n",
                        "t.csv",
                        TableKind::kPrefillAttention,
                        TableSource::kProfiler)
        .value()
        .size();
  };
  EXPECT_EQ(rows_of_chunk("flash"), 2U);
  EXPECT_EQ(rows_of_chunk("cudnn"), 3U);
}

TEST(FitTables, BadCellsAreNamed) {
  EXPECT_THAT(refused("gemm_dtype,m,n,latency\nfp8,1,2,3\n", TableKind::kGemm), HasSubstr("k"));
  const std::string problem =
      refused("gemm_dtype,m,n,k,latency\nfp8,1,2,2000000000,3\n", TableKind::kGemm);
  EXPECT_THAT(problem, HasSubstr("t.csv:2"));
  EXPECT_THAT(problem, HasSubstr("expected at most"));
  EXPECT_THAT(refused("gemm_dtype,m,n,k,latency\nfp8,1,2,4,-3\n", TableKind::kGemm),
              HasSubstr("latency"));
  EXPECT_THAT(refused("", TableKind::kGemm), HasSubstr("t.csv"));
  EXPECT_THAT(refused("kind,algorithm,ranks,latency_us\nall_reduce,nccl,2,3\n",
                      TableKind::kAllReduce,
                      TableSource::kProfiler),
              HasSubstr("kibibytes"));
}

class FitFolder : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_ / "full" / "h100"); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void put(const std::string& name, std::string_view text) const {
    std::ofstream(folder_ / name) << text;
  }
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() /
      ("ridgeline-fit-" +
       std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
};

TEST_F(FitFolder, BothPublishersAreFound) {
  put("h100_sxm_gemm_vllm_0.24.0_gemm_perf.csv", "gemm_dtype,m,n,k,latency\nfp8,1,2,3,4\n");
  put("h100_sxm_comm_nccl_2.27_nccl_perf.csv", "not read\n");
  put("full/h100/gemm.csv", "dtype,m,k,n,latency_us\nbf16,1,2,3,4\n");
  put("full/h100/grouped_gemm.csv",
      "dtype,part,hidden,width,experts,local_experts,top_k,tokens,bytes,latency_us\n"
      "bf16,layer,512,256,32,32,4,16,8273920,7\n");
  put("full/h100/collective.csv",
      "kind,algorithm,ranks,kibibytes,latency_us\nall_reduce,one_shot,2,4,5\n");
  const auto tables = read_tables(folder_.string());
  ASSERT_TRUE(tables.has_value()) << core::to_string(tables.error().front());
  ASSERT_EQ(tables->size(), 4U);
  for (const SampleTable& table : *tables) {
    EXPECT_EQ(table.gpu.name, "h100");
    EXPECT_THAT(table.version, testing::AnyOf("0.24.0", "profiler"));
  }
}

TEST_F(FitFolder, AnUnknownGpuIsNamed) {
  put("h1000_gemm_vllm_0.24.0_gemm_perf.csv", "gemm_dtype,m,n,k,latency\nfp8,1,2,3,4\n");
  const auto tables = read_tables(folder_.string());
  ASSERT_FALSE(tables.has_value());
  EXPECT_THAT(core::to_string(tables.error().front()), HasSubstr("'h1000'"));
}

TEST_F(FitFolder, AnEmptyFolderAndNoneAreRefused) {
  EXPECT_FALSE(read_tables(folder_.string()).has_value());
  EXPECT_FALSE(read_tables((folder_ / "absent").string()).has_value());
}

}  // namespace
}  // namespace ridgeline::latency::fit
