// H34: are GEMMs below the table's smallest row count priced in proportion to it?
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "core/result.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/registry.hpp"
#include "lab/studies/study.hpp"

namespace ridgeline::studies {
namespace {

constexpr double kMicrosOfSecond = 1e6;
constexpr std::int64_t kContext = 1024;
/// The smallest row count of the table.
constexpr std::int64_t kGridEdge = 8;

std::vector<std::int64_t> contexts(std::int64_t batch) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(batch), kContext);
}

double tenth(double seconds) {
  return rounded(seconds * kMicrosOfSecond, 1);
}

/// Where the time of a decode step goes, by batch.
core::Result<void> regime_table(const Lab& lab, StudyTable& regimes) {
  const auto table = lab.subject("table");
  if (!table) {
    return core::fail(table.error());
  }
  for (const std::int64_t batch : {1, 2, 4, 8, 16, 32}) {
    const auto cost = (*table)->cost({.decodes = contexts(batch)});
    regimes.rows.push_back(row("bs",
                               batch,
                               "computed",
                               std::vector<double>{tenth(cost.decode.gemm),
                                                   tenth(cost.decode.attention),
                                                   tenth(cost.decode.memory()),
                                                   static_cast<double>(cost.rounded_us)}));
  }
  return {};
}

core::Result<Outcome> run_h34(const Lab& lab) {
  Outcome out;
  out.tables = {{"h34_gemm_ratio", {}}, {"h34_regime", {}}};
  out.effects.push_back({.name = "no GEMM faster than its weights", .values = {}});
  double worst = 0.0;
  double least_fixed = 1.0;
  double most_fixed = 0.0;
  for (const char* network :
       {"llama-2-7b", "llama-2-70b", "llama-3.1-8b", "codellama-34b", "qwen3-14b", "qwen2.5-7b"}) {
    const auto table = lab.subject("table", network);
    const auto fixed = lab.subject("floor", network);
    if (!table || !fixed) {
      return core::fail(!table ? table.error() : fixed.error());
    }
    const auto gemm = [](const Subject& subject, std::int64_t batch) {
      return subject.cost({.decodes = contexts(batch)}).decode.gemm;
    };
    const double one = gemm(**table, 1);
    const double edge = gemm(**table, kGridEdge);
    const double ratio = gemm(**fixed, 1) / gemm(**fixed, kGridEdge);
    worst = std::max(worst, std::abs(one / edge * static_cast<double>(kGridEdge) - 1.0));
    least_fixed = std::min(least_fixed, ratio);
    most_fixed = std::max(most_fixed, ratio);
    out.effects.front().values.emplace_back(one, gemm(**fixed, 1));
    out.tables[0].rows.push_back(row("model",
                                     network,
                                     "computed",
                                     std::vector<double>{tenth(one), tenth(edge)},
                                     "ratio",
                                     one / edge,
                                     "ratio_with_floor",
                                     ratio));
  }
  const auto regimes = regime_table(lab, out.tables[1]);
  if (!regimes) {
    return core::fail(regimes.error());
  }
  constexpr double kProportional = 1e-9;
  out.by_rule = worst < kProportional ? Verdict::kConfirmed : Verdict::kRefuted;
  out.because =
      fmt::format("time at batch 1 over batch {} is 1/{} to within {:.1g} in six networks",
                  kGridEdge,
                  kGridEdge,
                  worst);
  out.finding = fmt::format(
      "A property of the table's edge: below {} rows the MFU stays, so time falls with the rows. "
      "Reading the weights bounds it from below; with that floor the ratio is {:.2f} to {:.2f}. "
      "At {} rows the table is above the floor still, because it was made with FP8 kernels and is "
      "priced at the BF16 peak (study mfu), so a step of that height remains.",
      kGridEdge,
      least_fixed,
      most_fixed,
      kGridEdge);
  return out;
}

}  // namespace

Study study_h34() {
  return {.id = "h34",
          .title = "GEMMs of few rows",
          .claim =
              "Below 8 rows GEMM time is proportional to the rows, although every row count "
              "reads the same weights.",
          .arms = {{.name = "table", .preset = "v2-h33", .settings = {constants("h100-test")}},
                   {.name = "floor", .preset = "v2-final", .settings = {constants("h100-test")}}},
          .held_fixed = "six networks, one GPU, decodes of 1,024 tokens of context",
          .refuted_if = "batch 1 takes another share of batch 8's GEMM time than 1/8",
          .controls = "batch 16 and 32, inside the table",
          .reference = Reference::kArithmetic,
          .published = Verdict::kConfirmed,
          .scope = "GEMM times of the model",
          .not_tested = "a measured GEMM of fewer than 8 rows",
          .run = run_h34};
}

}  // namespace ridgeline::studies
