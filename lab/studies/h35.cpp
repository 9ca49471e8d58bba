// H35: does the factor on activation bytes matter?
#include <algorithm>
#include <cmath>
#include <cstdint>
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

constexpr double kIrrelevant = 0.01;

core::Result<Outcome> run_h35(const Lab& lab) {
  const auto with = lab.subject("0.75");
  const auto without = lab.subject("1.00");
  if (!with || !without) {
    return core::fail(!with ? with.error() : without.error());
  }
  Outcome out;
  out.tables = {{"h35_activation", {}}};
  out.effects.push_back({.name = "activations charged in full", .values = {}});
  double largest = 0.0;
  for (const auto& [batch, context] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 128},
                                                          {1, 2048},
                                                          {1, 8192},
                                                          {4, 128},
                                                          {4, 256},
                                                          {16, 128},
                                                          {64, 2048},
                                                          {128, 4096},
                                                          {256, 8192}}) {
    const Requests step{.decodes =
                            std::vector<std::int64_t>(static_cast<std::size_t>(batch), context)};
    const std::int64_t charged = (*with)->step_us(step);
    const std::int64_t full = (*without)->step_us(step);
    largest =
        std::max(largest, std::abs(static_cast<double>(full) / static_cast<double>(charged) - 1.0));
    out.effects.front().values.emplace_back(static_cast<double>(charged),
                                            static_cast<double>(full));
    out.tables[0].rows.push_back(
        row("bs", batch, "kv", context, "computed", std::vector<std::int64_t>{charged, full}));
  }
  out.by_rule = largest < kIrrelevant ? Verdict::kConfirmed : Verdict::kRefuted;
  out.because = fmt::format("the step changes by {:.3f} % at most", 100.0 * largest);
  out.finding =
      std::string(out.by_rule == Verdict::kConfirmed ? "It does nothing" : "It changes steps") +
      ". Like its three siblings (0.85 of prefill's activations, 0.80 and 0.92 of the KV read) it "
      "came out of one search for the least error, and has no mechanism.";
  return out;
}

}  // namespace

Study study_h35() {
  return {
      .id = "h35",
      .title = "The activation factor",
      .claim = "Charging 0.75 of the activation bytes instead of all changes no step by 1 %.",
      .arms = {{.name = "0.75", .preset = "v2-h33", .settings = {constants("h100-test")}},
               {.name = "1.00",
                .preset = "v2-h33",
                .settings = {constants("h100-test"), setting("decode_activation_factor", 1.0)}}},
      .held_fixed = "Llama-3.1-8B, one GPU, batches of 1 to 256 equal decodes",
      .refuted_if = "a step changes by 1 % or more",
      .controls = "steps that are bound by GEMMs, where bytes cannot matter",
      .reference = Reference::kArithmetic,
      .published = Verdict::kConfirmed,
      .scope = "decode steps of the model",
      .not_tested = "prefill; other networks",
      .run = run_h35};
}

}  // namespace ridgeline::studies
