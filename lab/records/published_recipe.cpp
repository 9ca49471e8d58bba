#include "lab/records/published_recipe.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/text.hpp"
#include "document/document.hpp"
#include "evidence/validate/loose_node.hpp"
#include "lab/records/evidence_words.hpp"

namespace ridgeline::records {
namespace {

/// {"method": "eagle3", "model": ..., "num_speculative_tokens": 3, "acceptance_given_previous":
/// [0.6, 0.5, 0.5]}: the last is the acceptance curve that was measured. Or its mean
/// ("mean_acceptance_length", tokens of a step); without either the curve is the published one.
void read_drafts(const document::Node& drafts, ServerFacts& facts) {
  std::vector<std::string> curve;
  for (const document::Node& share : items_at(drafts, "acceptance_given_previous")) {
    curve.push_back(share.is_number() ? fmt::format("{}", share.as_real()) : std::string());
  }
  const std::string method = core::lower_case(text_at(drafts, "method"));
  const auto count = count_at(drafts, "num_speculative_tokens");
  if (method.empty() || !count) {
    return;
  }
  const std::string model = text_at(drafts, "model");
  std::string text = fmt::format("method: {}, num_speculative_tokens: {}", method, *count);
  if (!model.empty()) {
    text += fmt::format(", model: {}", model);
  }
  if (!curve.empty()) {
    text += fmt::format(", acceptance: [{}]", fmt::join(curve, ", "));
  } else if (const auto mean = number_at(drafts, "mean_acceptance_length")) {
    text += fmt::format(", acceptance_length: {}", *mean);
  }
  facts.settings.emplace_back("speculative_config", fmt::format("{{{}}}", text));
}

}  // namespace

void read_recipe(const document::Node& recipe, ServerFacts& facts) {
  std::string words;
  for (const std::string_view key : {"moe", "moe_backend"}) {
    words += text_at(recipe, key) + ' ';
  }
  std::string environment;
  for (const document::Node& item : items_at(recipe, "env")) {
    environment += item.is_string() ? item.as_string() + ' ' : std::string();
  }
  for (const std::string_view backend : {"marlin", "triton"}) {
    if (mentions(words, backend)) {
      facts.settings.emplace_back("moe_backend", backend);
    }
  }
  if (mentions(environment, "VLLM_MXFP4_USE_MARLIN=1")) {
    facts.settings.emplace_back("moe_backend", "marlin");
  }
  for (const std::string_view variable : {"VLLM_USE_DEEP_GEMM", "SGLANG_ENABLE_JIT_DEEPGEMM"}) {
    for (const auto& [value, word] : {std::pair{"1", "true"}, std::pair{"0", "false"}}) {
      if (mentions(environment, fmt::format("{}={}", variable, value))) {
        facts.settings.emplace_back("use_deep_gemm", word);
      }
    }
  }
  if (mentions(environment, "VLLM_ALLREDUCE_USE_SYMM_MEM=1")) {
    facts.settings.emplace_back("allreduce_use_symm_mem", "true");
  }
  const std::string all_reduce = text_at(recipe, "all_reduce");
  if (mentions(all_reduce, "flashinfer") || mentions(all_reduce, "fuse_allreduce_rms")) {
    facts.settings.emplace_back("fuse_allreduce_rms", "true");
  }
  if (mentions(text_at(recipe, "fp32_router"), "TF32") ||
      mentions(environment, "VLLM_FLOAT32_MATMUL_PRECISION=high")) {
    facts.settings.emplace_back("float32_matmul_precision", "high");
  }
  facts.names_script = !text_at(recipe, "script").empty();
  if (const document::Node* drafts = member_at(recipe, "speculative")) {
    read_drafts(*drafts, facts);
  }
}

}  // namespace ridgeline::records
