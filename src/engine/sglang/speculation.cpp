// Speculative decoding by SGLang's own flags (arg_groups/speculative_hook.py).
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/parameter.hpp"
#include "engine/engine_plan.hpp"
#include "engine/sglang/settings.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::engine::sglang {
namespace {

core::Error problem(std::string_view setting, std::string message, std::string hint = {}) {
  return {.field = fmt::format("engine.{}", setting),
          .message = std::move(message),
          .hint = std::move(hint)};
}

/// The drafts that SGLang takes where none of the three numbers is stated.
void take_defaults(const model::ModelSpec& network, DraftSettings& drafts) {
  if (network.family == "llama" || network.family == "grok-1") {
    drafts.steps = 5;
    drafts.branches = 4;
    drafts.verified = 8;
    return;
  }
  drafts.steps = 3;
  drafts.verified = 4;
}

core::Result<void> take_numbers(const document::ParameterValues& settings,
                                const model::ModelSpec& network,
                                DraftSettings& drafts) {
  const auto is_stated = [&](std::string_view name) { return settings.stated(name) != nullptr; };
  constexpr std::int64_t kNgramTokens = 12;  // From memory, not looked up.
  if (drafts.method == "ngram") {
    drafts.verified = is_stated("speculative_num_draft_tokens")
                          ? settings.integer("speculative_num_draft_tokens")
                          : kNgramTokens;
    drafts.steps = drafts.verified - 1;
    return {};
  }
  if (!is_stated("speculative_num_steps")) {
    for (const std::string_view other :
         {"speculative_eagle_topk", "speculative_num_draft_tokens"}) {
      if (is_stated(other)) {
        return core::fail(problem(
            other, "SGLang's server takes it beside speculative_num_steps alone", "state both"));
      }
    }
    take_defaults(network, drafts);
    return {};
  }
  drafts.steps = settings.integer("speculative_num_steps");
  drafts.branches =
      is_stated("speculative_eagle_topk") ? settings.integer("speculative_eagle_topk") : 1;
  drafts.verified = drafts.steps + 1;
  if (drafts.branches > 1) {
    if (!is_stated("speculative_num_draft_tokens")) {
      return core::fail(problem("speculative_num_draft_tokens",
                                "missing: a tree of several branches has any number of drafts",
                                fmt::format("{}", drafts.steps * 2)));
    }
    drafts.verified = settings.integer("speculative_num_draft_tokens");
  }
  return {};
}

/// The mean number of tokens of a step: that many, or one more in as many cases as make up the
/// rest (SGLANG_SIMULATE_ACC_LEN, match-expected). SGLang draws once for all requests of a step;
/// here each draws for itself.
std::vector<double> curve_of_mean(double tokens) {
  std::vector<double> curve(static_cast<std::size_t>(tokens) - 1, 1.0);
  curve.push_back(tokens - std::floor(tokens));
  curve.push_back(0.0);
  return curve;
}

}  // namespace

core::Result<std::optional<DraftSettings>> drafts(const document::ParameterValues& settings,
                                                  const model::ModelSpec& network) {
  if (settings.stated("speculative_algorithm") == nullptr) {
    return std::nullopt;
  }
  DraftSettings drafts;
  const std::string algorithm = settings.word("speculative_algorithm");
  const bool has_model = settings.stated("speculative_draft_model_path") != nullptr;
  drafts.model = has_model ? settings.word("speculative_draft_model_path") : "";
  drafts.method = algorithm == "NGRAM"        ? "ngram"
                  : algorithm == "STANDALONE" ? "draft_model"
                  : algorithm == "EAGLE3"     ? "eagle3"
                  : has_model                 ? "eagle"
                                              : "mtp";
  if (drafts.method != "ngram" && drafts.method != "mtp" && !has_model) {
    return core::fail(
        problem("speculative_draft_model_path",
                fmt::format("missing: {} drafts with a network of its own", algorithm)));
  }
  if (auto numbers = take_numbers(settings, network, drafts); !numbers) {
    return core::fail(std::move(numbers).error());
  }
  if (settings.stated("simulate_acc_len") != nullptr) {
    drafts.acceptance = curve_of_mean(settings.number("simulate_acc_len"));
  } else if (settings.stated("speculative_acceptance") != nullptr) {
    drafts.acceptance = {settings.number("speculative_acceptance")};
  }
  return drafts;
}

}  // namespace ridgeline::engine::sglang
