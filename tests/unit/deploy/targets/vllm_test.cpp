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

TEST(VllmTarget, RefusesMoreGpusThanANodeHas) {
  EXPECT_THAT(refusals(resolved_of({{"cluster.instances", "5"}}), kVllmTarget),
              HasSubstr("vllm: 10 GPUs are more than the 8 of a node"));
}

TEST(VllmTarget, RefusesPrefillAndDecodeApart) {
  EXPECT_THAT(refusals(resolved_of({{"cluster.instances", "2"},
                                    {"cluster.disaggregation.prefill_instances", "1"}}),
                       kVllmTarget),
              HasSubstr("needs a proxy between them"));
}

}  // namespace
}  // namespace ridgeline::deploy
