// H27: is a weighted average of two phases less than the slower of them?
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "core/result.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/registry.hpp"
#include "lab/studies/study.hpp"

namespace ridgeline::studies {
namespace {

struct MixedCase {
  std::string name;
  std::int64_t ranks = 1;
  std::int64_t prompts = 1;
  std::int64_t prompt_tokens = 0;
  std::vector<std::int64_t> decodes;
};

/// `count` contexts from `first` to `last`, evenly spread and rounded down.
std::vector<std::int64_t> spread(std::int64_t first, std::int64_t last, std::int64_t count) {
  std::vector<std::int64_t> contexts;
  for (std::int64_t i = 0; i < count; ++i) {
    contexts.push_back(count == 1 ? first : first + i * (last - first) / (count - 1));
  }
  return contexts;
}

std::vector<MixedCase> mixed_cases() {
  const std::vector<std::int64_t> eight = {256, 512, 1024, 1536, 2048, 3072, 4096, 6144};
  constexpr std::int64_t kStep = 256;
  std::vector<MixedCase> cases;
  for (const std::int64_t tokens : {16, 64, 128, 256, 512, 1024, 2048, 4096}) {
    cases.push_back({fmt::format("8decode_1prefill_{}tok", tokens), 1, 1, tokens, eight});
  }
  for (const std::int64_t count : {1, 2, 4, 8, 16, 32, 64}) {
    cases.push_back(
        {fmt::format("1prefill512_{}decode", count), 1, 1, 512, spread(256, 4096, count)});
  }
  for (const std::int64_t prompts : {1, 2, 4}) {
    for (const std::int64_t count : {4, 8, 16}) {
      cases.push_back({fmt::format("{}prefill256_{}decode", prompts, count),
                       1,
                       prompts,
                       256,
                       spread(512, 512 + (count - 1) * kStep, count)});
    }
  }
  for (const std::int64_t ranks : {2, 4}) {
    for (const std::int64_t tokens : {512, 2048}) {
      cases.push_back(
          {fmt::format("tp{}_1prefill{}_8decode", ranks, tokens), ranks, 1, tokens, eight});
    }
  }
  cases.push_back({"extreme_prefill_dominated_4096tok_2decode", 1, 1, 4096, {1024, 2048}});
  cases.push_back(
      {"extreme_decode_dominated_32tok_32decode", 1, 1, 32, spread(256, 256 + 31 * 128, 32)});
  return cases;
}

struct H27Subjects {
  std::unique_ptr<Subject> average;
  std::unique_ptr<Subject> shipped;
};

core::Result<Outcome> run_h27(const Lab& lab) {
  std::map<std::int64_t, H27Subjects> by_ranks;
  for (const std::int64_t ranks : {1, 2, 4}) {
    auto average = lab.subject("average", kLlama8b, ranks);
    auto shipped = lab.subject("shipped", kLlama8b, ranks);
    if (!average || !shipped) {
      return core::fail(!average ? std::move(average).error() : std::move(shipped).error());
    }
    by_ranks[ranks] = {std::move(*average), std::move(*shipped)};
  }
  Outcome out;
  out.tables = {{"h27_mixed_batch_max", {}}};
  out.effects.push_back({.name = "the slower phase instead of the average", .values = {}});
  std::int64_t below = 0;
  double sum = 0.0;
  double least = 0.0;
  const auto cases = mixed_cases();
  for (const MixedCase& one : cases) {
    const H27Subjects& with = by_ranks[one.ranks];
    const std::vector<std::pair<std::int64_t, std::int64_t>> prompts(
        static_cast<std::size_t>(one.prompts), {0, one.prompt_tokens});
    const std::int64_t prefill = with.average->step_us({.prefills = prompts});
    const std::int64_t decode = with.average->step_us({.decodes = one.decodes});
    const std::int64_t slower = std::max(prefill, decode);
    const Requests both{.decodes = one.decodes, .prefills = prompts};
    const std::int64_t average = with.average->step_us(both);
    out.tables[0].rows.push_back(row("case",
                                     one.name,
                                     "tp",
                                     one.ranks,
                                     "prefill_only",
                                     prefill,
                                     "decode_only",
                                     decode,
                                     "max",
                                     slower,
                                     "weighted_avg",
                                     average,
                                     "v2_final_us",
                                     with.shipped->step_us(both)));
    const double change = static_cast<double>(average) / static_cast<double>(slower) - 1.0;
    below += average < slower ? 1 : 0;
    sum += change;
    least = std::min(least, change);
    out.effects.front().values.emplace_back(static_cast<double>(average),
                                            static_cast<double>(slower));
  }
  const auto count = std::ssize(cases);
  out.by_rule = below == count ? Verdict::kConfirmed : Verdict::kRefuted;
  out.because = fmt::format(
      "the average is lower in {} of {} cases, by {:.1f} % on average and {:.1f} % at most",
      below,
      count,
      -100.0 * sum / static_cast<double>(count),
      -100.0 * least);
  out.finding =
      "True of any two numbers: an average is below the greater. The slower phase alone is itself "
      "too fast, because its rival's attention costs nothing: a fused step runs one GEMM over all "
      "tokens and both attentions.";
  return out;
}

}  // namespace

Study study_h27() {
  return {.id = "h27",
          .title = "Mixed steps: weighted average or the slower phase",
          .claim =
              "The weighted average of a mixed step's phases is below the slower phase, and so "
              "underestimates.",
          .arms = {{.name = "average", .preset = "v2-h29", .settings = {constants("h100-test")}},
                   {.name = "shipped", .preset = "v2-final", .settings = {constants("h100-test")}}},
          .held_fixed =
              "Llama-3.1-8B; 30 mixes of 1 to 64 decodes and 1 to 4 prompts of 16 to "
              "4,096 tokens, on 1, 2 and 4 GPUs.",
          .refuted_if = "the average reaches the slower phase in any case",
          .controls = "each phase alone",
          .reference = Reference::kModel,
          .published = Verdict::kConfirmed,
          .scope = "step times of the model",
          .not_tested = "the promised comparison with measured latencies; a fused step",
          .run = run_h27};
}

}  // namespace ridgeline::studies
