#include "verbs/list_roadmap.hpp"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/node_builder.hpp"
#include "engine/schedulers.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "scenario/options.hpp"
#include "verbs/list_choices.hpp"

namespace ridgeline::verbs {
namespace {

using document::MapBuilder;

constexpr std::int64_t kMillion = 1'000'000;
constexpr std::string_view kWorks = "works";
constexpr std::string_view kInPart = "in part";
constexpr std::string_view kMissing = "missing";

Choice item(std::string_view name,
            std::string_view status,
            const std::string& what,
            std::string_view command) {
  return {.name = std::string(name),
          .summary = fmt::format("{}: {}", status, what),
          .facts = MapBuilder().add("status", status).add("command", command).build().members()};
}

/// Names that begin with one of the words.
std::vector<std::string> beginning_with(const std::vector<std::string>& names,
                                        std::initializer_list<std::string_view> words) {
  std::vector<std::string> found;
  for (const std::string& name : names) {
    if (std::ranges::any_of(words, [&](std::string_view word) { return name.starts_with(word); })) {
      found.push_back(name);
    }
  }
  return found;
}

Choice of_gpu(std::string_view name, std::string_view word, std::string_view command) {
  const auto found = beginning_with(hardware::catalogue_names(), {word});
  return found.empty() ? item(name, kMissing, "no such GPU in the catalogue", "")
                       : item(name,
                              kWorks,
                              fmt::format("{} in the catalogue", fmt::join(found, ", ")),
                              command);
}

Choice of_engine(std::string_view name, std::initializer_list<std::string_view> words) {
  std::vector<std::string> names;
  for (const auto& engine : engine::engine_names()) {
    names.push_back(engine.name);
  }
  const auto found = beginning_with(names, words);
  return found.empty() ? item(name, kMissing, "engine profiles are vLLM's", "list engines")
                       : item(name,
                              kWorks,
                              fmt::format("engine profiles {}", fmt::join(found, ", ")),
                              "list engines");
}

/// What an option does, if there is that option.
Choice of_option(std::string_view name,
                 std::string_view path,
                 std::string_view status,
                 std::string_view command) {
  const scenario::Option* option = scenario::find_option(path);
  return option == nullptr
             ? item(name, kMissing, "no option for it", "")
             : item(name, status, fmt::format("--{}: {}", option->flag, option->help), command);
}

Choice of_degree(std::string_view name, std::int64_t degree, std::string_view command) {
  const scenario::Option* option = scenario::find_option("engine.tensor_parallel_size");
  return option != nullptr && option->highest >= static_cast<double>(degree)
             ? item(name,
                    kWorks,
                    fmt::format("--{} up to {}", option->flag, option->highest),
                    command)
             : item(name, kMissing, "fewer GPUs only", "");
}

/// Prefill and decode on instances of their own: an option that says how many.
Choice of_disaggregation(std::string_view name) {
  const auto options = scenario::options();
  const auto found = std::ranges::find_if(options, [](const scenario::Option& option) {
    return option.path.ends_with("prefill_instances");
  });
  return found == options.end()
             ? item(name, kMissing, "one instance serves both phases", "")
             : item(name, kWorks, fmt::format("--{}: {}", found->flag, found->help), "");
}

core::Result<Choice> of_long_contexts(std::string_view name) {
  std::vector<std::string> found;
  for (const std::string& network : model::catalogue_names()) {
    const auto spec = model::find_model(network);
    if (!spec) {
      return core::fail(spec.error());
    }
    if (spec->max_position.value() >= kMillion) {
      found.push_back(network);
    }
  }
  return found.empty()
             ? item(name, kMissing, "no network of the catalogue takes as many tokens", "")
             : item(name,
                    kWorks,
                    fmt::format("{} take a million tokens and more", fmt::join(found, ", ")),
                    "step --model llama-4-scout --gpu h200 --tp 8 --decode 1000000");
}

}  // namespace

ChoiceList list_roadmap() {
  auto long_contexts = of_long_contexts("1M contexts");
  if (!long_contexts) {
    return core::fail(long_contexts.error());
  }
  return std::vector<Choice>{
      of_gpu("A100", "a100", "step --model llama-3.1-8b --gpu a100-80gb --decode 1024x16"),
      of_degree("tp8", 8, "step --model llama-2-70b --gpu h100 --tp 8 --decode 8192"),
      of_engine("SGLang", {"sglang"}),
      of_engine("TensorRT-LLM", {"trtllm", "tensorrt"}),
      of_option("PP",
                "engine.pipeline_parallel_size",
                kWorks,
                "step --model llama-2-70b --gpu h100 --pipeline-parallel-size 2 --decode 8192"),
      of_option("EP",
                "engine.enable_expert_parallel",
                kWorks,
                "step --model qwen3-30b-a3b --gpu h100 --tp 2 --enable-expert-parallel "
                "--decode 1024"),
      of_option("DP",
                "engine.data_parallel_size",
                kInPart,
                "run --model llama-3.1-8b --gpu h100 --data-parallel-size 2 --request-rate 1 "
                "--num-prompts 10 --input-len 100 --output-len 10"),
      of_disaggregation("P/D"),
      of_option("drafts",
                "engine.speculative_config",
                kWorks,
                "step --model llama-3.1-8b --gpu h100 --decode 1024 --speculative-config "
                "{method: ngram, num_speculative_tokens: 2, acceptance: 0.7}"),
      *long_contexts};
}

}  // namespace ridgeline::verbs
