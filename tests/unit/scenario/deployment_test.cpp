#include "scenario/deployment.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "domain/step.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"
#include "scenario/engine_formats.hpp"
#include "scenario/option_reader.hpp"
#include "scenario/options.hpp"
#include "scenario/requests.hpp"
#include "scenario/scenario.hpp"
#include "unit/scenario/resolving.hpp"

namespace ridgeline::scenario {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// The newest profile is 0.33's: what later versions changed is not known.
TEST(ResolveDeployment, MarksEngineVersionsBeyondTheNewestProfile) {
  const auto codes = [](const char* version) {
    const auto result =
        resolved(with("llama-3.1-8b", "h100", {{.path = "engine.version", .text = version}}));
    std::string text;
    for (const auto& warning : result ? (*result)->warnings : core::Warnings()) {
      text += warning.code + " " + warning.message;
    }
    return result ? text : "refused";
  };
  EXPECT_EQ(codes("vllm@0.33"), "");
  EXPECT_EQ(codes("0.27.3"), "");
  EXPECT_THAT(codes("vllm@0.34"),
              testing::AllOf(testing::HasSubstr("W-unmeasured-engine-version"),
                             testing::HasSubstr("beyond vllm@0.33")));
  EXPECT_THAT(codes("vllm@1.2"), testing::HasSubstr("W-unmeasured-engine-version"));
  EXPECT_THAT(codes("tensorrt-llm@9.9"), testing::HasSubstr("W-unmeasured-engine-version"));
  EXPECT_EQ(codes("vllm@0.16"),
            "W-engine-version engine.version vllm@0.16 has no profile of its own: vllm@0.15 is "
            "taken");
  EXPECT_THAT(codes("sglang@0.5.9"), testing::HasSubstr("sglang@0.5.5 is taken"));
}

TEST(ResolveDeployment, AdmissionMayKeepBlocksFreeOrLookAtTheNextChunkAlone) {
  const auto set = resolved(with("llama-3.1-8b",
                                 "h100",
                                 {{"engine.version", "vllm@0.24"},
                                  {"engine.watermark", "0.02"},
                                  {"engine.scheduler_reserve_full_isl", "false"}}));
  ASSERT_TRUE(set) << core::to_string(set.error().front());
  EXPECT_EQ((*set)->engine.profile.watermark, 0.02);
  EXPECT_FALSE((*set)->engine.profile.reserve_full_prompt);
  for (const auto& [path, text] : {std::pair("engine.watermark", "0.02"),
                                   std::pair("engine.scheduler_reserve_full_isl", "true")}) {
    const auto refused = only_error(with("llama-3.1-8b", "h100", {{path, text}}));
    EXPECT_EQ(refused.field, path);
    EXPECT_THAT(refused.message, HasSubstr("does not exist in vllm@0.15"));
  }
}

TEST(ResolveDeployment, WindowsKeepWhatTheVersionsRetentionIntervalSays) {
  constexpr const char* kPath = "engine.prefix_cache_retention_interval";
  const auto interval = [](const char* version, std::optional<const char*> given) {
    std::vector<Override> settings = {{"engine.version", version}};
    if (given) {
      settings.push_back({kPath, *given});
    }
    const auto result = resolved(with("gpt-oss-20b", "h100", settings));
    EXPECT_TRUE(result);
    return (*result)->engine.prefix_cache_retention_interval;
  };
  EXPECT_EQ(interval("vllm@0.24", std::nullopt), std::nullopt);
  EXPECT_EQ(interval("vllm@0.29", std::nullopt), core::Tokens(0));
  EXPECT_EQ(interval("vllm@0.29", "1024"), core::Tokens(1024));
  EXPECT_EQ(interval("vllm@0.29", "-1"), std::nullopt);
  const auto early = only_error(with("gpt-oss-20b", "h100", {{kPath, "0"}}));
  EXPECT_EQ(early.field, kPath);
  EXPECT_THAT(early.message, HasSubstr("is not known of vllm@0.15"));
  // Without effect: no windows beside full attention, or no prefix caching.
  for (const auto& [model, caching] :
       {std::pair("llama-3.1-8b", "true"), std::pair("gpt-oss-20b", "false")}) {
    const auto without = resolved(with(model,
                                       "h100",
                                       {{"engine.version", "vllm@0.29"},
                                        {"engine.enable_prefix_caching", caching},
                                        {kPath, "0"}}));
    ASSERT_TRUE(without);
    EXPECT_TRUE(std::ranges::any_of((*without)->warnings, [&](const core::Warning& warning) {
      return warning.code == "W-ignored-setting" && warning.message.starts_with(kPath);
    })) << model;
  }
}

TEST(ResolveDeployment, SeveralDraftModulesReadAheadFromVersion028On) {
  const auto drafting = [](const char* model, const char* version, const char* tokens) {
    return with(model,
                "h200",
                {{"engine.version", version},
                 {"engine.tensor_parallel_size", "8"},
                 {"engine.max_num_batched_tokens", tokens},
                 {"engine.speculative_config",
                  "{method: mtp, num_speculative_tokens: 3, acceptance: 0.8}"}});
  };
  for (const auto& [model, version, expected] :
       {std::tuple("minimax-m2.5", "vllm@0.28", true),  // Three modules.
        std::tuple("minimax-m2.5", "vllm@0.24", false),
        std::tuple("deepseek-v3", "vllm@0.28", false)}) {
    const auto result = resolved(drafting(model, version, "8192"));
    ASSERT_TRUE(result) << core::to_string(result.error().front());
    EXPECT_EQ((*result)->engine.drafts_read_ahead, expected) << model << " " << version;
  }
  const auto few = only_error(drafting("minimax-m2.5", "vllm@0.28", "2"));
  EXPECT_EQ(few.field, "engine.max_num_batched_tokens");
  EXPECT_THAT(few.message, HasSubstr("need the last 3 tokens of a prompt in one chunk"));
}

TEST(ResolveDeployment, QuantizationIsVllms) {
  const auto online = resolved(with("llama-3.1-8b", "h100", {{"engine.quantization", "fp8"}}));
  ASSERT_TRUE(online) << core::to_string(online.error().front());
  EXPECT_EQ((*online)->network.precision.ffn, model::DType::kFp8);
  EXPECT_EQ((*online)->network.precision.kv, model::DType::kBf16);
  EXPECT_THAT(only_error(with("llama-3.1-8b", "h100", {{"engine.quantization", "awq"}})).message,
              HasSubstr("has no quantization_config"));
  EXPECT_THAT(
      only_error(with("llama-3.1-8b-fp8", "h100", {{"engine.quantization", "gptq"}})).message,
      HasSubstr("already"));
  EXPECT_TRUE(resolved(with("gpt-oss-20b", "h100", {{"engine.quantization", "mxfp4"}})));
  const auto half = resolved(with("llama-3.1-8b", "h100", {{"engine.dtype", "half"}}));
  ASSERT_TRUE(half);
  EXPECT_EQ((*half)->network.precision.attention, model::DType::kFp16);
  const auto plain_cache =
      resolved(with("llama-3.1-70b-fp8",
                    "h200",
                    {{"engine.max_num_seqs", "256"}, {"engine.kv_cache_dtype", "bfloat16"}}));
  ASSERT_TRUE(plain_cache);
  EXPECT_EQ((*plain_cache)->network.precision.kv, model::DType::kBf16);
}

TEST(EngineFormats, TheCacheTakesTheFormatOfItsWord) {
  EngineSection engine;
  model::ModelSpec network;
  network.precision.kv = model::DType::kFp8;
  for (const auto& [word, format] : {std::pair{"auto", model::DType::kFp8},
                                     std::pair{"bfloat16", model::DType::kBf16},
                                     std::pair{"fp8_e4m3", model::DType::kFp8}}) {
    engine.kv_cache_dtype = word;
    set_cache_format(engine, network);
    EXPECT_EQ(network.precision.kv, format) << word;
  }
}

TEST(ResolveDeployment, APatchMayBeAMap) {
  const auto patched = resolved(
      with("llama-3.1-8b", "h100", {{"set", "model.quantization_config={quant_method: fp8}"}}));
  ASSERT_TRUE(patched) << core::to_string(patched.error().front());
  EXPECT_EQ((*patched)->network.precision.ffn, model::DType::kFp8);
  EXPECT_EQ(
      only_error(with("llama-3.1-8b", "h100", {{"set", "model.quantization_config={a: "}})).field,
      "set.model.quantization_config");
  EXPECT_EQ(only_error(with("llama-3.1-8b", "h100", {{"engine.speculative_config", "{a: "}})).field,
            "engine.speculative_config");
}

TEST(ResolveDeployment, UnknownNamesAreAllReportedWithTheNearest) {
  const auto result = resolved(with("llama-3.1-8", "h10", {{"latency.name", "kernal"}}));
  ASSERT_FALSE(result);
  ASSERT_EQ(result.error().size(), 3U);
  EXPECT_THAT(result.error()[0].hint, HasSubstr("llama-3.1-8b"));
  EXPECT_THAT(result.error()[1].hint, HasSubstr("h100"));
  EXPECT_EQ(result.error()[2].field, "latency.name");
  EXPECT_THAT(result.error()[2].hint, HasSubstr("kernel"));
}

TEST(ResolveDeployment, PatchesChangeTheDocuments) {
  const auto result = resolved(
      with("llama-3.1-8b",
           "h100",
           {{"set", "model.num_hidden_layers=40"}, {"set", "hardware.mem_bandwidth=6.7TB/s"}}));
  ASSERT_TRUE(result) << core::to_string(result.error().front());
  EXPECT_EQ((*result)->network.num_layers(), 40);
  EXPECT_EQ((*result)->gpu.mem_bandwidth.value(), 6.7e12);
}

TEST(ResolveDeployment, AGpuWithOtherFactsIsMarkedAsUnmeasured) {
  const auto codes = [](const char* patch) {
    const auto result = resolved(with("llama-3.1-8b", "h100", {{"set", patch}}));
    std::vector<std::string> all;
    for (const auto& warning : result ? (*result)->warnings : core::Warnings()) {
      all.push_back(warning.code + " " + warning.message);
    }
    return all;
  };
  EXPECT_THAT(codes("hardware.mem_bandwidth=6.7TB/s"),
              testing::ElementsAre(testing::AllOf(HasSubstr("W-unmeasured-gpu"),
                                                  HasSubstr("hardware.mem_bandwidth"))));
  EXPECT_THAT(codes("hardware.memory=96GiB"), testing::IsEmpty());
}

TEST(ResolveDeployment, MoreMemoryLeavesMoreToUse) {
  const auto result = resolved(with("llama-3.1-8b", "h100", {{"set", "hardware.memory=160GiB"}}));
  ASSERT_TRUE(result) << core::to_string(result.error().front());
  // Twice 80 GiB, of which 79.19 are usable.
  EXPECT_NEAR(core::as_gibibytes((*result)->gpu.usable_memory), 2 * 79.19, 0.01);
  const auto stated =
      resolved(with("llama-3.1-8b",
                    "h100",
                    {{"set", "hardware.memory=160GiB"}, {"set", "hardware.usable_memory=150GiB"}}));
  ASSERT_TRUE(stated) << core::to_string(stated.error().front());
  EXPECT_NEAR(core::as_gibibytes((*stated)->gpu.usable_memory), 150.0, 0.01);
}

TEST(ResolveDeployment, PatchesOfNothingAreRefusedUnderTheirOwnName) {
  const auto error =
      only_error(with("llama-3.1-8b", "h100", {{"set", "model.num_hidden_layer=40"}}));
  EXPECT_EQ(error.field, "set.model.num_hidden_layer");
  EXPECT_THAT(error.hint, HasSubstr("num_hidden_layers"));
  const auto wrong =
      only_error(with("llama-3.1-8b", "h100", {{"set", "hardware.mem_bandwidth=3"}}));
  EXPECT_EQ(wrong.field, "set.hardware.mem_bandwidth");
}

TEST(ResolveDeployment, SwitchesReachTheParts) {
  const auto result = resolved(with("llama-3.1-8b",
                                    "h100",
                                    {{"engine.kv_cache_dtype", "fp8"},
                                     {"engine.generation_config", "vllm"},
                                     {"engine.enforce_eager", "true"},
                                     {"request_path", "off"}}));
  ASSERT_TRUE(result) << core::to_string(result.error().front());
  EXPECT_EQ((*result)->network.precision.kv, model::DType::kFp8);
  EXPECT_FALSE((*result)->network.sampling.truncates());
  EXPECT_TRUE((*result)->execution.enforce_eager);
  EXPECT_EQ((*result)->path.network, core::Duration());
}

/// A deployment beside others, such as a pool of a cluster: a section of its own.
struct Pool {
  DeploymentSection section;
  std::vector<Provenance> provenance;
};

/// Fills a pool from a flat map whose keys are those of the option table.
Pool pool(std::string_view yaml) {
  Pool pool;
  core::Errors errors;
  const auto map = document::parse_yaml(yaml, "pools.yaml");
  document::ObjectReader reader(*map, "", errors);
  for (const Option& option : options()) {
    Provenance& provenance = pool.provenance.emplace_back();
    provenance.path = option.path;
    const auto slot = slot_of(option, pool.section);
    if (slot && map->find(option.key()) != nullptr) {
      read_option(option, *slot, reader, errors);
      provenance.origin = Provenance::Origin::kFile;
      provenance.where = map->find(option.key())->where();
    }
  }
  reader.finish();
  EXPECT_TRUE(errors.empty()) << core::to_string(errors.front());
  return pool;
}

core::Result<std::shared_ptr<const Deployment>> deployed(const Pool& pool) {
  return resolve_deployment(pool.section, pool.provenance, Workload());
}

TEST(ResolveDeployment, PoolsAreFilledThroughTheSameTable) {
  const auto cut =
      deployed(pool("{model: llama-3.1-8b, gpu: h100, tensor_parallel_size: 2, max_num_seqs: 64}"));
  const auto whole = deployed(pool("{model: llama-3.1-8b, gpu: h100, host_step_time: 1ms}"));
  const auto other = deployed(pool("{model: qwen2.5-7b, gpu: l40s, max_model_len: 4096}"));
  ASSERT_TRUE(cut && whole && other);
  EXPECT_EQ((*cut)->engine.max_num_seqs, 64);
  EXPECT_EQ((*whole)->engine.max_num_seqs, 1024);
  EXPECT_EQ((*whole)->host.per_step, core::Duration::milliseconds(1));
  EXPECT_EQ((*other)->engine.max_model_len, core::Tokens(4096));
  // Each has a memory plan of its own: two GPUs hold half the weights each, and a smaller GPU has
  // fewer blocks.
  EXPECT_NEAR((*cut)->memory.weights / (*whole)->memory.weights, 0.5, 0.01);
  EXPECT_GT((*cut)->engine.num_gpu_blocks, (*whole)->engine.num_gpu_blocks);
  EXPECT_EQ((*other)->memory.usable, (*other)->gpu.usable_memory);
  EXPECT_LT((*other)->memory.usable, (*whole)->memory.usable);
  // And a step-time model of its own, whatever the others are.
  domain::StepBatch batch;
  batch.num_decodes = 8;
  batch.decode_context = core::Tokens(8000);
  EXPECT_LT((*cut)->latency->predict(batch).gpu(), (*whole)->latency->predict(batch).gpu());
  EXPECT_LT((*whole)->latency->predict(batch).gpu(), (*other)->latency->predict(batch).gpu());
}

TEST(ResolveDeployment, TheHostsClassAndRanksAndTheApiProcesses) {
  const auto host_of = [](const std::string& more) {
    const auto deployment =
        deployed(pool("{model: llama-3.1-8b, gpu: h100, host_step_time: 400us, host_rank_time: "
                      "100us, host_sequence_time: 10us, frontend_output_time: 80us" +
                      more + "}"));
    EXPECT_TRUE(deployment);
    return (*deployment)->host;
  };
  const auto plain = host_of("");
  EXPECT_EQ(plain.per_step, core::Duration::microseconds(400));
  EXPECT_EQ(plain.per_answer, core::Duration::microseconds(80));
  const auto slow = host_of(", tensor_parallel_size: 4, host_class: 5");
  EXPECT_EQ(slow.per_step, core::Duration::microseconds(5 * (400 + 3 * 100)));
  EXPECT_EQ(slow.per_sequence, core::Duration::microseconds(50));
  EXPECT_EQ(slow.per_answer, core::Duration::microseconds(80));
  // Ranks wait for each other beside an asynchronous engine's steps.
  EXPECT_EQ(host_of(", tensor_parallel_size: 4, async_scheduling: false").per_step,
            core::Duration::microseconds(400));
  // A part of the front end's work is done in turn.
  EXPECT_NEAR(host_of(", api_server_count: 2, stream_interval: 4").per_answer.to_microseconds(),
              (0.46 + 0.54 / 2) * 80 / 4,
              1e-3);
}

TEST(ResolveDeployment, TimesOfVllmsRanksAndFrontEndAreNamedWhereAnotherEngineRuns) {
  const auto ignored = [](const char* engine, std::vector<Override> more) {
    more.push_back({"engine.version", engine});
    more.push_back({"engine.tensor_parallel_size", "2"});
    const auto found = resolved(with("llama-3.1-8b", "h100", std::move(more)));
    std::vector<std::string> settings;
    EXPECT_TRUE(found) << core::to_string(found.error().front());
    for (const auto& warning : found ? (*found)->warnings : core::Warnings()) {
      if (warning.code == "W-ignored-setting") {
        settings.push_back(warning.message.substr(0, warning.message.find(' ')));
      }
    }
    return settings;
  };
  const std::vector<Override> stated = {{"serving.host_rank_time", "1ms"},
                                        {"serving.frontend_output_time", "75us"},
                                        {"serving.frontend_rescan_time", "1us"},
                                        {"engine.stream_interval", "8"}};
  // What a written configuration repeats of the fitted times.
  const std::vector<Override> standard = {{"serving.host_rank_time", "150us"},
                                          {"serving.frontend_output_time", "70us"},
                                          {"engine.stream_interval", "1"}};
  for (const char* engine : {"sglang", "tensorrt-llm"}) {
    EXPECT_THAT(ignored(engine, stated),
                ElementsAre("serving.host_rank_time",
                            "serving.frontend_output_time",
                            "serving.frontend_rescan_time",
                            "engine.stream_interval"));
    EXPECT_THAT(ignored(engine, {}), IsEmpty());
    EXPECT_THAT(ignored(engine, standard), IsEmpty());
  }
  EXPECT_THAT(ignored("vllm@0.15", stated), IsEmpty());
}

TEST(ResolveDeployment, AnErrorOfAPoolHasThePoolsPlace) {
  const auto refused = deployed(pool("{model: llama-3.1-8b, gpu: l4,\n max_model_len: 131072}"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().front().field, "engine.max_model_len");
  EXPECT_EQ(refused.error().front().where.file, "pools.yaml");
  EXPECT_EQ(refused.error().front().where.line, 2);
}

}  // namespace
}  // namespace ridgeline::scenario
