#include "cluster/disaggregation/registry.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cluster/disaggregation/deciders/deciders.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "document/reader.hpp"

namespace ridgeline::disaggregation {
namespace {

// One entry per decider.
constexpr auto kDeciders = std::to_array<DeciderEntry>({
    {.name = "never",
     .summary = "every prompt is computed where its answer is",
     .source = "every system",
     .make = make_never},
    {.name = "always",
     .summary = "every prompt is computed apart",
     .source = "every system",
     .make = make_always},
    {.name = "prefix-based-pd-decider",
     .summary = "apart from so many tokens on that the decode instance does not hold",
     .source = "llm-d-router ebab687 (August 2026)",
     .make = make_prefix_based,
     .defaults = {.non_cached_tokens = core::Tokens(16)},
     .reads_non_cached_tokens = true,
     .reads_min_prompt_tokens = true},
    {.name = "isl-bounding",
     .summary = "stays where few tokens, and a small share of the prompt, are left to compute",
     .source = "NVIDIA Dynamo 2a6da14 (August 2026), conditional disaggregation",
     .make = make_isl_bounding,
     .defaults = {.non_cached_tokens = core::Tokens(2048), .uncached_share = 0.7},
     .reads_non_cached_tokens = true,
     .reads_uncached_share = true},
    {.name = "prefix-threshold",
     .summary = "apart where more tokens than that are left to compute",
     .source = "inference-sim f90a1e3 (August 2026)",
     .make = make_prefix_threshold,
     .defaults = {.non_cached_tokens = core::Tokens(16)},
     .reads_non_cached_tokens = true},
});

// One entry per system.
constexpr auto kSystems = std::to_array<SystemEntry>({
    {.name = "llm-d",
     .summary = "decode instance first; its sidecar asks for the prefill, then pulls the KV",
     .source = "llm-d-router ebab687 (August 2026)",
     .order = LegOrder::kDecodeFirst,
     .first_token = FirstToken::kDecode,
     .decider = "prefix-based-pd-decider"},
    {.name = "dynamo",
     .summary = "the decode worker asks for the prefill, then pulls the KV",
     .source = "NVIDIA Dynamo 2a6da14 (August 2026)",
     .order = LegOrder::kDecodeFirst,
     .first_token = FirstToken::kDecode,
     .decider = "always"},
    {.name = "production-stack",
     .summary = "prefill first; the decode instance is chosen when that has ended",
     .source = "vLLM production-stack a6c01db (August 2026)",
     .order = LegOrder::kPrefillFirst,
     .first_token = FirstToken::kDecode,
     .decider = "always"},
    {.name = "sglang",
     .summary = "both at once, which meet in a bootstrap room; the prefill instance pushes the KV",
     .source = "SGLang's gateway e8d57e7 (August 2026)",
     .order = LegOrder::kDecodeFirst,
     .first_token = FirstToken::kDecode,
     .decider = "always",
     .mode = TransferMode::kPush},
    {.name = "tensorrt-llm",
     .summary =
         "context first; the generation server pulls its KV, with which the first token goes",
     .source = "trtllm-serve disaggregated of TensorRT-LLM 1.2, from memory",
     .order = LegOrder::kPrefillFirst,
     .first_token = FirstToken::kTransfer,
     .decider = "always"},
});

template <class Entry>
core::Result<const Entry*> find(std::span<const Entry> table,
                                std::string_view kind,
                                const std::string& name) {
  const auto entry = std::ranges::find(table, name, &Entry::name);
  if (entry != table.end()) {
    return &*entry;
  }
  std::vector<std::string> names;
  for (const Entry& one : table) {
    names.emplace_back(one.name);
  }
  const auto meant = document::nearest(name, names);
  return core::fail(core::Error{.message = fmt::format("no {} '{}'", kind, name),
                                .hint = meant ? fmt::format("did you mean '{}'?", *meant)
                                              : fmt::format("one of {}", fmt::join(names, ", "))});
}

}  // namespace

std::span<const DeciderEntry> deciders() {
  return kDeciders;
}

std::span<const SystemEntry> systems() {
  return kSystems;
}

core::Result<const DeciderEntry*> find_decider(const std::string& name) {
  return find(deciders(), "decider", name);
}

core::Result<const SystemEntry*> find_system(const std::string& name) {
  return find(systems(), "system of prefill and decode apart", name);
}

}  // namespace ridgeline::disaggregation
