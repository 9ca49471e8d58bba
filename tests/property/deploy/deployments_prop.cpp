// Random deployments, for every target: each flag of each file exists in that version of vLLM, the
// GPUs of the files are those of the plan, and a file that is read gives the scenario that it was
// written from. By default one version of vLLM each, with RIDGELINE_ALL_VERSIONS all eight whose
// flags are known.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/result.hpp"
#include "deploy/deployment.hpp"
#include "deploy/layout.hpp"
#include "deploy/read.hpp"
#include "deploy/registry.hpp"
#include "deploy/targets.hpp"
#include "document/document.hpp"
#include "scenario/digest.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "support/paths.hpp"

namespace ridgeline::deploy {
namespace {

constexpr auto kVersions = std::to_array<std::string_view>(
    {"0.8.5", "0.9.2", "0.11", "0.13", "0.15", "0.18", "0.20", "0.27"});

using Overrides = std::vector<scenario::Override>;

/// The flags of vLLM's versions; empty where the measured data are not there.
std::set<std::string, std::less<>> known_flags(std::string_view version) {
  const std::filesystem::path path = test::shared_dir() / "schemas" / "vllm-serve-flags.json";
  if (!std::filesystem::exists(path)) {
    return {};
  }
  static const auto kDocument = document::read_document(path.string());
  std::set<std::string, std::less<>> names;
  for (const document::Node& flag : kDocument->find("flags")->find(version)->items()) {
    names.insert(flag.as_string());
  }
  return names;
}

/// Words of a file that begin with two dashes, without its comments and values.
std::set<std::string> flags_in(const std::string& text) {
  std::set<std::string> flags;
  std::size_t line = 0;
  while (line < text.size()) {
    const std::size_t end = std::min(text.find('\n', line), text.size());
    const std::string_view content(text.data() + line, end - line);
    line = end + 1;
    if (content.starts_with('#')) {
      continue;
    }
    for (std::size_t at = content.find("--"); at != std::string_view::npos;
         at = content.find("--", at + 2)) {
      const bool begins =
          at == 0 || std::string_view(" '\"").find(content[at - 1]) != std::string_view::npos;
      std::size_t stop = at + 2;
      while (
          stop < content.size() &&
          (std::isalnum(static_cast<unsigned char>(content[stop])) != 0 || content[stop] == '-')) {
        ++stop;
      }
      if (begins && stop > at + 2) {
        flags.emplace(content.substr(at, stop - at));
      }
    }
  }
  return flags;
}

/// Flags of docker and Dynamo, not of vLLM.
constexpr auto kOfOthers = std::to_array<std::string_view>({"--rm",
                                                            "--gpus",
                                                            "--ipc",
                                                            "--network",
                                                            "--entrypoint",
                                                            "--disaggregation-mode",
                                                            "--router-mode"});

template <class T>
T pick(const std::vector<T>& values) {
  return *rc::gen::elementOf(values);
}

/// One deployment in so many states a given setting: with more, most are refused for one of them.
constexpr int kOneIn = 8;

void maybe(Overrides& overrides, const char* path, const std::vector<std::string>& values) {
  if (*rc::gen::inRange(0, kOneIn) == 0) {
    overrides.push_back({path, pick(values)});
  }
}

/// A deployment, but for its version and router.
Overrides random_deployment() {
  Overrides all = {{"model",
                    pick<std::string>(
                        {"llama-3.1-8b", "llama-3.3-70b-fp8", "qwen3-30b-a3b-fp8", "gpt-oss-20b"})},
                   {"gpu", pick<std::string>({"h100", "h200", "b200"})},
                   {"engine.tensor_parallel_size", pick<std::string>({"1", "2", "4", "8"})},
                   {"workload.request_rate", "2"},
                   {"workload.input_len", "100"},
                   {"workload.output_len",
                    pick<std::string>({"10", "{distribution: uniform, min: 5, max: 15}"})}};
  maybe(all, "engine.max_num_seqs", {"1", "64", "300"});
  maybe(all, "engine.max_num_batched_tokens", {"2048", "8192", "16384"});
  maybe(all, "engine.max_model_len", {"1024", "4096"});
  maybe(all, "engine.gpu_memory_utilization", {"0.85", "0.93"});
  maybe(all, "engine.enable_prefix_caching", {"true", "false"});
  maybe(all, "engine.async_scheduling", {"true", "false"});
  maybe(all, "engine.kv_cache_dtype", {"auto", "fp8"});
  maybe(all, "engine.block_size", {"16", "32"});
  maybe(all, "engine.pipeline_parallel_size", {"1", "2"});
  maybe(all, "engine.data_parallel_size", {"1", "2"});
  maybe(all, "engine.enable_expert_parallel", {"true", "false"});
  maybe(all, "engine.enforce_eager", {"true", "false"});
  maybe(all, "engine.scheduling_policy", {"fcfs", "priority"});
  maybe(all, "engine.long_prefill_token_threshold", {"0", "512"});
  maybe(all, "engine.max_cudagraph_capture_size", {"128", "1024"});
  maybe(all, "engine.cudagraph_mode", {"FULL_DECODE_ONLY", "PIECEWISE"});
  maybe(all, "engine.fuse_allreduce_rms", {"true", "false"});
  maybe(all, "engine.fuse_attn_quant", {"true", "false"});
  maybe(all, "engine.disable_custom_all_reduce", {"true", "false"});
  maybe(all, "engine.use_deep_gemm", {"true", "false"});
  maybe(all, "engine.allreduce_use_symm_mem", {"true", "false"});
  maybe(all, "engine.float32_matmul_precision", {"high", "highest"});
  maybe(all, "engine.sampler", {"sort", "flashinfer"});
  maybe(all, "engine.generation_config", {"auto", "vllm"});
  maybe(all, "engine.quantization", {"fp8"});
  maybe(all, "engine.dtype", {"bfloat16"});
  maybe(all, "engine.performance_mode", {"throughput", "interactivity"});
  maybe(all, "engine.watermark", {"0.01"});
  maybe(all, "engine.scheduler_reserve_full_isl", {"true", "false"});
  maybe(all, "engine.num_gpu_blocks", {"5000"});
  maybe(all,
        "engine.speculative_config",
        {"{method: ngram, num_speculative_tokens: 2, acceptance: [0.6, 0.5]}"});
  maybe(all, "slo.ttft", {"500ms"});
  maybe(all, "set", {"hardware.power_watts=500"});
  if (*rc::gen::inRange(0, kOneIn) == 0) {
    all.push_back({"engine.enable_lora", "true"});
    all.push_back({"engine.max_loras", "4"});
  }
  return all;
}

std::optional<scenario::Resolved> resolve(const Overrides& overrides) {
  auto loaded = scenario::load_scenario(std::nullopt, overrides, scenario::Purpose::kRun);
  if (!loaded) {
    return std::nullopt;
  }
  auto resolved = scenario::resolve(std::move(*loaded));
  return resolved ? std::optional(std::move(*resolved)) : std::nullopt;
}

std::string digest_of(const document::Node& scenario) {
  auto loaded = scenario::read_scenario(scenario, {}, scenario::Purpose::kLook);
  RC_ASSERT(loaded.has_value());
  auto resolved = scenario::resolve(std::move(*loaded));
  RC_ASSERT(resolved.has_value());
  return scenario::scenario_digest(resolved->scenario());
}

/// Whether a file of the deployment is one that is read back.
bool is_read(std::string_view name) {
  static constexpr auto kRead = std::to_array<std::string_view>({"serve.sh",
                                                                 "run.sh",
                                                                 "compose.yaml",
                                                                 "deployment.yaml",
                                                                 "values.yaml",
                                                                 "dynamo.yaml",
                                                                 "kserve.yaml",
                                                                 "launch.sh"});
  return std::ranges::find(kRead, name) != kRead.end();
}

void check_files(const std::vector<File>& files,
                 std::string_view version,
                 const std::string& digest) {
  const auto known = known_flags(version);
  bool any = false;
  for (const File& file : files) {
    if (!is_read(file.name)) {
      continue;
    }
    any = true;
    for (const std::string& flag : flags_in(file.text)) {
      const bool is_others = std::ranges::find(kOfOthers, flag) != kOfOthers.end();
      const std::string plain = flag.starts_with("--no-") ? "--" + flag.substr(5) : flag;
      if (!known.empty() && !is_others && !known.contains(plain)) {
        RC_FAIL(fmt::format("{} of {} is not in vLLM {}", flag, file.name, version));
      }
    }
    const auto read = scenario_in(file.text, file.name);
    if (!read) {
      RC_FAIL(
          fmt::format("{}: {}\n{}", file.name, core::to_string(read.error().front()), file.text));
    }
    RC_ASSERT(read->has_value());
    if (digest_of((*read)->scenario) != digest) {
      RC_FAIL(fmt::format("{} gives another scenario:\n{}", file.name, file.text));
    }
  }
  RC_ASSERT(any);
}

/// What a target has to refuse, it refuses with a reason; all others have sound files.
bool check_target(const Target& target, Overrides overrides, std::string_view version) {
  overrides.push_back({"engine.version", fmt::format("vllm@{}", version)});
  if (*rc::gen::inRange(0, 2) == 0) {
    overrides.push_back({"cluster.instances", "4"});
    overrides.push_back({"cluster.router.name", std::string(target.abilities.routers.front())});
    if (!target.abilities.systems.empty() && *rc::gen::inRange(0, 2) == 0) {
      overrides.push_back({"cluster.disaggregation.prefill_instances", "1"});
      overrides.push_back(
          {"cluster.disaggregation.name", std::string(target.abilities.systems.front())});
    }
  }
  const auto resolved = resolve(overrides);
  if (!resolved) {
    return false;  // Does not fit, or two settings that exclude each other.
  }
  const Input input{.resolved = *resolved, .ridgeline = "0"};
  const auto layout = layout_of(input, target.abilities);
  if (!layout) {
    for (const core::Error& error : layout.error()) {
      if (error.code == core::ErrorCode::kInternal || error.field.empty()) {
        RC_FAIL(core::to_string(error));
      }
    }
    return false;
  }
  std::int64_t gpus = 0;
  for (const Role& role : layout->roles) {
    gpus += role.gpus * role.replicas;
  }
  const auto& engine = resolved->deployment->section.engine;
  const std::int64_t ranks = engine.data_parallel_size;
  const std::int64_t instances = resolved->run.cluster.instances.value_or(ranks);
  RC_ASSERT(gpus == instances * engine.tensor_parallel_size * engine.pipeline_parallel_size);
  const Target* const only = &target;
  const auto files = deployment_files(input, {&only, 1});
  RC_ASSERT(files.has_value());
  check_files(*files, version, layout->scenario_digest);
  return true;
}

TEST(Deployments, HaveFlagsOfTheirVersionAndReadBackAsTheScenario) {
  const bool all =
      std::getenv("RIDGELINE_ALL_VERSIONS") != nullptr;  // NOLINT(concurrency-mt-unsafe)
  std::int64_t written = 0;
  const bool holds = rc::check([&] {
    const Overrides overrides = random_deployment();
    const std::size_t only = *rc::gen::inRange<std::size_t>(0, kVersions.size());
    for (std::size_t i = 0; i < kVersions.size(); ++i) {
      if (!all && i != only) {
        continue;
      }
      for (const Target* target : targets()) {
        written +=
            target->abilities.engine == "vllm" && check_target(*target, overrides, kVersions[i])
                ? 1
                : 0;
      }
    }
  });
  EXPECT_TRUE(holds);
  RecordProperty("written", fmt::format("{}", written));
  fmt::print("{} deployments written and read back\n", written);
  EXPECT_GT(written, 100);
}

}  // namespace
}  // namespace ridgeline::deploy
