#include "lab/records/record_instances.hpp"

#include <initializer_list>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "lab/records/evidence_words.hpp"
#include "lab/records/experiment_records.hpp"
#include "lab/records/ladder.hpp"
#include "lab/records/request_log.hpp"
#include "lab/tests/unit/records/record_text.hpp"

namespace ridgeline::records {
namespace {

const std::string kApart =
    R"({"prefill": {"instances": 1, "tp": 4}, "decode": {"instances": 3, "tp": 4},
        "transfer": "RDMA, 8 x ConnectX-7 RoCE"})";

Evidence read_instances(const std::string& cluster,
                        const std::string& more = R"("num_gpus": 16, )") {
  const std::string record =
      R"({"id": "f", "model": "Qwen/Qwen3-30B-A3B", "gpu": "H100", "tp": 4, "engine": "vllm", )" +
      more + R"("cluster": )" + cluster +
      R"(, "workload": {"loop": "low load", "input": {"nominal_tokens": 64},
          "output": {"nominal_tokens": 8}},
          "measured": {"ttft_ms": {"mean": 144}, "kv_transfer_ms": 4.5}})";
  return read_record(record);
}

TEST(RecordInstances, InstancesApartHaveTheLinkOfTheirCards) {
  const Evidence evidence = read_instances(kApart);
  ASSERT_EQ(evidence.problem + evidence.refusal, "");
  EXPECT_TRUE(ladder_of(*evidence.fleet).is_apart);
  EXPECT_EQ(stated(evidence, "cluster.instances"), "4");
  EXPECT_EQ(stated(evidence, "cluster.disaggregation.prefill_instances"), "1");
  EXPECT_EQ(stated(evidence, "cluster.kv_transfer.transfer_link"), "rdma");
  // Eight cards of 18 GB/s beside four GPUs.
  EXPECT_EQ(stated(evidence, "cluster.kv_transfer.network_cards"), "host");
  EXPECT_EQ(stated(evidence, "cluster.kv_transfer.transfer_bandwidth"), "144000MB/s");
  EXPECT_EQ(evidence.output.mean, 8.0);
  EXPECT_EQ(evidence.measured.at(Figure::kKvTransfer, Level::kMean), 4.5);
  ASSERT_EQ(evidence.stages.size(), 1U);
  EXPECT_EQ(evidence.stages[0].concurrency, 1);
}

TEST(RecordInstances, ACardForEachGpuIsWhatTheLinkHas) {
  const Evidence four = read_instances(replaced(kApart, "8 x", "4 x"));
  EXPECT_EQ(stated(four, "cluster.kv_transfer.transfer_link"), "rdma");
  EXPECT_EQ(stated(four, "cluster.kv_transfer.network_cards"), "");
  const Evidence unnamed = read_instances(replaced(kApart, "RDMA, 8 x ConnectX-7 RoCE", "rdma"));
  EXPECT_EQ(stated(unnamed, "cluster.kv_transfer.network_cards"), "");
  const Evidence silent = read_instances(
      replaced(kApart, R"("transfer": "RDMA, 8 x ConnectX-7 RoCE")", R"("proxy": "p")"));
  EXPECT_EQ(stated(silent, "cluster.kv_transfer.transfer_link"), "");
  EXPECT_THAT(silent.assumed, testing::Contains(testing::HasSubstr("50 GB/s")));
  EXPECT_EQ(read_instances(replaced(kApart, "RDMA, 8 x ConnectX-7 RoCE", "TCP")).refusal,
            "cluster.transfer: no measured link is like TCP");
}

TEST(RecordInstances, SidesOfDifferentSizesArePools) {
  const Evidence evidence =
      read_instances(replaced(kApart, R"("instances": 3, "tp": 4)", R"("instances": 3, "tp": 2)"),
                     R"("num_gpus": 10, )");
  ASSERT_EQ(evidence.problem + evidence.refusal, "");
  EXPECT_EQ(stated(evidence, "cluster.instances"), "");
  EXPECT_EQ(stated(evidence, "cluster.pools"),
            "[{name: prefill, instances: 1, tensor_parallel_size: 4}, "
            "{name: decode, instances: 3, tensor_parallel_size: 2}]");
  EXPECT_EQ(stated(evidence, "cluster.disaggregation.prefill_instances"), "1");
  // Neither has eight GPUs.
  EXPECT_EQ(stated(evidence, "cluster.kv_transfer.transfer_bandwidth"), "144000MB/s");
  EXPECT_EQ(ladder_of(*evidence.fleet).campaign.instances, 4);
}

TEST(RecordInstances, DataParallelRanksAreInstances) {
  const std::string wide =
      R"({"prefill": {"instances": 1, "tp": 1, "dp": 8, "ep": 8},
          "decode": {"instances": 2, "tp": 1, "dp": 8, "ep": 8}, "transfer": "InfiniBand, 8 x 400 Gb/s"})";
  const Evidence evidence = read_instances(wide, R"("num_gpus": 24, )");
  ASSERT_EQ(evidence.problem + evidence.refusal, "");
  EXPECT_EQ(evidence.tensor_parallel, 1);
  EXPECT_EQ(evidence.data_parallel, 8);
  EXPECT_EQ(evidence.expert_parallel, 8);
  EXPECT_EQ(stated(evidence, "cluster.instances"), "24");
  EXPECT_EQ(stated(evidence, "cluster.disaggregation.prefill_instances"), "8");
  EXPECT_EQ(stated(evidence, "cluster.kv_transfer.network_cards"), "");
  // Two cards for eight ranks.
  const Evidence two = read_instances(replaced(wide, "8 x", "2 x"), "");
  EXPECT_EQ(stated(two, "cluster.kv_transfer.transfer_bandwidth"), "4500MB/s");

  const Evidence behind = read_instances(R"({"instances": 2, "policy": "random"})",
                                         R"("dp": 2, "ep": 8, "num_gpus": 16, )");
  ASSERT_EQ(behind.problem + behind.refusal, "");
  EXPECT_EQ(stated(behind, "cluster.instances"), "4");
}

TEST(RecordInstances, WhatIsNotSimulatedIsRefused) {
  const auto refusal = [](const std::string& prefill, const std::string& decode) {
    return read_instances(R"({"prefill": {"instances": 1, )" + prefill +
                              R"(}, "decode": {"instances": 1, )" + decode + "}}",
                          "")
        .refusal;
  };
  EXPECT_EQ(refusal(R"("tp": 4)", R"("tp": 2, "dp": 2)"),
            "cluster: prefill of tp 4 and dp 1, decode of tp 2 and dp 2: data-parallel ranks are "
            "simulated where both are alike");
  EXPECT_EQ(refusal(R"("tp": 4, "ep": 4)", R"("tp": 4)"),
            "cluster: prefill of ep 4 and decode of ep 1: expert parallelism of one of them is not "
            "simulated");
  EXPECT_EQ(refusal(R"("tp": 1, "ep": 8)", R"("tp": 1, "ep": 8)"),
            "cluster: ep 8 over the 1 GPUs of an instance is not simulated");
}

TEST(RecordInstances, BadValuesAreNamedWithTheirKey) {
  struct Bad {
    std::string cluster;
    std::string found;
  };
  for (const Bad& bad : std::initializer_list<Bad>{
           {R"({"prefill": 1, "decode": {"instances": 1, "tp": 4}})", "cluster.prefill: found"},
           {R"({"prefill": {"instances": 1, "tp": 4}})", "cluster.decode: is missing"},
           {R"({"prefill": {"instances": 1}, "decode": {}})", "cluster.prefill.tp: is missing"},
           {R"({"prefill": {"instances": 1, "tp": 4, "dp": 0}, "decode": {}})",
            "cluster.prefill.dp: found"},
           {replaced(kApart, R"("instances": 3)", R"("instances": 2)"),
            "cluster: 1 instances of 4 GPUs and 2 instances of 4 GPUs are 12, and num_gpus is 16"},
           {replaced(kApart, "8 x", "800 x"), "800 network cards"}}) {
    const Evidence evidence = read_instances(bad.cluster);
    EXPECT_THAT(evidence.problem, testing::HasSubstr(bad.found)) << bad.cluster;
    EXPECT_EQ(evidence.problem.find('\n'), std::string::npos);
  }
  EXPECT_EQ(read_instances(R"({"prefill": {"instances": 2048, "tp": 4, "dp": 4},
                     "decode": {"instances": 1, "tp": 4, "dp": 4}})",
                           "")
                .problem,
            "cluster: 2048 instances of dp 4, expected at most 4096 ranks");
}

}  // namespace
}  // namespace ridgeline::records
