#include "deploy/launch_flags.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "scenario/options.hpp"

namespace ridgeline::deploy {
namespace {

using testing::HasSubstr;

LaunchOptions read(const std::vector<std::string>& words,
                   core::Errors& errors,
                   std::string_view engine = "vllm") {
  LaunchWords launch{.engine = engine, .words = {}};
  for (const std::string& word : words) {
    launch.words.push_back({.text = word, .where = {.file = "x.sh", .line = 3, .column = 1}});
  }
  return read_launch(launch, errors);
}

std::string text_of(const LaunchOptions& launch) {
  std::string text;
  for (const auto& [option, value] : launch.options) {
    text += option + "=" + scenario::flow_text(value) + " ";
  }
  return text;
}

std::string read_text(const std::vector<std::string>& words, std::string_view engine = "vllm") {
  core::Errors errors;
  const std::string text = text_of(read(words, errors, engine));
  EXPECT_TRUE(errors.empty()) << core::to_string(errors.front());
  return text;
}

TEST(LaunchFlags, AreReadInBothForms) {
  EXPECT_EQ(read_text({"--max-num-seqs=64",
                       "--gpu_memory_utilization",
                       "0.9",
                       "--no-enable-prefix-caching",
                       "--port",
                       "8000",
                       "--compilation-config",
                       R"({"pass_config": {"fuse_allreduce_rms": true}})"}),
            "engine.max_num_seqs=64 engine.gpu_memory_utilization=0.9 "
            "engine.enable_prefix_caching=false engine.fuse_allreduce_rms=true ");
  EXPECT_EQ(read_text({"-tp", "4", "-dp=2", "-ep", "-cc", R"({"cudagraph_mode": "NONE"})"}),
            "engine.tensor_parallel_size=4 engine.data_parallel_size=2 "
            "engine.enable_expert_parallel=true engine.cudagraph_mode=NONE ");
}

TEST(LaunchFlags, OldRopeScalingIsAnOverride) {
  const std::string rope = R"({"rope_type": "yarn", "factor": 4.0})";
  EXPECT_EQ(read_text({"--rope-scaling", rope}),
            read_text({"--hf-overrides", "{\"rope_scaling\": " + rope + "}"}));
  EXPECT_THAT(read_text({"--rope-scaling", rope}), HasSubstr("yarn"));
}

TEST(LaunchFlags, AnyUniqueBeginningIsTheFlag) {
  EXPECT_EQ(read_text({"--max-num-batched-token=16k", "--tensor", "2", "--tensor-parallel-s", "4"}),
            "engine.max_num_batched_tokens=16000 engine.tensor_parallel_size=4 ");
  core::Errors errors;
  static_cast<void>(read({"--max-num", "4"}, errors));
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_THAT(errors.front().message, HasSubstr("begins several flags"));
}

TEST(LaunchFlags, MembersOfJsonStandBehindDots) {
  EXPECT_EQ(read_text({"--compilation-config.cudagraph_mode",
                       "PIECEWISE",
                       "-cc.pass_config.fuse_attn_quant=true"}),
            "engine.cudagraph_mode=PIECEWISE engine.fuse_attn_quant=true ");
  EXPECT_THAT(read_text({"--spec-method", "ngram", "--spec-tokens", "3", "-sc.acceptance=0.5"}),
              HasSubstr("method: ngram, num_speculative_tokens: 3"));
}

TEST(LaunchFlags, AnAcceptanceThatIsForcedStays) {
  EXPECT_THAT(read_text({"--speculative-config",
                         R"({"method": "mtp", "num_speculative_tokens": 3,
                             "rejection_sample_method": "synthetic",
                             "synthetic_acceptance_length": 2.25})"}),
              HasSubstr("synthetic_acceptance_length: 2.25}"));
  EXPECT_THAT(read_text({"--speculative-config",
                         R"({"method": "mtp", "num_speculative_tokens": 2,
                             "rejection_sample_method": "synthetic",
                             "synthetic_acceptance_rates": [0.8, 0.4]})"}),
              HasSubstr("synthetic_acceptance_rates: [0.8, 0.4]}"));
}

TEST(LaunchFlags, MembersOfTensorRtLlmsFlagsAreItsSettings) {
  core::Errors errors;
  const auto launch =
      read({"a",
            "--kv_cache_config={\"free_gpu_memory_fraction\": 0.75, \"dtype\": \"fp8\"}",
            "--disaggregation-mode",
            "decode"},
           errors,
           "tensorrt-llm");
  EXPECT_TRUE(errors.empty());
  EXPECT_EQ(launch.role, "decode");
  ASSERT_EQ(launch.options.size(), 2U);
  EXPECT_EQ(launch.options[0].first, "engine.free_gpu_memory_fraction");
  EXPECT_EQ(launch.options[1].first, "engine.kv_cache_dtype");
}

TEST(LaunchFlags, TheNetworkIsTheWordOrItsFlag) {
  core::Errors errors;
  EXPECT_EQ(read({"--trust-remote-code", "a/b", "--tp", "2"}, errors).network.text, "a/b");
  EXPECT_EQ(read({"--model", "a/b"}, errors).network.text, "a/b");
  EXPECT_EQ(read({"a/b", "--model", "c"}, errors).network.text, "a/b");
  EXPECT_EQ(read({"--model-path", "a", "--tp", "2"}, errors, "sglang").network.text, "a");
  EXPECT_TRUE(errors.empty());
}

TEST(LaunchFlags, WhatIsNotModelledIsNamed) {
  core::Errors errors;
  const auto launch =
      read({"a", "--attention-backend", "FLASHINFER", "--max-logprobs", "5"}, errors);
  EXPECT_TRUE(errors.empty());
  ASSERT_EQ(launch.not_modelled.size(), 1U);
  EXPECT_EQ(launch.not_modelled[0].what, "--attention-backend FLASHINFER");
  EXPECT_THAT(launch.not_modelled[0].why, HasSubstr("kernels are priced"));
  EXPECT_EQ(launch.not_modelled[0].where.line, 3);
  ASSERT_EQ(launch.ignored.size(), 1U);
  static_cast<void>(read({"a", "--mamba-block-size", "auto"}, errors));
  EXPECT_TRUE(errors.empty());
  static_cast<void>(read({"a", "--mamba-block-size", "40", "--omni"}, errors));
  EXPECT_EQ(errors.size(), 2U);
}

TEST(LaunchFlags, AnUnknownOneIsAnsweredWithTheNearest) {
  core::Errors errors;
  static_cast<void>(read({"a", "--max-num-sekws", "64", "-xy", "4"}, errors));
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_EQ(errors[0].field, "--max-num-sekws");
  EXPECT_EQ(errors[0].hint, "did you mean --max-num-seqs?");
  EXPECT_EQ(errors[1].field, "-xy");
}

TEST(LaunchFlags, SglangsAreReadByTheirNames) {
  EXPECT_EQ(read_text({"--tp",
                       "4",
                       "--chunked-prefill-size",
                       "-1",
                       "--disable-radix-cache",
                       "--schedule-policy",
                       "lpm",
                       "--ep-size",
                       "4"},
                      "sglang"),
            "engine.tensor_parallel_size=4 engine.chunked_prefill_size=-1 "
            "engine.disable_radix_cache=true engine.schedule_policy=lpm "
            "engine.enable_expert_parallel=true ");
  EXPECT_EQ(
      read_text({"--tp_size", "2", "--max_batch_size", "64", "--max_seq_len=4096"}, "tensorrt-llm"),
      "engine.tensor_parallel_size=2 engine.max_batch_size=64 engine.max_model_len=4096 ");
}

TEST(LaunchFlags, VariablesOfTheEngineAreReadOrNamed) {
  core::Errors errors;
  const auto launch = read_launch({.words = {{.text = "a"}},
                                   .variables = {{.text = "VLLM_USE_DEEP_GEMM=0"},
                                                 {.text = "VLLM_ROCM_USE_AITER=1"},
                                                 {.text = "VLLM_LOGGING_LEVEL=INFO"},
                                                 {.text = "HOME=/home"}}},
                                  errors);
  EXPECT_EQ(text_of(launch), "engine.use_deep_gemm=false ");
  ASSERT_EQ(launch.not_modelled.size(), 1U);
  EXPECT_EQ(launch.not_modelled[0].what, "VLLM_ROCM_USE_AITER=1");
  EXPECT_TRUE(errors.empty());
}

TEST(LaunchFlags, ConnectorsGiveRoles) {
  core::Errors errors;
  const auto role = [&](const std::string& name) {
    return read({"a",
                 "--kv-transfer-config",
                 R"({"kv_connector":"NixlConnector","kv_role":")" + name + "\"}"},
                errors)
        .role;
  };
  EXPECT_EQ(role("kv_producer"), "prefill");
  EXPECT_EQ(role("kv_consumer"), "decode");
  EXPECT_EQ(role("kv_both"), "");
}

TEST(LaunchFlags, OfAConfigFileGiveWayToTheCommandLine) {
  core::Errors errors;
  const std::map<std::string, std::string> files = {
      {"c.yaml", "model: a/b\ntensor-parallel-size: 2\nmax_num_seqs: 8\nenforce-eager: true\n"}};
  const auto launch = read_launch(
      {.words = {{.text = "--config"}, {.text = "c.yaml"}, {.text = "-tp=4"}}, .files = &files},
      errors);
  EXPECT_TRUE(errors.empty());
  EXPECT_EQ(launch.network.text, "a/b");
  EXPECT_EQ(text_of(launch),
            "engine.max_num_seqs=8 engine.enforce_eager=true engine.tensor_parallel_size=4 ");
}

std::string notes_of(const std::vector<LaunchNote>& notes) {
  std::string text;
  for (const LaunchNote& note : notes) {
    text += note.what + "; ";
  }
  return text;
}

TEST(LaunchFlags, WhatIsOffOrPartlyReadIsNamed) {
  core::Errors errors;
  EXPECT_EQ(notes_of(read({"--no-enable-flashinfer-autotune"}, errors).not_modelled),
            "--enable-flashinfer-autotune off; ");
  EXPECT_EQ(notes_of(read({"--no-disable-hybrid-kv-cache-manager"}, errors).ignored),
            "--disable-hybrid-kv-cache-manager off; ");
  const LaunchOptions sglang = read({"--attention-backend", "triton"}, errors, "sglang");
  EXPECT_EQ(text_of(sglang), "engine.attention_backend=triton ");
  EXPECT_EQ(notes_of(sglang.ignored), "--attention-backend triton; ");
  EXPECT_TRUE(errors.empty());
  read({"--pp-size", "2"}, errors, "sglang");
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_THAT(core::to_string(errors[0]), HasSubstr("--pp-size"));
}

TEST(LaunchFlags, ConnectorsThatAreNotModelledAreRefusedByName) {
  core::Errors errors;
  read({"--kv-transfer-config", R"({"kv_connector": "NixlConnector", "kv_role": "kv_both"})"},
       errors);
  EXPECT_TRUE(errors.empty());
  read({"--kv-transfer-config",
        R"({"kv_connector": "MultiConnector", "kv_role": "kv_both", "kv_connector_extra_config":
            {"connectors": [{"kv_connector": "NixlConnector"}, {"kv_connector": "OwnStore"}]}})"},
       errors);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_THAT(core::to_string(errors[0]), HasSubstr("OwnStore is not modelled"));
}

TEST(LaunchFlags, AVariableAllowsALongerLength) {
  core::Errors errors;
  LaunchWords launch{
      .engine = "vllm",
      .words = {{.text = "--max-model-len", .where = {}}, {.text = "1M", .where = {}}},
      .variables = {{.text = "VLLM_ALLOW_LONG_MAX_MODEL_LEN=1", .where = {}}}};
  EXPECT_EQ(text_of(read_launch(launch, errors)),
            "engine.max_model_len=1048576 set={model.max_position_embeddings: 1048576} ");
  launch.variables[0].text = "VLLM_ALLOW_LONG_MAX_MODEL_LEN=0";
  EXPECT_EQ(text_of(read_launch(launch, errors)), "engine.max_model_len=1048576 ");
}

}  // namespace
}  // namespace ridgeline::deploy
