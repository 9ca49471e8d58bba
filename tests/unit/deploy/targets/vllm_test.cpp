#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "deploy/targets.hpp"
#include "support/deployed.hpp"

namespace ridgeline::deploy {
namespace {

using test::digest_in;
using test::digest_of;
using test::file_of;
using test::refusals;
using test::resolved_of;
using testing::HasSubstr;
using testing::Not;

TEST(VllmTarget, WritesOneCommandForOneReplica) {
  const auto resolved = resolved_of({});
  const std::string text = file_of(resolved, kVllmTarget, "serve.sh");
  EXPECT_THAT(text,
              HasSubstr("#!/usr/bin/env bash\n# nvidia/Llama-3.3-70B-Instruct-FP8 on 1 x 2 h100"));
  EXPECT_THAT(text, HasSubstr("\n# TTFT 1 ms\n"));
  EXPECT_THAT(text, HasSubstr("#: gpu: h100\n"));
  EXPECT_THAT(text,
              HasSubstr("CUDA_VISIBLE_DEVICES=0,1 vllm serve nvidia/Llama-3.3-70B-Instruct-FP8 \\\n"
                        "  --tensor-parallel-size 2 \\\n"));
  EXPECT_THAT(text, HasSubstr("  --max-model-len 8192 \\\n"));
  EXPECT_THAT(text, HasSubstr("  --port 8000\n"));
  EXPECT_EQ(digest_in(text, "serve.sh"), digest_of(resolved));
  EXPECT_EQ(file_of(resolved, kVllmTarget, "nginx.conf"), "");
}

TEST(VllmTarget, GivesReplicasGpusAndPortsOfTheirOwn) {
  const auto resolved =
      resolved_of({{"cluster.instances", "3"}, {"cluster.router.name", "least-request"}});
  const std::string text = file_of(resolved, kVllmTarget, "serve.sh");
  EXPECT_THAT(text, HasSubstr("CUDA_VISIBLE_DEVICES=4,5 vllm serve"));
  EXPECT_THAT(text, HasSubstr("  --port 8003 &\n"));
  EXPECT_THAT(file_of(resolved, kVllmTarget, "nginx.conf"),
              HasSubstr("    least_conn;\n    server 127.0.0.1:8001;\n"));
  EXPECT_EQ(digest_in(text, "serve.sh"), digest_of(resolved));
}

TEST(VllmTarget, GivesEachNodeItsReplicas) {
  const auto resolved = resolved_of({{"cluster.instances", "5"}});
  const std::string text = file_of(resolved, kVllmTarget, "serve.sh");
  EXPECT_THAT(text, HasSubstr("; each resolves node-0 to node-1.\ncase \"${NODE:?"));
  EXPECT_THAT(text, HasSubstr("  --port 8004 &\n\n# The gateway (round-robin), on port 8000."));
  EXPECT_THAT(
      text, HasSubstr(";;\n1)\ntrap 'kill $(jobs -p)' EXIT\nCUDA_VISIBLE_DEVICES=0,1 vllm serve "));
  EXPECT_THAT(text, HasSubstr("  --port 8001 &\nwait -n\n;;\n*)\n"));
  EXPECT_THAT(file_of(resolved, kVllmTarget, "nginx.conf"),
              HasSubstr("    server node-0:8004;\n    server node-1:8001;\n  }"));
  EXPECT_EQ(digest_in(text, "serve.sh"), digest_of(resolved));
}

TEST(VllmTarget, SpreadsAReplicaOverNodes) {
  const auto resolved = resolved_of({{"engine.tensor_parallel_size", "8"},
                                     {"engine.pipeline_parallel_size", "2"},
                                     {"cluster.instances", "2"}});
  const std::string text = file_of(resolved, kVllmTarget, "serve.sh");
  EXPECT_THAT(text,
              HasSubstr("  --nnodes 2 \\\n  --node-rank 0 \\\n  --master-addr node-2 \\\n"
                        "  --port 8001 &\nwait -n\n;;\n3)\ntrap"));
  EXPECT_THAT(text, HasSubstr("  --node-rank 1 \\\n  --master-addr node-2 \\\n  --headless &\n"));
  EXPECT_THAT(text, Not(HasSubstr("DEVICES=8")));
  EXPECT_EQ(digest_in(text, "serve.sh"), digest_of(resolved));
}

TEST(VllmTarget, RefusesAReplicaOverNodesWhereItsVersionCannot) {
  EXPECT_THAT(refusals(resolved_of({{"engine.tensor_parallel_size", "8"},
                                    {"engine.pipeline_parallel_size", "2"},
                                    {"engine.version", "vllm@0.11"}}),
                       kVllmTarget),
              HasSubstr("vllm: a replica of 16 GPUs spans 2 nodes of 8, and vLLM 0.11 has no "
                        "--nnodes"));
}

TEST(VllmTarget, RefusesPrefillAndDecodeApart) {
  EXPECT_THAT(refusals(resolved_of({{"cluster.instances", "2"},
                                    {"cluster.disaggregation.prefill_instances", "1"}}),
                       kVllmTarget),
              HasSubstr("needs a proxy between them"));
}

}  // namespace
}  // namespace ridgeline::deploy
